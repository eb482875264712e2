"""The predicate tree: the meaning of a filter, independent of its language.

A predicate is true, false or unknown (NULL) for each row. Values are compared in SQL's order: NaN is equal to
itself and greater than every other number, -0.0 equals 0.0, text and bytes are ordered by their bytes.

    predicate   Const  Compare  In  IsNull  IsNan  TextMatch  IsUnknown  And  Or  Not  Opaque
    term        ColumnRef  Literal  Call

A leaf over a ColumnRef and Literals can also be decided on statistics or on encoded values; a leaf with a
Call, a Compare of two columns and an Opaque need the decoded rows.

A Literal is exactly a value of its column's own type: the translators fold every comparison that no value of the
type can satisfy (`int32 = 3000000000`) before a tree exists. Representation of values:

    bool          booleans
    int           integers; dates, times, timestamps and durations as stored, in the type's own unit
    float         float16, float32, float64
    Decimal       decimals, with the type's scale
    str, bytes    text; binary of any kind
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from lance_sql.values.sql_text import identifier, literal

Value: TypeAlias = bool | int | float | Decimal | str | bytes
Path: TypeAlias = tuple[str, ...]

# Meaning of the operators of Compare for two ordered values.
COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column, or a field inside struct columns: ("a", "b") is b inside a, NULL where a is NULL."""

    path: Path

    def __str__(self) -> str:
        return ".".join(_identifier(name) for name in self.path)


@dataclass(frozen=True, slots=True)
class Literal:
    """One value of `type`, never NULL."""

    value: Value
    type: pa.DataType

    def __str__(self) -> str:
        return _literal_text(self.value, self.type)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of terms; `function` is a key of terms.FUNCTIONS, `type` the result's."""

    function: str
    arguments: tuple[Term, ...]
    type: pa.DataType

    def __str__(self) -> str:
        if self.function == "cast":
            return f"CAST({self.arguments[0]} AS {self.type})"
        if self.function in _JSON_CASTS:
            return f"CAST(json_extract({', '.join(map(str, self.arguments))}) AS {_JSON_CASTS[self.function]})"
        return f"{self.function}({', '.join(map(str, self.arguments))})"


Term: TypeAlias = ColumnRef | Literal | Call


class Predicate:
    """Base of the predicates: frozen, hashable, picklable; str() is SQL."""

    __slots__ = ()

    @property
    def columns(self) -> frozenset[Path]:
        """Paths of all columns that the predicate reads."""
        return frozenset(_paths(self))


@dataclass(frozen=True, slots=True)
class Const(Predicate):
    """One answer for every row; None is unknown."""

    value: bool | None

    def __str__(self) -> str:
        return "NULL" if self.value is None else str(self.value).upper()


@dataclass(frozen=True, slots=True)
class Compare(Predicate):
    """`left op right`, unknown where either side is NULL. A Literal is always on the right.

    op: a key of COMPARISONS
    """

    op: str
    left: ColumnRef | Call
    right: Term

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@dataclass(frozen=True, slots=True)
class In(Predicate):
    """The operand equals one of `values`, which are of `type` and at least one.

    has_null: the list also contained a NULL, so that "no match" is unknown instead of false
    """

    operand: ColumnRef | Call
    values: tuple[Value, ...]
    type: pa.DataType
    has_null: bool = False

    def __str__(self) -> str:
        shown = [_literal_text(value, self.type) for value in self.values[:_SHOWN_VALUES]]
        if len(self.values) > _SHOWN_VALUES:
            shown.append(f"... {len(self.values) - _SHOWN_VALUES} more")
        if self.has_null:
            shown.append("NULL")
        return f"{self.operand} IN ({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class IsNull(Predicate):
    """True where the operand is NULL, else false; never unknown."""

    operand: ColumnRef | Call

    def __str__(self) -> str:
        return f"{self.operand} IS NULL"


@dataclass(frozen=True, slots=True)
class IsNan(Predicate):
    """True where a floating-point operand is NaN, unknown where it is NULL."""

    operand: ColumnRef | Call

    def __str__(self) -> str:
        return f"isnan({self.operand})"


@dataclass(frozen=True, slots=True)
class TextMatch(Predicate):
    """The text operand starts with, ends with, contains or is like `pattern`; unknown where it is NULL.

    kind: prefix, suffix, contains: `pattern` is plain text
          like: % is any text, _ one character, a backslash takes the next character literally
    """

    kind: str
    operand: ColumnRef | Call
    pattern: str

    def __str__(self) -> str:
        if self.kind == "like":
            return f"{self.operand} LIKE {literal(self.pattern)} ESCAPE '\\'"
        return f"{_MATCH_NAMES[self.kind]}({self.operand}, {literal(self.pattern)})"


@dataclass(frozen=True, slots=True)
class IsUnknown(Predicate):
    """True where `argument` is unknown, else false."""

    argument: Predicate

    def __str__(self) -> str:
        return f"({self.argument}) IS NULL"


@dataclass(frozen=True, slots=True)
class And(Predicate):
    """False where one argument is false, else unknown where one is unknown, else true."""

    arguments: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " AND ".join(_nested(argument) for argument in self.arguments)


@dataclass(frozen=True, slots=True)
class Or(Predicate):
    """True where one argument is true, else unknown where one is unknown, else false."""

    arguments: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " OR ".join(_nested(argument) for argument in self.arguments)


@dataclass(frozen=True, slots=True)
class Not(Predicate):
    """True where `argument` is false, unknown where it is unknown."""

    argument: Predicate

    def __str__(self) -> str:
        return f"NOT ({self.argument})"


@dataclass(frozen=True, slots=True)
class Opaque(Predicate):
    """An Arrow expression without a form in the tree, evaluated by Arrow itself on `paths`.

    payload: the expression in Arrow's own serialization
    """

    payload: bytes
    paths: tuple[Path, ...]
    text: str

    def __str__(self) -> str:
        return f"arrow({self.text})"


_SHOWN_VALUES: Final = 20
_JSON_CASTS: Final = {"json_integer": "BIGINT", "json_float": "DOUBLE", "json_boolean": "BOOLEAN"}
_NODE_BYTES: Final = 64
_MATCH_NAMES: Final = {"prefix": "starts_with", "suffix": "ends_with", "contains": "contains"}
_EPOCH: Final = datetime.datetime(1970, 1, 1)


def conjuncts(predicate: Predicate) -> list[Predicate]:
    """Returns the predicates that must all be true for a row to pass."""
    if isinstance(predicate, And):
        return [part for argument in predicate.arguments for part in conjuncts(argument)]
    return [predicate]


def _paths(node: Predicate | Term) -> Iterator[Path]:
    match node:
        case ColumnRef(path):
            yield path
        case Call(arguments=arguments) | And(arguments) | Or(arguments):
            for argument in arguments:
                yield from _paths(argument)
        case Compare(_, left, right):
            yield from _paths(left)
            yield from _paths(right)
        case In(operand=operand) | IsNull(operand) | IsNan(operand) | TextMatch(operand=operand):
            yield from _paths(operand)
        case IsUnknown(argument) | Not(argument):
            yield from _paths(argument)
        case Opaque(paths=paths):
            yield from paths


def num_bytes(node: Predicate | Term) -> int:
    """Returns the approximate memory of a predicate."""
    match node:
        case In(operand, values):
            return num_bytes(operand) + sum(map(_size, values))
        case And(arguments) | Or(arguments) | Call(arguments=arguments):
            return _NODE_BYTES + sum(map(num_bytes, arguments))
        case IsUnknown(argument) | Not(argument):
            return _NODE_BYTES + num_bytes(argument)
        case Compare(_, left, right):
            return num_bytes(left) + num_bytes(right)
        case IsNull(operand) | IsNan(operand):
            return _NODE_BYTES + num_bytes(operand)
        case TextMatch(_, operand, pattern):
            return num_bytes(operand) + _size(pattern)
        case Literal(value):
            return _size(value)
        case Opaque(payload):
            return _size(payload)
        case _:
            return _NODE_BYTES


def _size(value: Value) -> int:
    return _NODE_BYTES + (len(value) if isinstance(value, (str, bytes)) else 0)


def _nested(predicate: Predicate) -> str:
    return f"({predicate})" if isinstance(predicate, (And, Or)) else str(predicate)


def _identifier(name: str) -> str:
    plain = name.isidentifier() and name.isascii()
    return name if plain else identifier(name)


def _literal_text(value: Value, type: pa.DataType) -> str:
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int) and pa.types.is_temporal(type):
        return _temporal_text(value, type)
    return str(value)


def _temporal_text(value: int, type: pa.DataType) -> str:
    """Formats a date, time or timestamp as text; as the bare number with its type outside Python's calendar."""
    try:
        if pa.types.is_date(type):
            days = value if pa.types.is_date32(type) else value / 86_400_000
            return literal(str((_EPOCH + datetime.timedelta(days=days)).date()))
        seconds, fraction = divmod(value, _units_per_second(type))
        moment = _EPOCH + datetime.timedelta(seconds=seconds)
    except (OverflowError, AttributeError):
        return f"{value}::{type}"
    if pa.types.is_duration(type):
        return f"{value}::{type}"
    digits = len(str(_units_per_second(type))) - 1
    tail = f".{fraction:0{digits}d}" if fraction else ""
    text = str(moment.time()) if pa.types.is_time(type) else str(moment)
    zone = "+00" if pa.types.is_timestamp(type) and type.tz is not None else ""
    return literal(text + tail + zone)


def _units_per_second(type: pa.DataType) -> int:
    return {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type.unit]
