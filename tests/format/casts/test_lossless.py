"""Lossless casts round-trip, from the extremes of every type."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.format.casts.conversion import convert
from lance_sql.format.casts.lossless import is_lossless

_INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
_TEXTS = [pa.string(), pa.large_string(), pa.string_view()]
_BYTES = [pa.binary(), pa.large_binary(), pa.binary_view()]


def ends(type: pa.DataType) -> pa.Array:
    """The least and the greatest value of a type, and NULL."""
    if pa.types.is_integer(type):
        whole = np.iinfo(type.to_pandas_dtype())
        return pa.array([int(whole.min), int(whole.max), None], type)
    if pa.types.is_floating(type):
        limits = np.finfo(type.to_pandas_dtype())
        return pa.array([limits.min, limits.max, limits.tiny, None], type)
    if pa.types.is_decimal(type):
        digits = (9,) * type.precision
        return pa.array([Decimal((sign, digits, -type.scale)) for sign in (0, 1)], type)
    if pa.types.is_timestamp(type):
        return pa.array([datetime(1970, 1, 1, tzinfo=UTC if type.tz else None), None], type)
    if pa.types.is_dictionary(type):
        return ends(type.value_type).dictionary_encode().cast(type)
    if type in _BYTES:
        return pa.array([b"", b"\xff\x00", None], type)
    return pa.array(["", "ä" * 20, None], type)


TYPES = [
    *_INTEGERS,
    pa.float32(),
    pa.float64(),
    pa.decimal128(5, 2),
    pa.decimal128(20, 2),
    pa.decimal128(7, 4),
    pa.decimal256(40, 4),
    pa.timestamp("us"),
    pa.timestamp("ms"),
    pa.timestamp("us", "UTC"),
    pa.dictionary(pa.int8(), pa.string()),
    *_TEXTS,
    *_BYTES,
]


@pytest.mark.parametrize("source", TYPES, ids=str)
def test_lossless_casts_round_trip(source: pa.DataType) -> None:
    values = ends(source)
    reached = [target for target in TYPES if is_lossless(source, target)]
    for target in reached:
        there = convert(values, target)
        assert there.type == target
        assert convert(there, source).equals(values)
    assert source in reached


def test_lossy_casts_lose_or_change_values() -> None:
    for source, target in product(_INTEGERS, _INTEGERS):
        if not is_lossless(source, target):
            with pytest.raises(pa.ArrowInvalid):
                convert(ends(source), target)
    for source, target in [*product(_TEXTS, _BYTES), *product(_BYTES, _TEXTS), *product(_INTEGERS, _TEXTS)]:
        assert not is_lossless(source, target)
    assert not is_lossless(pa.float64(), pa.float32())
    assert not is_lossless(pa.decimal128(5, 2), pa.decimal128(5, 3))
    assert not is_lossless(pa.timestamp("us"), pa.timestamp("us", "UTC"))


def test_nested_types_are_lossless_by_their_members() -> None:
    def lists(item: pa.DataType) -> pa.DataType:
        return pa.list_(pa.struct([("a", item), ("b", pa.string())]))

    assert is_lossless(lists(pa.int32()), lists(pa.int64()))
    assert not is_lossless(lists(pa.int64()), lists(pa.int32()))
    assert not is_lossless(pa.struct([("a", pa.int32())]), pa.struct([("b", pa.int32())]))
    assert not is_lossless(pa.list_(pa.int32(), 2), pa.list_(pa.int32(), 3))
    assert is_lossless(pa.null(), lists(pa.int64()))
