"""Filters: one tree, two languages into it (SQL text, Arrow expressions), one exact evaluation.

    SQL text --------- from_sql ---+
                                   +--> Predicate --> evaluate(predicate, batch) -> true/false/NULL per row
    Arrow expression - from_arrow -+             `-> may_match(predicate, statistics) -> maybe/no per page

Engines have removed a filter from their plan when it arrives here, so it is evaluated exactly or refused by
name, never ignored. The SQL parser and Arrow's compute functions are imported when a filter is first used.
"""

from .arrow import from_arrow
from .evaluation import evaluate
from .may_match import may_match, must_match
from .sql import from_sql
from .tree import (
    And,
    Call,
    ColumnRef,
    Compare,
    Const,
    In,
    IsNan,
    IsNull,
    IsUnknown,
    Literal,
    Not,
    Opaque,
    Or,
    Path,
    Predicate,
    Term,
    TextMatch,
    Value,
    conjuncts,
)
from .value_tests import ColumnTest, column_tests

__all__ = [
    "And",
    "Call",
    "ColumnRef",
    "ColumnTest",
    "Compare",
    "Const",
    "In",
    "IsNan",
    "IsNull",
    "IsUnknown",
    "Literal",
    "Not",
    "Opaque",
    "Or",
    "Path",
    "Predicate",
    "Term",
    "TextMatch",
    "Value",
    "column_tests",
    "conjuncts",
    "evaluate",
    "from_arrow",
    "from_sql",
    "may_match",
    "must_match",
]
