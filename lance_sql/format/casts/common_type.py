"""The common type of two types, which represents the values of both exactly.

    int32, uint32                                 int64
    int64, decimal(5, 2)                          decimal(21, 2)
    timestamp[s, UTC], timestamp[us, Asia/Tokyo]  timestamp[us, UTC]: these are instants
    date32, timestamp[us]                         timestamp[us]
    text, dictionary of text                      large_string

Text and numbers have no such type, and neither do times with a zone and without one.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.conversion import convert
from lance_sql.values import kinds

_MOST_DIGITS: Final = 76


def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Returns a type that represents the values of both exactly, in one form for text, bytes and lists, or None.

    Integers with floats, and seconds with nanoseconds, may have values outside it: `to_type` refuses these.
    """
    a, b = plain(a), plain(b)
    if a == b or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    for kind in (_numbers, _moments, _clocks, _nested):
        found = kind(a, b)
        if found is not None:
            return found
    return pa.large_binary() if kinds.is_bytes(a) and kinds.is_bytes(b) else None


def plain(type: pa.DataType) -> pa.DataType:
    """Returns the type with one form for text, bytes and lists, and plain values instead of dictionaries and
    extensions."""
    type = kinds.decoded(type)
    if pa.types.is_fixed_size_list(type):
        return pa.list_(pa.field("item", plain(type.value_type)), type.list_size)
    if kinds.has_items(type):
        return pa.large_list(pa.field("item", plain(type.value_type)))
    if pa.types.is_struct(type):
        return pa.struct([pa.field(field.name, plain(field.type)) for field in type])
    if pa.types.is_map(type):
        return pa.map_(plain(type.key_type), plain(type.item_type))
    return kinds.wide(type)


def joinable_type(type: pa.DataType) -> pa.DataType:
    """Returns a type of the same values whose rows Arrow can take and join: it supports neither views, nor dictionaries
    with NULL among their items."""
    return kinds.with_leaves(type, _joinable_leaf)


def _joinable_leaf(type: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type):
        return joinable_type(type.value_type)
    if pa.types.is_string_view(type):
        return pa.string()
    return pa.binary() if pa.types.is_binary_view(type) else type


def joinable(table: pa.Table) -> pa.Table:
    """Casts the table to joinable types."""
    types = [joinable_type(type) for type in table.schema.types]
    if types == table.schema.types:
        return table
    fields = [field.with_type(type) for field, type in zip(table.schema, types, strict=True)]
    columns = [
        pa.chunked_array([convert(chunk, type) for chunk in column.chunks], type)
        for column, type in zip(table.columns, types, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))


def to_type(array: pa.Array, type: pa.DataType, name: str) -> pa.Array:
    """Casts values to a common type.

    name: of the column, for messages
    raises: InvalidArgument for a value that does not fit the type
    """
    try:
        return convert(array, type, exact=True)
    except pa.ArrowException as error:
        raise InvalidArgument(
            f"Column {name!r}: a value of {array.type} does not fit {type}: {error}. Cast the column"
        ) from error


def column_to_type(column: pa.ChunkedArray, type: pa.DataType, name: str) -> pa.ChunkedArray:
    """Casts like `to_type`, for a chunked column."""
    return pa.chunked_array([to_type(chunk, type, name) for chunk in column.chunks], type)


def _numbers(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if pa.types.is_floating(a) and pa.types.is_floating(b):
        return max(a, b, key=lambda type: type.bit_width)
    if pa.types.is_floating(a) or pa.types.is_floating(b):
        number, other = (a, b) if pa.types.is_floating(a) else (b, a)
        if not pa.types.is_integer(other):
            return None
        return number if other.bit_width <= kinds.EXACT_BITS[number.bit_width] else pa.float64()
    if pa.types.is_integer(a) and pa.types.is_integer(b):
        return _integer(a, b)
    digits = [_digits(type) for type in (a, b)]
    if digits[0] is None or digits[1] is None:
        return None
    (whole, scale), (other_whole, other_scale) = digits[0], digits[1]
    scale = max(scale, other_scale)
    precision = max(whole, other_whole) + scale
    if precision > _MOST_DIGITS:
        return None
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _integer(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    signed = [type for type in (a, b) if pa.types.is_signed_integer(type)]
    widest = max(a.bit_width, b.bit_width)
    if len(signed) != 1:
        return a if a.bit_width == widest else b
    unsigned = b if signed[0] is a else a
    bits = max(signed[0].bit_width, 2 * unsigned.bit_width)
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}.get(bits, pa.decimal128(20, 0))


def _digits(type: pa.DataType) -> tuple[int, int] | None:
    """Returns the digits before and after the point."""
    if pa.types.is_decimal(type):
        return type.precision - type.scale, type.scale
    return (20, 0) if pa.types.is_integer(type) else None


def _moments(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    stamps = [type for type in (a, b) if pa.types.is_timestamp(type)]
    if len(stamps) + sum(map(pa.types.is_date, (a, b))) < 2:
        return None
    if not stamps:
        return pa.date32()
    unit = max((type.unit for type in stamps), key=kinds.UNITS.index)
    zones = {None if type not in stamps else type.tz for type in (a, b)}
    if zones == {None}:
        return pa.timestamp(unit)
    # with a zone, a time is an instant in any zone
    return None if None in zones else pa.timestamp(unit, "UTC")


def _clocks(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if pa.types.is_time(a) and pa.types.is_time(b):
        return pa.time64("ns" if "ns" in (a.unit, b.unit) else "us")
    if pa.types.is_duration(a) and pa.types.is_duration(b):
        return pa.duration(max(a.unit, b.unit, key=kinds.UNITS.index))
    return None


def _nested(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        if [field.name for field in a] != [field.name for field in b]:
            return None
        members = [common_type(one.type, other.type) for one, other in zip(a, b, strict=True)]
        fields = [pa.field(field.name, type) for field, type in zip(a, members, strict=True) if type is not None]
        return pa.struct(fields) if len(fields) == len(members) else None
    if pa.types.is_map(a) and pa.types.is_map(b):
        key, item = common_type(a.key_type, b.key_type), common_type(a.item_type, b.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    if not (kinds.has_items(a) and kinds.has_items(b)):
        return None
    item = common_type(a.value_type, b.value_type)
    if item is None:
        return None
    if pa.types.is_fixed_size_list(a) and pa.types.is_fixed_size_list(b) and a.list_size == b.list_size:
        return pa.list_(pa.field("item", item), a.list_size)
    return pa.large_list(pa.field("item", item))
