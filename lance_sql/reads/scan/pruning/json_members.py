"""Conditions on members of JSON as conditions on the values in an index of their path.

    json_get_int(v, 'a') > 7                  index of v at a, int64       v > 7
    v->>'a' IN ('x', 'y')                     index of v at a, text        v IN ('x', 'y')
    json_extract(v, '$.a') = '"x"'            index of v at a, text        v = 'x'
    v->>'a' = '7'                             index of v at a, int64       v = 7

Writers of these indices refuse documents with other members at the path than one type. They look into lists on the way
to a member, and filters do not: an entry may have a value where the member is missing. No condition that is true for a
missing member is answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.reads.scan.predicates import (
    And,
    Call,
    ColumnRef,
    Compare,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Path,
    Predicate,
    Term,
    TextMatch,
    Value,
    json_paths,
    plain_type,
)
from lance_sql.reads.scan.predicates.json_functions import BY_NAME
from lance_sql.table import json_index
from lance_sql.values import kinds

if TYPE_CHECKING:
    from lance_sql._kernels import JsonStep

Member: TypeAlias = "tuple[Path, Sequence[JsonStep]]"
"""A column of JSON, and the path to a member."""

_SAME: Final = {
    pa.int64(): ("json_get_int", "json_integer"),
    pa.float64(): ("json_get_float", "json_float"),
    pa.bool_(): ("json_get_bool", "json_boolean"),
    pa.string(): ("json_get_string", "json_extract_string"),
}
"""Functions whose results are the values in an index of a type."""

_KINDS: Final = {pa.string(): str, pa.int64(): int, pa.float64(): float, pa.bool_(): bool}

_JSON: Final = frozenset({"json_extract"})
_TEXTS: Final = _JSON | {"json_extract_string", "json_get_string"}
"""Functions whose results are the JSON texts of numbers and booleans; those of strings are of `_JSON` alone."""


def member_of(predicate: Predicate) -> Member | None:
    """Returns the only member that a condition uses; None for others."""
    found: Member | None = None
    for term in _terms(predicate):
        member = None if term is None else _member(term)
        if member is None or found not in (None, member):
            return None
        found = member
    return found


def is_at(path: str, steps: Sequence[JsonStep]) -> bool:
    """Whether the path of an index, as its writer spelled it, has these steps.

    raises: UnsupportedFeature for a path to several members, and for other forms
    """
    return json_paths.parse(json_index.from_root(path)) == steps


def on_values(predicate: Predicate, column: Path, type: pa.DataType) -> Predicate | None:
    """Returns a condition on the values of an index that is true where the one on a member is; None if there is none.

    predicate: for which `member_of` returns a member
    type: of the values
    """
    plain = pa.string() if kinds.is_text(plain_type(type)) else type
    match predicate:
        case And(arguments) | Or(arguments):
            parts = [on_values(argument, column, type) for argument in arguments]
            known = tuple(part for part in parts if part is not None)
            return predicate.__class__(known) if len(known) == len(parts) else None
        case Not(IsNull(Call() as call)) if _is_same(call, plain):
            return Not(IsNull(ColumnRef(column)))
        case Compare(op, Call() as call, Literal(value, of)):
            if _is_same(call, plain):
                return Compare(op, ColumnRef(column), Literal(value, of))
            if op == "=":
                return _equals(column, call, [str(value)], plain)
        case In(Call() as call, values, of, has_null):
            if _is_same(call, plain):
                return In(ColumnRef(column), values, of, has_null)
            return _equals(column, call, [str(value) for value in values], plain)
        case TextMatch(kind, Call() as call, pattern) if _is_same(call, plain):
            return TextMatch(kind, ColumnRef(column), pattern)
    return None


def _is_same(call: Call, plain: pa.DataType) -> bool:
    return call.function in _SAME.get(plain, ())


def _equals(column: Path, call: Call, texts: Sequence[str], plain: pa.DataType) -> Predicate | None:
    """Returns a condition for the values of which a function returns one of these texts."""
    is_text = plain == pa.string()
    if call.function not in (_JSON if is_text else _TEXTS):
        return None
    try:
        values = [_value(text, plain) for text in texts]
    except (ValueError, OverflowError):
        return None
    return In(ColumnRef(column), tuple(values), pa.large_string() if is_text else plain)


def _value(text: str, plain: pa.DataType) -> Value:
    """Returns the value with a JSON text.

    raises: ValueError, OverflowError for values that an index of this type cannot have
    """
    value: Any = json.loads(text)
    kind = _KINDS.get(plain)
    if kind is float and type(value) is int:
        value = float(value)
    found = type(value)
    if found is not kind or (kind is int and not -(2**63) <= value < 2**63):
        raise ValueError(text)
    made: Value = value
    return made


def _terms(predicate: Predicate) -> Iterator[Term | None]:
    """Yields the operands of a condition; None for a part that no index answers."""
    match predicate:
        case And(arguments) | Or(arguments):
            for argument in arguments:
                yield from _terms(argument)
        case Compare(_, term, Literal()) | In(term) | TextMatch(operand=term) | Not(IsNull(term)):
            yield term
        case _:
            yield None


def _member(term: Term) -> Member | None:
    match term:
        case Call(function, (document, Literal(str(text)))) if function.startswith("json_"):
            if function in BY_NAME:
                if text.isdigit():
                    # the name of a member, or the number of an item
                    return None
                text = json_paths.of_key(text)
            around = (document.path, ()) if isinstance(document, ColumnRef) else _member(document)
            if around is None:
                return None
            try:
                return around[0], (*around[1], *json_paths.parse(text))
            except UnsupportedFeature:
                return None
    return None
