"""Filters: one tree, several input languages (SQL text, Arrow expressions, engines), one exact evaluation.

    SQL text --------- from_sql ---+
                                   +--> Predicate --> evaluate(predicate, batch) -> true/false/NULL per row
    Arrow expression - from_arrow -+             `-> may_match(predicate, statistics) -> maybe/no per page

Engines have already removed the filter from their plan, so it is evaluated exactly, or refused with an error that
names it. The SQL parser and Arrow's compute functions are imported when a filter is first used.
"""

from .arrow import from_arrow
from .build import conjunction, disjunction, negate
from .constants import Constant, from_scalar, plain_type
from .evaluation import evaluate, passing
from .folding import compare, member
from .in_order import evaluate_in_order
from .may_match import may_match, must_match
from .nulls import answer_null_tests, null_tests
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
    num_bytes,
)
from .value_tests import AnyOf, ColumnTest, PairTest, RestTest, Step, divided, steps

__all__ = [
    "And",
    "AnyOf",
    "Call",
    "ColumnRef",
    "ColumnTest",
    "Compare",
    "Const",
    "Constant",
    "In",
    "IsNan",
    "IsNull",
    "IsUnknown",
    "Literal",
    "Not",
    "Opaque",
    "Or",
    "PairTest",
    "Path",
    "Predicate",
    "RestTest",
    "Step",
    "Term",
    "TextMatch",
    "Value",
    "answer_null_tests",
    "compare",
    "conjunction",
    "conjuncts",
    "disjunction",
    "divided",
    "evaluate",
    "evaluate_in_order",
    "from_arrow",
    "from_scalar",
    "from_sql",
    "may_match",
    "member",
    "must_match",
    "negate",
    "null_tests",
    "num_bytes",
    "passing",
    "plain_type",
    "steps",
]
