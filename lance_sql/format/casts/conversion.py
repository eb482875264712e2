"""Conversion of Arrow values to another type: exactly, in floating point to the nearest value, or with an error.

This module replaces casts of Arrow that silently change values: decimals and text in floating point (`rounding`),
floats as decimals, times that overflow (`times`), numbers and times as text (`text`), and all of these inside lists
and structs (`nested`).

    float -> decimal      its shortest text as a number, rounded half away from zero
    bytes <-> text        UTF-8
    timestamp -> date     the day, and the time of day: in the zone of the column, if it has one
    timestamp <-> zone    the same instant, and without a zone that of UTC
    times <-> integers    counts of the unit
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from lance_sql.format.casts import nested, rounding, text, times, uuids
from lance_sql.format.schema.extensions import with_extensions
from lance_sql.values import kinds


def convert(array: pa.Array, target: pa.DataType, *, as_sql: bool = False, exact: bool = False) -> pa.Array:
    """Converts values to another type.

    as_sql: convert like SQL assignment: round decimals to the digits of the target, half away from zero, instead of
        refusing them; and refuse times as numbers, which are counts of their unit otherwise
    exact: change no value: do not round integers and floats to floats, do not drop times of day,
        and do not convert between booleans, numbers and times
    raises: pa.ArrowInvalid for a value that does not fit the type; pa.ArrowNotImplementedError for unrelated
        types
    """
    source = array.type
    if source == target:
        return array

    def inner(values: pa.Array, type: pa.DataType) -> pa.Array:
        return convert(values, type, as_sql=as_sql, exact=exact)

    if isinstance(source, pa.UuidType) and kinds.is_text(target):
        return uuids.to_text(array.storage).cast(target)
    if isinstance(source, pa.BaseExtensionType):
        return inner(array.storage, target)
    if isinstance(target, pa.UuidType) and kinds.is_text(source):
        return pa.ExtensionArray.from_storage(target, uuids.from_text(array))
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, inner(array, target.storage_type))
    if pa.types.is_null(source):
        return pa.nulls(len(array), target)
    if pa.types.is_dictionary(target):
        return _to_dictionary(array, target, inner)
    if pa.types.is_dictionary(source):
        return inner(_decoded(array), target)
    if pa.types.is_nested(source) or pa.types.is_nested(target):
        return nested.convert_members(array, target, inner)
    if exact and _kind(source) != _kind(target) and not kinds.is_text(source) and not kinds.is_text(target):
        raise pa.ArrowNotImplementedError(f"{source} cannot become {target}")
    converted = _convert_plain(array, target, as_sql=as_sql)
    if exact:
        _check_kept(array, converted)
    return converted


def _decoded(array: pa.DictionaryArray) -> pa.Array:
    items = array.dictionary
    wide = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(items.type)
    if wide is not None:
        # Arrow cannot take views
        array = pa.DictionaryArray.from_arrays(array.indices, items.cast(wide))
    return array.dictionary_decode()


def into(array: pa.Array, field: pa.Field, *, as_sql: bool = False) -> pa.Array:
    """Converts values to the type of a field, whose metadata may name an extension type.

    raises: as `convert`
    """
    if array.type == field.type:
        return array
    type = with_extensions(field).type
    return convert(convert(array, type, as_sql=as_sql), field.type)


def between(array: pa.Array, source: pa.Field, target: pa.Field) -> pa.Array:
    """Converts values of one field to the type of another; the metadata of both may name extension types.

    raises: as `convert`
    """
    return into(convert(array, with_extensions(source).type), target)


def _kind(type: pa.DataType) -> str:
    """Returns the kind of values, which exact conversions preserve."""
    if pa.types.is_boolean(type):
        return "boolean"
    if kinds.is_number(type):
        return "number"
    if pa.types.is_time(type):
        return "time of day"
    if pa.types.is_duration(type) or pa.types.is_interval(type):
        return "length"
    return "moment" if pa.types.is_temporal(type) else "bytes"


def _check_kept(before: pa.Array, after: pa.Array) -> None:
    """Makes sure that floats and times are unchanged; all other lossy conversions fail without it.

    raises: pa.ArrowInvalid
    """
    import pyarrow.compute as pc

    source, target = before.type, after.type
    if pa.types.is_floating(target) and pa.types.is_floating(source) and target.bit_width < source.bit_width:
        back = after.cast(source)
        is_same = pc.or_(pc.equal(back, before), pc.and_(pc.is_nan(back), pc.is_nan(before)))
        if pc.any(pc.invert(is_same)).as_py():
            raise pa.ArrowInvalid("a number has more digits")
    elif pa.types.is_floating(target) and pa.types.is_integer(source):
        # fails for an integer with more digits than the type has for all
        before.cast(pa.float32() if pa.types.is_float16(target) else target)
    elif pa.types.is_date(target) and pa.types.is_timestamp(source):
        back = times.convert(after, pa.timestamp(source.unit))
        local = before if source.tz is None else pc.local_timestamp(before)
        if pc.any(pc.not_equal(back, local)).as_py():
            raise pa.ArrowInvalid("a date has a time of day")


def _convert_plain(array: pa.Array, target: pa.DataType, *, as_sql: bool) -> pa.Array:
    source = array.type
    if pa.types.is_decimal(source) and source.bit_width < 128:
        # Arrow's casts of narrow decimals overflow silently
        array = array.cast(_wide(source))
    if pa.types.is_floating(target):
        return _to_float(array, target)
    if pa.types.is_decimal(target):
        return _to_decimal(array, target, as_sql=as_sql)
    if kinds.is_text(target):
        return text.of(array, target)
    if times.are_moments(source, target):
        return times.convert(array, target)
    if as_sql and pa.types.is_temporal(source) != pa.types.is_temporal(target) and not kinds.is_text(source):
        raise pa.ArrowNotImplementedError(f"{source} cannot become {target}")
    if pa.types.is_float16(source) or pa.types.is_string_view(source) or pa.types.is_binary_view(source):
        # Arrow has fewer casts of these, and some are wrong
        wide = {pa.float16(): pa.float32(), pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
        array = array.cast(wide[source])
    return array.cast(target)


def _to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    floats = rounding.to_float(array, target)
    if _count_infinite(floats) > _count_infinite(array):
        raise pa.ArrowInvalid("a number is too large")
    return floats


def _count_infinite(array: pa.Array) -> int:
    import pyarrow.compute as pc

    if kinds.is_text(array.type):
        words = pc.match_substring_regex(array.cast(pa.large_string()), r"^[+-]?inf", ignore_case=True)
        return pc.sum(words).as_py() or 0
    if not pa.types.is_floating(array.type):
        return 0
    # Arrow does not support this for half floats
    return pc.sum(pc.is_inf(array.cast(pa.float64()))).as_py() or 0


def _to_decimal(array: pa.Array, target: pa.DataType, *, as_sql: bool) -> pa.Array:
    source = array.type
    if target.bit_width < 128:
        return _to_decimal(array, _wide(target), as_sql=as_sql).cast(target)
    if pa.types.is_integer(source):
        # Arrow checks the digits of the integer type, not of the actual values
        array = array.cast(pa.decimal128(20, 0))
    elif pa.types.is_floating(source):
        array, as_sql = _shortest_decimals(array, target), True
    elif kinds.is_text(source):
        array = array.cast(pa.string())
    if as_sql and pa.types.is_decimal(array.type) and array.type.scale > target.scale:
        array = _rounded(array, target.scale)
    if pa.types.is_decimal256(array.type):
        # Arrow checks the digits of the rest once it is narrow
        array = array.cast(pa.decimal256(target.precision, target.scale))
    return array.cast(target)


def _wide(type: pa.DataType) -> pa.DataType:
    return pa.decimal128(type.precision, type.scale)


def _shortest_decimals(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Converts floats to the decimals of their shortest texts, with all digits relevant for a target.

    raises: pa.ArrowInvalid for NaN, infinities, and numbers that are too large
    """
    import pyarrow.compute as pc

    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())
    size = pc.abs(array)
    # from here on, a shortest text has no digits after the point
    is_whole = pc.greater_equal(size, pa.scalar(_WHOLE, array.type))
    if pc.any(is_whole).as_py():
        large = pc.if_else(is_whole, array, None).cast(pa.string()).cast(pa.decimal256(76, target.scale))
        small = convert(pc.if_else(is_whole, None, array), pa.decimal256(76, target.scale))
        return pc.coalesce(large, small)
    # less than a tenth of half a unit rounds to zero; a float has at most 17 digits
    tiny = pc.less(size, pa.scalar(10.0 ** -(target.scale + 2), array.type))
    texts = pc.if_else(tiny, pa.scalar(0, array.type), array).cast(pa.string())
    return texts.cast(pa.decimal256(76, min(target.scale + 19, 76 - 17)))


_WHOLE: Final = 1e17


def _rounded(array: pa.Array, scale: int) -> pa.Array:
    import pyarrow.compute as pc

    # one more digit: 99.5 becomes 100
    digits = array.type.precision + 1
    wide = pa.decimal128(digits, array.type.scale) if digits <= 38 else pa.decimal256(min(digits, 76), array.type.scale)
    return pc.round(array.cast(wide), ndigits=scale, round_mode="half_towards_infinity")


def _to_dictionary(array: pa.Array, target: pa.DictionaryType, inner: nested.Convert) -> pa.Array:
    """
    inner: converts items
    raises: pa.ArrowInvalid if there are too many distinct values for the keys
    """
    if not pa.types.is_dictionary(array.type):
        return inner(array, target.value_type).dictionary_encode().cast(target)
    items = inner(array.dictionary, target.value_type)
    try:
        keys = array.indices.cast(target.index_type)
    except pa.ArrowInvalid:
        return _to_dictionary(array.dictionary_decode(), target, inner)
    return pa.DictionaryArray.from_arrays(keys, items, ordered=target.ordered)
