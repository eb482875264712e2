"""IS NULL tests that are answered before rows are read."""

from __future__ import annotations

from collections.abc import Mapping

from .build import conjunction, disjunction, negate
from .tree import And, ColumnRef, Const, IsNull, IsUnknown, Not, Or, Path, Predicate


def null_tests(predicate: Predicate) -> frozenset[Path]:
    """Returns the columns that the predicate tests for NULL."""
    match predicate:
        case IsNull(ColumnRef(path)):
            return frozenset([path])
        case And(arguments) | Or(arguments):
            return frozenset().union(*map(null_tests, arguments))
        case Not(argument) | IsUnknown(argument):
            return null_tests(argument)
    return frozenset()


def answer_null_tests(predicate: Predicate, answers: Mapping[Path, bool]) -> Predicate:
    """Returns the predicate after setting each column in `answers` to NULL in all rows (true) or in none (false)."""
    match predicate:
        case IsNull(ColumnRef(path)) if path in answers:
            return Const(answers[path])
        case And(arguments):
            return conjunction([answer_null_tests(argument, answers) for argument in arguments])
        case Or(arguments):
            return disjunction([answer_null_tests(argument, answers) for argument in arguments])
        case Not(argument):
            return negate(answer_null_tests(argument, answers))
        case IsUnknown(argument):
            inside = answer_null_tests(argument, answers)
            return Const(inside.value is None) if isinstance(inside, Const) else IsUnknown(inside)
    return predicate
