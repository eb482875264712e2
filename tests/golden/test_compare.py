"""The comparison notices what counts, and nothing else."""

from __future__ import annotations

import math
import struct

import pyarrow as pa
import pytest

from tests.golden.compare import difference

OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0001))[0]
LISTS = [[1], None, [], [2, None]]


def chunked(values: list[object], data_type: pa.DataType, cut: int = 0) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values[:cut], data_type), pa.array(values[cut:], data_type)])


@pytest.mark.parametrize(
    ("values", "data_type", "other_type"),
    [
        ([1.0, None, math.nan], pa.float64(), pa.float64()),
        ([1.0, None, math.nan], pa.float16(), pa.float16()),
        (LISTS, pa.list_(pa.int8()), pa.list_(pa.field("element", pa.int8()))),
        (LISTS, pa.large_list(pa.int8()), pa.large_list(pa.int8())),
        ([[1, 2], None], pa.list_(pa.int8(), 2), pa.list_(pa.int8(), 2)),
        ([[("a", 1)], None, []], pa.map_(pa.string(), pa.int8()), pa.map_(pa.string(), pa.int8())),
        ([{"a": 1.0}, None, {"a": None}], pa.struct([("a", pa.float32())]), pa.struct([("a", pa.float32())])),
        (["x", None, "y"], pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int8(), pa.string())),
        ([], pa.string(), pa.string()),
    ],
)
def test_equal_values_are_equal_however_they_are_chunked(
    values: list[object], data_type: pa.DataType, other_type: pa.DataType
) -> None:
    assert difference(chunked(values, data_type), chunked(values, other_type, cut=1)) is None


@pytest.mark.parametrize(
    ("found", "expected", "data_type"),
    [
        ([0.0], [-0.0], pa.float64()),
        ([0], [None], pa.int8()),
        ([[]], [None], pa.list_(pa.int8())),
        ([[1, None]], [[1, 0]], pa.list_(pa.int8())),
        ([{"a": None}], [None], pa.struct([("a", pa.int8())])),
        ([{}], [None], pa.struct([])),
        ([[("a", 1)]], [[("a", 2)]], pa.map_(pa.string(), pa.int8())),
        (["x"], ["y"], pa.dictionary(pa.int8(), pa.string())),
    ],
)
def test_other_values_are_different(found: list[object], expected: list[object], data_type: pa.DataType) -> None:
    assert "row 0 is" in str(difference(chunked(found, data_type), chunked(expected, data_type)))


def test_another_type_is_a_difference() -> None:
    assert "type int32" in str(difference(chunked([1], pa.int32()), chunked([1], pa.int64())))
    assert "type" in str(difference(chunked([], pa.struct([("a", pa.int8())])), chunked([], pa.struct([]))))


def test_every_nan_is_the_same() -> None:
    assert math.isnan(OTHER_NAN)
    assert difference(chunked([math.nan], pa.float64()), chunked([OTHER_NAN], pa.float64())) is None


def test_json_is_compared_as_what_it_means() -> None:
    left, right = chunked(['{"a": 1, "b": [2]}', None], pa.string()), chunked(['{"b":[2],"a":1}', None], pa.string())
    assert difference(left, right, is_json=True) is None
    assert difference(left, right) is not None
