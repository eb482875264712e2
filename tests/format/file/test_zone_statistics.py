"""Bounds of zones: those of the values that were seen, whatever their type, order and NULLs."""

from __future__ import annotations

import itertools
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels
from lance_sql._kernels import ValueOrder
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.file.zone_statistics import (
    ROWS_PER_ZONE,
    KeyKind,
    key_kind,
    new_bounds,
    observe_array,
    statistics,
)

TYPES = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint32(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
    pa.date32(),
    pa.timestamp("us"),
    pa.duration("ns"),
]


def known(values: pa.Array, *, cuts: tuple[int, ...] = ()) -> PageStatistics:
    """Statistics after all values were seen, those after each cut before those in front of it."""
    kind = key_kind(values.type)
    assert kind is not None
    bounds = new_bounds(kind, len(values))
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(values)}), len(values)]
    for start, end in reversed(list(itertools.pairwise(edges))):
        observe_array(bounds, kind, start, values.slice(start, end - start))
    assert bounds.all_known
    return statistics(bounds.numbers(), zone_rows(len(values)), kind, values.type)


def zone_rows(num_rows: int) -> np.ndarray:
    return np.diff(np.append(np.arange(0, num_rows, ROWS_PER_ZONE), num_rows))


def random_values(random: np.random.Generator, type: pa.DataType, num_rows: int) -> pa.Array:
    """Values of all bits, or of few; a tenth of floats are NaN or zeros; NULLs here and there, or everywhere."""
    bits = random.integers(0, 256, num_rows * 8, dtype=np.uint8).view(np.uint64) >> np.uint64(random.integers(0, 60))
    if pa.types.is_floating(type):
        values = (bits.astype("i8") * random.choice([-1, 1], num_rows)).astype(type.to_pandas_dtype())
        odd = random.random(num_rows) < 0.1
        values[odd] = random.choice([np.nan, -0.0, 0.0, np.inf, -np.inf], int(odd.sum()))
    else:
        values = bits.astype(f"u{type.bit_width // 8}")
    nulls = random.random(num_rows) < random.choice([0.0, 0.2, 1.0])
    valid = pa.array(~nulls).buffers()[1]
    return pa.Array.from_buffers(type, num_rows, [valid, pa.py_buffer(values)])


@pytest.mark.parametrize("type", TYPES, ids=str)
@given(seed=st.integers(0, 2**32), num_rows=st.integers(1, 20_000), cuts=st.lists(st.integers(1, 20_000), max_size=3))
def test_bounds_are_those_of_the_values(type: pa.DataType, seed: int, num_rows: int, cuts: list[int]) -> None:
    values = random_values(np.random.default_rng(seed), type, num_rows)
    found = known(values, cuts=tuple(cuts))
    numbers = values.to_numpy(zero_copy_only=False) if pa.types.is_floating(type) else values.view(_integers(type))
    for zone, first in enumerate(range(0, num_rows, ROWS_PER_ZONE)):
        part = numbers.slice(first, ROWS_PER_ZONE) if isinstance(numbers, pa.Array) else None
        valid = values.slice(first, ROWS_PER_ZONE).drop_null()
        assert found.null_counts[zone].as_py() == min(ROWS_PER_ZONE, num_rows - first) - len(valid)
        if part is None:
            floats = valid.to_numpy()
            assert found.nan_counts is not None
            assert found.nan_counts[zone].as_py() == np.isnan(floats).sum()
            expected = floats[~np.isnan(floats)].tolist()
            least, greatest = found.mins[zone].as_py(), found.maxs[zone].as_py()
        else:
            expected = part.drop_null().to_pylist()
            least, greatest = (bound.view(_integers(type))[zone].as_py() for bound in (found.mins, found.maxs))
        assert (least, greatest) == ((min(expected), max(expected)) if expected else (None, None))


def _integers(type: pa.DataType) -> str:
    sign = "u" if pa.types.is_unsigned_integer(type) else ""
    return f"{sign}int{type.bit_width}"


@given(st.lists(st.none() | st.text(max_size=12) | st.text("a\0\U0010ffff\ud7ff\ue000é", max_size=12), min_size=1))
def test_text_lies_between_bounds_of_its_first_bytes(values: list[str | None]) -> None:
    for type in (pa.string(), pa.large_string()):
        found = known(pa.array(values, type))
        present = [value.encode() for value in values if value is not None]
        least, greatest = found.mins[0].as_py(), found.maxs[0].as_py()
        assert found.null_counts[0].as_py() == len(values) - len(present)
        assert least is None or least.encode() <= min(present)
        assert greatest is None or greatest.encode() > max(present)
        assert (least is None) == (not present)
        assert greatest is not None or not present or max(present)[:1] == b"\xf4" or max(present) == b""


@given(st.lists(st.none() | st.binary(max_size=12), min_size=1))
def test_bytes_lie_between_bounds_of_their_first_bytes(values: list[bytes | None]) -> None:
    found = known(pa.array(values, pa.binary()))
    present = [value for value in values if value is not None]
    least, greatest = found.mins[0].as_py(), found.maxs[0].as_py()
    assert (least is None) == (not present)
    assert least is None or least <= min(present)
    assert greatest is None or greatest > max(present)
    assert greatest is not None or not present or max(present)[:8] == b"\xff" * 8


@given(st.lists(st.none() | st.integers(-(10**30), 10**30) | st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_decimals_are_bounded_by_what_64_bits_hold(values: list[int | None]) -> None:
    numbers = [None if value is None else Decimal(value).scaleb(-2) for value in values]
    found = known(pa.array(numbers, pa.decimal128(38, 2)))
    present = [value for value in values if value is not None]
    bounds = [None if each is None else int(each.scaleb(2)) for each in (found.mins[0].as_py(), found.maxs[0].as_py())]
    least, greatest = bounds
    assert least is None or least <= min(present)
    assert greatest is None or greatest >= max(present)
    if present and all(abs(value) < 2**63 - 1 for value in present):
        assert bounds == [min(present), max(present)]


def test_a_zone_is_known_once_all_of_its_rows_were_seen() -> None:
    kind = key_kind(pa.int32())
    assert kind is not None
    bounds = new_bounds(kind, 2 * ROWS_PER_ZONE)
    values = pa.array(np.arange(2 * ROWS_PER_ZONE, dtype=np.int32))
    for start, end in ((100, 5000), (0, 100), (6000, ROWS_PER_ZONE + 10)):
        observe_array(bounds, kind, start, values.slice(start, end - start))
    assert bounds.num_known == 0
    observe_array(bounds, kind, 5000, values.slice(5000, ROWS_PER_ZONE - 5000))
    assert bounds.num_known == 1
    found = statistics(bounds.numbers(), zone_rows(len(values)), kind, values.type)
    assert (found.mins.to_pylist(), found.maxs.to_pylist()) == ([0, None], [ROWS_PER_ZONE - 1, None])
    assert found.null_counts.to_pylist() == [0, None]


@pytest.mark.parametrize(
    "type", [pa.bool_(), pa.float16(), pa.decimal256(50), pa.list_(pa.int32()), pa.null()], ids=str
)
def test_other_types_have_no_keys(type: pa.DataType) -> None:
    assert key_kind(type) is None


def test_rows_and_buffers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(_kernels.InvalidDataError, match=r"zones of 0 rows"):
        _kernels.ZoneBounds(ValueOrder.SIGNED, 32, 10, 0)
    with pytest.raises(_kernels.InvalidDataError, match=r"floats of 16 bits"):
        _kernels.ZoneBounds(ValueOrder.FLOAT, 16, 10, 5)
    with pytest.raises(_kernels.InvalidDataError, match=r"zones$"):
        _kernels.ZoneBounds(ValueOrder.SIGNED, 32, 2**48, 1)
    bounds = _kernels.ZoneBounds(ValueOrder.SIGNED, 32, 10, 5)
    with pytest.raises(_kernels.InvalidDataError, match=r"rows 8 to 11 of 10"):
        bounds.observe_array(8, bytes(12), None, 0, 3)
    with pytest.raises(_kernels.InvalidDataError, match=r"values needs 12 bytes, found 8"):
        bounds.observe_array(0, bytes(8), None, 0, 3)
    with pytest.raises(_kernels.InvalidDataError, match=r"validity needs 2 bytes"):
        bounds.observe_array(0, bytes(40), b"\xff", 0, 10)
    texts = _kernels.ZoneBounds(ValueOrder.UNSIGNED, 64, 2, 5)
    with pytest.raises(_kernels.InvalidDataError, match=r"a string from byte 4 to 2"):
        texts.observe_strings(0, np.array([0, 4, 2], np.int32), 32, b"abcdef", None, 0, 2)
    with pytest.raises(_kernels.InvalidDataError, match=r"a string from byte 0 to 9"):
        texts.observe_strings(0, np.array([0, 9, 9], np.int32), 32, b"abcdef", None, 0, 2)
    assert bounds.num_known == texts.num_known == 0


@pytest.mark.parametrize(
    "numbers", [[0, 6, 0, 1, 6, 0], [0, 5, 0, 1, 6, 0], [0, 5, 0, 1, 2, 3], [9, 12, 0, 0, 1, 0], [-1, 2, 0, 0, 1, 0]]
)
def test_numbers_that_contradict_themselves_are_refused(numbers: list[int]) -> None:
    bounds = _kernels.ZoneBounds(ValueOrder.SIGNED, 32, 10, 5)
    with pytest.raises(_kernels.InvalidDataError):
        bounds.add_numbers(np.array([numbers]))
    assert bounds.num_known == 0


@given(
    values=st.lists(st.none() | st.floats(width=64) | st.sampled_from([-0.0, 0.0]), max_size=3000),
    cuts=st.lists(st.integers(0, 3000), max_size=5),
    offset=st.integers(0, 9),
)
def test_runs_of_an_array_are_bounded_one_by_one(values: list[float | None], cuts: list[int], offset: int) -> None:
    array = pa.array([None] * offset + values, pa.float64())
    validity, stored = array.buffers()
    edges = np.array(sorted({0, len(values), *(cut for cut in cuts if cut < len(values))}), np.int64)
    bits = validity if array.null_count else None
    found = _kernels.bound_runs(ValueOrder.FLOAT, 64, stored, bits, offset, edges)
    for (low, high, num_valid, num_nans), (start, end) in zip(found.tolist(), itertools.pairwise(edges), strict=True):
        present = [value for value in values[start:end] if value is not None]
        numbers = [value for value in present if value == value]
        assert (num_valid, num_nans) == (len(present), len(present) - len(numbers))
        if numbers:
            one = statistics(
                np.array([[0, 1, low, high, 1, 0]]), np.array([1]), KeyKind(ValueOrder.FLOAT, 64), pa.float64()
            )
            assert (one.mins[0].as_py(), one.maxs[0].as_py()) == (min(numbers), max(numbers))


def test_edges_that_do_not_fit_are_refused() -> None:
    for edges in ([], [3, 1], [0, 9], [-1, 2]):
        with pytest.raises(_kernels.InvalidDataError):
            _kernels.bound_runs(ValueOrder.SIGNED, 32, bytes(32), None, 0, np.array(edges, np.int64))
    with pytest.raises(_kernels.InvalidDataError, match=r"edges of 4 bytes"):
        _kernels.bound_runs(ValueOrder.SIGNED, 32, bytes(32), None, 0, bytes(4))


# What a fork does before and after, while threads ask for bounds and the fork's other hooks run Python.
_ASKED_WHILE_A_FORK_BEGINS = """
import threading, time
from lance_sql import _kernels
bounds = _kernels.ZoneBounds(_kernels.ValueOrder.SIGNED, 64, 1000, 100)
answers = []
calls = [
    lambda: answers.append(bounds.num_known),
    lambda: answers.append(bounds.all_known),
    lambda: answers.append(len(bounds.numbers())),
    lambda: answers.append(bounds.add_numbers(b"")),
]
_kernels.hold_zone_bounds()
threads = [threading.Thread(target=call) for call in calls]
for thread in threads:
    thread.start()
time.sleep(0.2)
assert not answers
_kernels.release_zone_bounds()
for thread in threads:
    thread.join()
assert len(answers) == len(calls)
"""


def test_waiting_for_a_fork_releases_the_interpreter() -> None:
    # in a process of its own, which can be ended where it hangs
    subprocess.run([sys.executable, "-c", _ASKED_WHILE_A_FORK_BEGINS], check=True, timeout=60)
