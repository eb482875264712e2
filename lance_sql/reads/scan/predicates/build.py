"""Smart constructors: build predicates in their simplest form.

Negation is pushed down to the leaves. That is exact because the order of values is total (NaN included): the
opposite of `<` is `>=`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .tree import And, Call, ColumnRef, Compare, Const, IsNull, Not, Or, Predicate

OPPOSITE: Final = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def conjunction(predicates: Iterable[Predicate]) -> Predicate:
    """Returns the AND of predicates; TRUE for none."""
    parts: list[Predicate] = []
    for predicate in predicates:
        if predicate == Const(False):
            return predicate
        if isinstance(predicate, And):
            parts.extend(predicate.arguments)
        elif predicate != Const(True):
            parts.append(predicate)
    if not parts:
        return Const(True)
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def joined(*predicates: Predicate | None) -> Predicate | None:
    """Returns the AND of those that are there; None without any."""
    given = [each for each in predicates if each is not None]
    return conjunction(given) if given else None


def disjunction(predicates: Iterable[Predicate]) -> Predicate:
    """Returns the OR of predicates; FALSE for none."""
    parts: list[Predicate] = []
    for predicate in predicates:
        if predicate == Const(True):
            return predicate
        if isinstance(predicate, Or):
            parts.extend(predicate.arguments)
        elif predicate != Const(False):
            parts.append(predicate)
    if not parts:
        return Const(False)
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def negate(predicate: Predicate) -> Predicate:
    """Returns a predicate that is true where the given one is false, and unknown where it is unknown."""
    match predicate:
        case Const(value):
            return Const(None if value is None else not value)
        case Compare(op, left, right):
            return Compare(OPPOSITE[op], left, right)
        case And(arguments):
            return disjunction([negate(argument) for argument in arguments])
        case Or(arguments):
            return conjunction([negate(argument) for argument in arguments])
        case Not(argument):
            return argument
    return Not(predicate)


def always(operand: ColumnRef | Call) -> Predicate:
    """Returns a predicate that is true for every value, unknown for NULL."""
    return Or((Not(IsNull(operand)), Const(None)))


def never(operand: ColumnRef | Call) -> Predicate:
    """Returns a predicate that is false for every value, unknown for NULL."""
    return And((IsNull(operand), Const(None)))
