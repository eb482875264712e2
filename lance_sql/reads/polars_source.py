"""A version as a lazy frame of Polars, which asks for columns, a number of rows and a predicate.

Conditions of the predicate that are understood wholly prune the scan, such as `price > Decimal("9.50")` and
`name.str.starts_with("a")`. Polars evaluates all of it on the rows that are left, so its own meaning decides.
"""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import LanceError
from lance_sql.reads.scan.predicates import (
    IsNull,
    Predicate,
    conjunction,
    disjunction,
    from_arrow,
    from_sql,
    joined,
    negate,
)
from lance_sql.reads.scan.predicates.tree import ColumnRef
from lance_sql.values import kinds
from lance_sql.values.frames import library, to_frame
from lance_sql.values.sql_text import identifier, literal

_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "Eq": lambda column, value: column == value,
    "NotEq": lambda column, value: column != value,
    "Lt": lambda column, value: column < value,
    "LtEq": lambda column, value: column <= value,
    "Gt": lambda column, value: column > value,
    "GtEq": lambda column, value: column >= value,
}
_ENDS: Final = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}
_TEXTS: Final[Mapping[str, Callable[[Any, str], Any]]] = {"StartsWith": pc.starts_with, "EndsWith": pc.ends_with}
_NUMBERS: Final = {
    **{f"Int{bits}": getattr(pa, f"int{bits}")() for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": getattr(pa, f"uint{bits}")() for bits in (8, 16, 32, 64)},
    "Float32": pa.float32(),
    "Float64": pa.float64(),
    "Boolean": pa.bool_(),
    "String": pa.string(),
}
_UNITS: Final = {"Milliseconds": "ms", "Microseconds": "us", "Nanoseconds": "ns"}
_COMPARABLE: Final = (
    *(pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_boolean, pa.types.is_decimal128),
    *(kinds.is_text, pa.types.is_date32, pa.types.is_time, pa.types.is_timestamp),
    pa.types.is_duration,
)
"""Types with the same order in Polars and in filters. Others, such as dictionaries, become other types in Polars."""


def lazy_frame(scan: Callable[..., Any], filter: Predicate | None) -> Any:
    """Returns a LazyFrame of Polars.

    scan: called with columns, or None for all of them, a predicate and a limit; returns the scan
    filter: on all rows
    raises: MissingDependency; UnsupportedFeature for a column that Polars does not support
    """
    source = library("polars.io.plugins")
    schema = scan(None, filter, None).schema

    def frames(columns: list[str] | None, predicate: Any, limit: int | None, batch_size: int | None) -> Iterator[Any]:
        names, pushed = columns, None
        if predicate is not None:
            used = set(predicate.meta.root_names()) - set(schema.names if columns is None else columns)
            names = None if columns is None else [*columns, *sorted(used)]
            # a limit counts rows before the predicate
            pushed = None if limit is not None else pushed_filter(predicate.meta.serialize(format="json"), schema)
        rows = scan(names, joined(filter, pushed), limit).to_reader()
        for batch in rows:
            frame = to_frame(pa.Table.from_batches([batch]))
            wanted = frame if predicate is None else frame.filter(predicate)
            yield wanted if names == columns else wanted.select(columns)

    return source.register_io_source(frames, schema=to_frame(schema.empty_table()).schema)


def pushed_filter(predicate: str, schema: pa.Schema) -> Predicate | None:
    """Returns the conditions of a predicate of Polars that a scan can apply; None for none of them.

    predicate: its JSON
    """
    found = []
    for each in _conjuncts(json.loads(predicate)):
        try:
            found.append(_Reader(schema).condition(each))
        except (_UnknownError, LanceError, pa.ArrowException, ValueError, OverflowError, ArithmeticError):
            # Polars evaluates it
            continue
    return joined(*found)


class _UnknownError(Exception):
    """A part of a predicate without the same meaning in filters."""


def _conjuncts(node: Any) -> Iterable[Any]:
    match node:
        case {"BinaryExpr": {"left": left, "op": "And", "right": right}}:
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield node


class _Reader:
    """Reads the JSON of an expression, whose types Polars has made equal: a number is compared with a column of its own
    type, or the column is cast, which is left to Polars."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def condition(self, node: Any) -> Predicate:
        """
        raises: _UnknownError; errors of filters
        """
        match node:
            case {"BinaryExpr": {"left": left, "op": "And" | "Or" as op, "right": right}}:
                join = conjunction if op == "And" else disjunction
                return join([self.condition(left), self.condition(right)])
            case {"BinaryExpr": {"left": left, "op": op, "right": right}}:
                return self._comparison(left, op, _value(right))
            case {"Function": {"input": [argument, *others], "function": {"Boolean": function}}}:
                return self._test(function, argument, others)
            case {"Function": {"input": [text, part], "function": {"StringExpr": function}}}:
                return self._text(function, text, _value(part))
            case {"Function": {"input": [items, item], "function": {"ListExpr": {"Contains": _}}}}:
                return self._contains(items, _value(item))
            case _:
                column, type = self._column(node)
                if not pa.types.is_boolean(type):
                    raise _UnknownError
                return self._arrow(column == pa.scalar(True))

    def _comparison(self, left: Any, op: str, value: pa.Scalar) -> Predicate:
        match left:
            case {"Function": {"input": [moment], "function": {"TemporalExpr": "Year"}}}:
                return self._year(moment, op, value.as_py())
        column, _ = self._column(left)
        if op in ("EqValidity", "NotEqValidity"):
            # never unknown
            equal = self._arrow(column == value)
            missing = self._is_null(left)
            if op == "EqValidity":
                return conjunction([equal, negate(missing)])
            return disjunction([negate(equal), missing])
        return self._arrow(self._compared(op, column, value))

    @staticmethod
    def _compared(op: str, column: pc.Expression, value: pa.Scalar) -> pc.Expression:
        if op not in _COMPARISONS:
            raise _UnknownError
        return _COMPARISONS[op](column, value)

    def _year(self, moment: Any, op: str, year: int) -> Predicate:
        column, type = self._column(moment)
        if not (pa.types.is_date32(type) or (pa.types.is_timestamp(type) and type.tz is None)):
            raise _UnknownError
        first, after = (pa.scalar(datetime.datetime(each, 1, 1)).cast(type) for each in (year, year + 1))
        match op:
            case "Eq":
                return self._arrow((column >= first) & (column < after))
            case "NotEq":
                return self._arrow((column < first) | (column >= after))
        edges = {"Lt": column < first, "LtEq": column < after, "Gt": column >= after, "GtEq": column >= first}
        if op not in edges:
            raise _UnknownError
        return self._arrow(edges[op])

    def _test(self, function: Any, argument: Any, others: list[Any]) -> Predicate:
        match function:
            case "Not":
                return negate(self.condition(argument))
            case "IsNull":
                return self._is_null(argument)
            case "IsNotNull":
                return negate(self._is_null(argument))
            case "IsNan":
                return self._arrow(pc.is_nan(self._column(argument)[0]))
            case "IsNotNan":
                return negate(self._arrow(pc.is_nan(self._column(argument)[0])))
            case {"IsBetween": {"closed": closed}}:
                column, _ = self._column(argument)
                ends = zip(_ENDS[closed], map(_value, others), strict=True)
                return conjunction([self._arrow(self._compared(op, column, end)) for op, end in ends])
            case {"IsIn": {"nulls_equal": False}}:
                column, type = self._column(argument)
                values = _values(others[0])
                same = values.type == type or (pa.types.is_large_string(values.type) and pa.types.is_string(type))
                if values.null_count or not same:
                    raise _UnknownError
                return self._arrow(column.isin(values))
        raise _UnknownError

    def _is_null(self, node: Any) -> Predicate:
        return IsNull(ColumnRef(self._path(node)[0]))

    def _text(self, function: Any, text: Any, part: pa.Scalar) -> Predicate:
        column, type = self._column(text)
        if not kinds.is_text(type):
            raise _UnknownError
        match function:
            case "StartsWith" | "EndsWith":
                return self._arrow(_TEXTS[function](column, part.as_py()))
            case {"Contains": {"literal": True}}:
                return self._arrow(pc.match_substring(column, part.as_py()))
        raise _UnknownError

    def _contains(self, items: Any, item: pa.Scalar) -> Predicate:
        path, type = self._path(items)
        if not kinds.is_list(type):
            raise _UnknownError
        value = item.as_py()
        if pa.types.is_integer(type.value_type) and pa.types.is_integer(item.type):
            text = str(value)
        elif pa.types.is_string(type.value_type) and pa.types.is_string(item.type):
            text = literal(value)
        else:
            raise _UnknownError
        return from_sql(f"list_contains({'.'.join(map(identifier, path))}, {text})", self._schema)

    def _column(self, node: Any) -> tuple[pc.Expression, pa.DataType]:
        """Returns a column or member, and its type, whose values have one order here and in Polars."""
        path, type = self._path(node)
        if not any(check(type) for check in _COMPARABLE):
            raise _UnknownError
        return pc.field(path), type

    def _path(self, node: Any) -> tuple[tuple[str, ...], pa.DataType]:
        match node:
            case {"Column": str(name)} if name in self._schema.names:
                return (name,), self._schema.field(name).type
            case {"Function": {"input": [struct], "function": {"StructExpr": {"FieldByName": str(name)}}}}:
                path, type = self._path(struct)
                if pa.types.is_struct(type) and type.get_field_index(name) >= 0:
                    return (*path, name), type.field(name).type
        raise _UnknownError

    def _arrow(self, expression: pc.Expression) -> Predicate:
        return from_arrow(expression, self._schema)


def _value(node: Any) -> pa.Scalar:
    """Returns a constant that is not NULL.

    raises: _UnknownError
    """
    match node:
        case {"Literal": {"Scalar": {"Decimal": [int(digits), _, int(scale)]}}}:
            return pa.scalar(Decimal(digits).scaleb(-scale), pa.decimal128(38, scale))
        case {"Literal": {"Scalar": {"Date": int(days)}}}:
            return pa.scalar(days, pa.int32()).cast(pa.date32())
        case {"Literal": {"Scalar": {"Time": int(nanoseconds)}}}:
            return pa.scalar(nanoseconds, pa.int64()).cast(pa.time64("ns"))
        case {"Literal": {"Scalar": {"Datetime": [int(number), str(unit), zone]}}}:
            type = pa.timestamp(_UNITS[unit], zone["inner"] if zone else None)
            return pa.scalar(number, pa.int64()).cast(type)
        case {"Literal": {"Scalar": {"Duration": [int(number), str(unit)]}}}:
            return pa.scalar(number, pa.int64()).cast(pa.duration(_UNITS[unit]))
        case {"Literal": {"Scalar": dict(one)}} if len(one) == 1:
            ((kind, value),) = one.items()
            if kind in _NUMBERS and value is not None:
                return pa.scalar(value, _NUMBERS[kind])
    raise _UnknownError


def _values(node: Any) -> pa.Array:
    """Returns the values of a constant list.

    raises: _UnknownError
    """
    match node:
        case {"Literal": {"Scalar": {"List": list(content)}}}:
            table = pa.ipc.open_stream(io.BytesIO(bytes(content))).read_all()
            values = table.column(0).combine_chunks()
            return values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values
    raise _UnknownError
