"""Filters: one tree, several input languages (SQL text, Arrow expressions, engines), one exact evaluation.

    SQL text --------- from_sql ---+
                                   +--> Predicate --> evaluate(predicate, batch) -> true/false/NULL per row
    Arrow expression - from_arrow -+             `-> may_match(predicate, statistics) -> maybe/no per page

Engines have already removed the filter from their plan, so it is evaluated exactly, or refused with an error that
names it. The SQL parser and Arrow's compute functions are imported when a filter is first used.
"""

from .arrow import from_arrow as from_arrow
from .build import conjunction as conjunction, disjunction as disjunction, joined as joined, negate as negate
from .constants import Constant as Constant, from_scalar as from_scalar, plain_type as plain_type
from .evaluation import evaluate as evaluate, passing as passing
from .folding import compare as compare, member as member
from .in_order import evaluate_in_order as evaluate_in_order
from .may_match import may_match as may_match, must_match as must_match
from .nulls import answer_null_tests as answer_null_tests, null_tests as null_tests
from .sql import from_sql as from_sql
from .tree import (
    And as And,
    Call as Call,
    ColumnRef as ColumnRef,
    Compare as Compare,
    Const as Const,
    In as In,
    IsNan as IsNan,
    IsNull as IsNull,
    IsUnknown as IsUnknown,
    Literal as Literal,
    Not as Not,
    Opaque as Opaque,
    Or as Or,
    Path as Path,
    Predicate as Predicate,
    Term as Term,
    TextMatch as TextMatch,
    Value as Value,
    conjuncts as conjuncts,
    num_bytes as num_bytes,
)
from .value_tests import (
    AnyOf as AnyOf,
    ColumnCondition as ColumnCondition,
    PairTest as PairTest,
    RestTest as RestTest,
    Step as Step,
    divided as divided,
    steps as steps,
)
