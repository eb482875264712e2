"""Translation of conditions that DuckDB 2.0 offers to a source into predicates; see source.py.

A condition compares columns with constants of the column's DuckDB type. It is translated if DuckDB represents the
table's values exactly. For types that DuckDB truncates (dates in milliseconds, times in nanoseconds) or represents
differently (durations, JSON), only `IS NULL` is translated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import pyarrow as pa
from duckdb._sources.nodes import Binary, Col, In, Lit, Node, Postfix, Unary

from lance_sql.reads.scan.predicates import (
    ColumnRef,
    Constant,
    IsNull,
    Predicate,
    compare,
    conjunction,
    disjunction,
    from_scalar,
    member,
    negate,
)
from lance_sql.reads.scan.scan import Scan
from lance_sql.runtime.caches import LruCache

_COMPARISONS: Final = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

_TYPES: Final[Mapping[str, pa.DataType]] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "UTINYINT": pa.uint8(),
    "USMALLINT": pa.uint16(),
    "UINTEGER": pa.uint32(),
    "UBIGINT": pa.uint64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "BLOB": pa.binary(),
    "DATE": pa.date32(),
    "TIME": pa.time64("us"),
    "TIMESTAMP_S": pa.timestamp("s"),
    "TIMESTAMP_MS": pa.timestamp("ms"),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
}
_NAMES: Final = {type: name for name, type in _TYPES.items()}
_EXACT_UNITS: Final = ("s", "ms", "us")

_Column: TypeAlias = tuple[ColumnRef, pa.DataType, pa.DataType]


MOST_ROWS_LEFT: Final = 0.02
"""DuckDB filters as fast as it receives rows: only a filter that leaves less than this share saves reading them."""

ROWS_OF_A_LARGE_TABLE: Final = 1_000_000
MOST_ROWS_LEFT_OF_A_SMALL_TABLE: Final = 0.005
FEWEST_ROWS: Final = 1000
"""For small tables, DuckDB's selectivity estimate is worth more than the pushed filter. If a source applies it, DuckDB
assumes that all rows remain, and orders joins by that. Below `FEWEST_ROWS`, DuckDB filters."""


class UntranslatableError(Exception):
    """A condition that DuckDB must evaluate itself."""


def to_predicate(node: Node, stored: pa.Schema, declared: pa.Schema) -> Predicate:
    """Translates a condition to a predicate.

    stored: the columns in the types of the table, system columns included
    declared: the same columns, by the same names, in the types declared to DuckDB
    raises: UntranslatableError
    """
    try:
        return _Translator(stored, declared).predicate(node)
    except RecursionError:
        raise UntranslatableError(node) from None


def is_worthwhile(scan: Scan, predicate: Predicate) -> bool:
    """Whether a scan with the predicate is faster than filtering in DuckDB; tuned with TPC-H.

    scan: with the predicate, without columns
    raises: errors of reading the columns of the predicate
    """
    with _lock:
        answers = _answers.setdefault(scan.snapshot, LruCache("answers to DuckDB", most_entries=_MOST_ANSWERS))
        answer = answers.get(predicate)
    if answer is None:
        answer = _judge(scan)
        with _lock:
            answers.put(predicate, answer)
    return answer


def _judge(scan: Scan) -> bool:
    plan = scan.plan
    # planning answers the condition; or for remote data, each page that is not fetched saves most
    if plan.residual is None or plan.read.fragments.concurrency > 1:
        return True
    num_rows = plan.count_rows().total
    most_left = MOST_ROWS_LEFT if num_rows >= ROWS_OF_A_LARGE_TABLE else MOST_ROWS_LEFT_OF_A_SMALL_TABLE
    if num_rows >= FEWEST_ROWS and plan.num_candidates < most_left * num_rows:
        return True
    sample = scan.sample_filter()
    return sample.is_free or (num_rows >= FEWEST_ROWS and sample.share < most_left)


# Plans are made for every query, with the same conditions.
_MOST_ANSWERS: Final = 256
_lock = Lock()
# By snapshot, like the columns in arrow.py.
_answers: WeakKeyDictionary[object, LruCache[Predicate, bool]] = WeakKeyDictionary()


class _Translator:
    def __init__(self, stored: pa.Schema, declared: pa.Schema) -> None:
        self._stored = stored
        self._declared = declared

    def predicate(self, node: Node) -> Predicate:
        match node:
            case Binary("AND", left, right):
                return conjunction([self.predicate(left), self.predicate(right)])
            case Binary("OR", left, right):
                return disjunction([self.predicate(left), self.predicate(right)])
            case Unary("NOT", operand):
                return negate(self.predicate(operand))
            case Postfix("IS NULL", Col(parts)):
                return IsNull(self._column(parts)[0])
            case Postfix("IS NOT NULL", Col(parts)):
                return negate(IsNull(self._column(parts)[0]))
            case Binary(op, Col(parts), Lit() as constant) if op in _COMPARISONS:
                column, type, name = self._comparable(parts)
                return compare(_COMPARISONS[op], column, type, _constant(constant, name))
            case In(Col(parts), values) if values:
                column, type, name = self._comparable(parts)
                return member(column, type, [_constant(value, name) for value in values])
        raise UntranslatableError(node)

    def _comparable(self, parts: Sequence[str]) -> tuple[ColumnRef, pa.DataType, str]:
        """Returns the column, its type in the table, and the name of its type in DuckDB."""
        column, stored, declared = self._column(parts)
        name = _type_name(declared)
        if name is None:
            raise UntranslatableError(declared)
        return column, stored, name

    def _column(self, parts: Sequence[str]) -> _Column:
        types = [_member(schema, parts) for schema in (self._stored, self._declared)]
        return ColumnRef(tuple(parts)), types[0], types[1]


def _member(schema: pa.Schema, parts: Sequence[str]) -> pa.DataType:
    """Returns the type of a column, or of a member of a struct inside it."""
    index = schema.get_field_index(parts[0]) if parts else -1
    if index < 0:
        raise UntranslatableError(parts)
    type = schema.field(index).type
    for name in parts[1:]:
        index = type.get_field_index(name) if pa.types.is_struct(type) else -1
        if index < 0:
            raise UntranslatableError(parts)
        type = type.field(index).type
    return type


def _type_name(type: pa.DataType) -> str | None:
    """Returns DuckDB's name of a type whose values it all represents exactly; None for other types."""
    if pa.types.is_dictionary(type):
        type = type.value_type
    if pa.types.is_decimal(type):
        return f"DECIMAL({type.precision},{type.scale})"
    if pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return "VARCHAR"
    if pa.types.is_large_binary(type) or pa.types.is_fixed_size_binary(type) or pa.types.is_binary_view(type):
        return "BLOB"
    if pa.types.is_time(type) and type.unit in _EXACT_UNITS:
        return "TIME"
    if pa.types.is_timestamp(type) and type.tz is not None and type.unit in _EXACT_UNITS:
        return "TIMESTAMP WITH TIME ZONE"
    return _NAMES.get(type)


def _constant(node: Node, name: str) -> Constant:
    """Returns the constant, which must be a value of DuckDB's type of this name."""
    if not isinstance(node, Lit) or node.type != name or node.value is None:
        raise UntranslatableError(node)
    type = _TYPES.get(name)
    if type is None:
        precision, scale = name.removeprefix("DECIMAL(").removesuffix(")").split(",")
        type = pa.decimal128(int(precision), int(scale))
    try:
        return from_scalar(pa.scalar(node.value, type))
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        raise UntranslatableError(node) from None
