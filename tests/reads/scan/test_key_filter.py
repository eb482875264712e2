"""Rows that have none of the keys of a merge are left out before the join, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.reads.scan import key_filter, key_matching
from lance_sql.reads.scan.key_filter import KeyFilter, can_be_filtered

TYPES = [
    pa.int8(),
    pa.uint16(),
    pa.int32(),
    pa.int64(),
    pa.uint64(),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time64("us"),
    pa.timestamp("us"),
    pa.timestamp("ns", "UTC"),
    pa.duration("ms"),
]


def keys_of(numbers: npt.NDArray[np.int64], type: pa.DataType) -> pa.Array:
    width = type.bit_width
    plain = pa.array(numbers, pa.int64()).cast(pa.int32() if width == 32 else pa.int64())
    if pa.types.is_date64(type):
        return pa.array(numbers * 86_400_000, pa.int64()).cast(type)
    return pa.array(numbers, pa.int64()).cast(type) if pa.types.is_integer(type) else plain.cast(type)


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("with_nulls", [False, True])
def test_matches_are_those_of_a_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type: pa.DataType, with_nulls: bool
) -> None:
    random = np.random.default_rng(3)
    most = 100 if type.bit_width == 8 else 30_000
    rows = keys_of(random.permutation(most) if most > 100 else np.arange(100), type)
    wanted = keys_of(random.choice(most, most // 20, replace=False), type)
    if with_nulls:
        rows = pa.concat_arrays([rows, pa.nulls(5, type)])
        wanted = pa.concat_arrays([wanted, pa.nulls(1, type)])
    table = lance_sql.write(pa.table({"k": rows}), tmp_path / "t", max_rows_per_file=7000)
    found = []
    for most_keys in (0, key_filter.MAX_KEYS):
        monkeypatch.setattr(key_matching, "MAX_KEYS", most_keys)
        for nulls_are_equal in (False, with_nulls):
            source = pa.table({"k": wanted})
            matches = key_matching.match(table.snapshot, source, ["k"], one_each=False, nulls_are_equal=nulls_are_equal)
            found.append((matches.addresses.tolist(), matches.source.tolist(), matches.unmatched.tolist()))
    assert found[:2] == found[2:]
    assert len(found[0][0]) == most // 20


def test_a_slice_has_its_own_keys() -> None:
    filter = KeyFilter(pa.chunked_array([[5, 6, None], [7]], pa.int32()))
    some = pa.array([1, 2, 3, 4, 5, 6, 7, None], pa.int32())
    assert {4, 5} <= set(filter.rows(some).tolist())
    assert set(filter.rows(some.slice(4, 2)).tolist()) == {0, 1}
    assert filter.rows(some.slice(3, 0)).tolist() == []
    assert KeyFilter(pa.chunked_array([], pa.int32())).rows(some).tolist() == []


def test_most_rows_are_left_out() -> None:
    random = np.random.default_rng(1)
    filter = KeyFilter(pa.chunked_array([random.integers(0, 2**40, 1000)]))
    for step in (1, 1000, 65_536, 1_000_000):
        others = pa.array(np.arange(2**41, 2**41 + 100_000 * step, step))
        assert len(filter.rows(others)) < 5000


def test_types_without_places() -> None:
    for type in (pa.string(), pa.bool_(), pa.decimal128(5), pa.float64(), pa.month_day_nano_interval(), pa.binary(4)):
        assert not can_be_filtered(type)
