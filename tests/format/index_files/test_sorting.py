"""Values sorted in runs on disk equal those sorted in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_sql.format.index_files import order
from lance_sql.format.index_files.sorting import Sorter

TYPES: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.int32(): st.integers(-5, 5),
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1]),
    pa.uint64(): st.integers(0, 2**64 - 1) | st.sampled_from([0, 2**64 - 1]),
    pa.float64(): st.floats(width=16),
    pa.string(): st.text("abé", max_size=3),
    pa.decimal128(5, 2): st.decimals(-9, 9, places=2),
    pa.bool_(): st.booleans(),
    pa.timestamp("us", "UTC"): st.datetimes(),
}


@pytest.mark.parametrize("type", TYPES, ids=str)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), run_bytes=st.sampled_from([1, 200, 10**6]))
def test_runs_are_merged_in_order(type: pa.DataType, data: st.DataObject, run_bytes: int) -> None:
    batches = data.draw(st.lists(st.lists(st.none() | TYPES[type], max_size=12), max_size=6))
    arrays = [pa.array(batch, type) for batch in batches]
    everything = pa.concat_arrays([pa.array([], type), *arrays])
    first = 0
    with Sorter(type, run_bytes=run_bytes) as sorter:
        for array in arrays:
            sorter.add(array, np.arange(first, first + len(array), dtype=np.uint64))
            first += len(array)
        found = pa.Table.from_batches(sorter.sorted(), pa.schema([("values", type), ("numbers", pa.uint64())]))
    places = order.ascending(everything)
    assert found.column("numbers").to_pylist() == places.tolist()
    assert repr(found.column("values").to_pylist()) == repr(everything.take(pa.array(places)).to_pylist())


@pytest.mark.parametrize("type", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("num_distinct", [1, 7, 200, 5000])
def test_integers_are_sorted_stably(type: str, num_distinct: int) -> None:
    limits = np.iinfo(type)
    random = np.random.default_rng(num_distinct)
    distinct = random.integers(limits.min, limits.max, num_distinct, dtype=type, endpoint=True)
    for some in (distinct, distinct // 8 + np.array(3, type)):
        numbers = random.choice(some, 5000)
        is_null = random.random(5000) < 0.1
        assert (order.ascending(pa.array(numbers)) == np.argsort(numbers, kind="stable")).all()
        expected = [*np.flatnonzero(is_null), *np.flatnonzero(~is_null)[np.argsort(numbers[~is_null], kind="stable")]]
        assert order.ascending(pa.array(numbers, mask=is_null)).tolist() == expected


@pytest.mark.parametrize("num_distinct", [1, 50, 3000, 10**9])
@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.binary()], ids=str)
def test_text_is_sorted_stably_however_often_it_repeats(type: pa.DataType, num_distinct: int) -> None:
    numbers = np.random.default_rng(num_distinct).integers(0, num_distinct, 20_000).tolist()
    values = [None if number % 13 == 5 else f"{number % 7}\u00e9{number}" for number in numbers]
    array = pa.array([value and value.encode() for value in values], pa.binary()).cast(type)
    expected = sorted(range(len(values)), key=lambda place: (values[place] or "").encode())
    assert order.ascending(array).tolist() == expected


def test_floats_are_in_total_order() -> None:
    values = [np.inf, -0.0, 1.0, np.nan, -np.inf, 0.0, -np.nan, -1.0]
    for type in ("float16", "float32", "float64"):
        array = pa.array(np.array(values, type))
        sorted_values = array.take(pa.array(order.ascending(array))).to_numpy()
        assert [str(value) for value in sorted_values] == ["nan", "-inf", "-1.0", "-0.0", "0.0", "1.0", "inf", "nan"]
        assert np.signbit(sorted_values[0])
        assert not np.signbit(sorted_values[-1])
