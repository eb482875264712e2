"""Pages that the kernels read by themselves, against the values that they were made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_sql import _kernels as kernels
from lance_sql.format.encodings.tree import Flat, Variable
from lance_sql.format.layouts.tree import FullZip, Layer

from . import oracles
from .pages import Chunk, ValueCodec, build, random_values, seeds, split, stored, type_of
from .test_matching import FLAT, FLAT_LEVELS, PACKED, RUNS, SPLIT, encoded, key

VARIABLE, FSST = list(ValueCodec)[4:]
SYMBOLS = [b"abc", b"ab", b"c", b"longest!"]
TEXT = [b"abclongest!x"[: i % 13] for i in range(64)]
NEAR = [
    stem[:n] + end for stem in [b"abclongest!x" * 4, b"ab" * 20] for n in range(40) for end in (b"", b"\x00", b"\xff")
]
# most of them begin alike, by some codes and by many
LED = [
    (b"longest!abclongest!" * 4)[:n] + bytes([k]) * (k % 5) for n in (0, *[19] * 9, *[60] * 5) for k in range(97, 109)
]
MANY = bytes(257)
DESCENDING = np.array([0, 9], "<i4").tobytes()
LONG = [(b"abc" * 9)[: i % 27] for i in range(30)]


@dataclass(frozen=True)
class Made:
    """A page, its reader, and the values that it was made of.

    type: of the arrays that the reader hands over
    values: those, with None where they are NULL
    """

    reader: kernels.PageReader
    data: bytes
    type: pa.DataType
    values: list[Any]


def reader_of(
    parts: Sequence[Sequence[bytes]],
    sizes: Sequence[int],
    valid: np.ndarray | None,
    *,
    codec: ValueCodec,
    bits: int,
    format: tuple[bool, int],
    symbol_table: bytes | None = None,
    items: tuple[Any, ...] | None = None,
    keeps_indices: bool = False,
) -> tuple[kernels.PageReader, bytes]:
    levels = split(valid, list(sizes)) if valid is not None else [None] * len(sizes)
    chunks = [
        Chunk(
            size, buffers, None, None if here is None else (~here).astype("<u2").tobytes(), 0 if here is None else size
        )
        for size, buffers, here in zip(sizes, parts, levels, strict=True)
    ]
    page = build(chunks, large=True)
    definition = FLAT_LEVELS if valid is not None else None
    reader = page.reader(
        codec,
        bits,
        format,
        definition=definition,
        symbol_table=symbol_table,
        items=items,
        keeps_indices=keeps_indices,
    )
    return reader, page.data


def masked(values: Sequence[Any], valid: np.ndarray | None) -> list[Any]:
    return [value if valid is None or valid[i] else None for i, value in enumerate(values)]


def number_page(dtype: str, codec: ValueCodec, sizes: Sequence[int], seed: int, valid: np.ndarray | None) -> Made:
    values = (random_values(seed, sum(sizes), np.uint8) % 37).astype(dtype)
    bits = 8 * values.dtype.itemsize
    unsigned = values.view(f"<u{values.dtype.itemsize}")
    parts = [encoded(part, codec) for part in split(unsigned, list(sizes))]
    reader, data = reader_of(parts, sizes, valid, codec=codec, bits=bits, format=(False, bits))
    return Made(reader, data, pa.from_numpy_dtype(values.dtype), masked(values.tolist(), valid))


def bool_page(sizes: Sequence[int], seed: int, valid: np.ndarray | None) -> Made:
    values = random_values(seed, sum(sizes), np.uint8) % 2 == 1
    parts = [[oracles.bitmap(part)] for part in split(values, list(sizes))]
    reader, data = reader_of(parts, sizes, valid, codec=FLAT, bits=1, format=(False, 1))
    return Made(reader, data, pa.bool_(), masked(values.tolist(), valid))


def wide_page(sizes: Sequence[int], seed: int, valid: np.ndarray | None, width: int) -> Made:
    """Values of a width that no word has."""
    values = [bytes([i % 251] * width) for i in random_values(seed, sum(sizes), np.uint8).tolist()]
    parts = [[b"".join(part)] for part in split_list(values, sizes)]
    reader, data = reader_of(parts, sizes, valid, codec=FLAT, bits=8 * width, format=(False, 8 * width))
    return Made(reader, data, pa.binary(width), masked(values, valid))


def narrow_page(sizes: Sequence[int], seed: int, valid: np.ndarray | None) -> Made:
    """Decimals of 128 bits that are delivered in 64."""
    values = random_values(seed, sum(sizes), np.uint8).astype(np.int64) - 100
    wide = np.stack((values, values >> 63), axis=1)
    parts = [[part.tobytes()] for part in split(wide, list(sizes))]
    reader, data = reader_of(parts, sizes, valid, codec=FLAT, bits=128, format=(False, 64))
    return Made(reader, data, pa.int64(), masked(values.tolist(), valid))


def split_list(values: Sequence[bytes], sizes: Sequence[int]) -> list[list[bytes]]:
    ends = np.cumsum(sizes)
    return [list(values[end - size : end]) for end, size in zip(ends.tolist(), sizes, strict=True)]


def text_page(
    sizes: Sequence[int],
    seed: int,
    valid: np.ndarray | None,
    codec: ValueCodec,
    offset_bits: int,
    wanted_bits: int,
    texts: Sequence[bytes] = TEXT,
) -> Made:
    values = [texts[i % len(texts)] for i in random_values(seed, sum(sizes), np.uint8).tolist()]
    stored = [oracles.fsst_encode(value, SYMBOLS) for value in values] if codec == FSST else values
    parts = [[oracles.variable_chunk(part, offset_bits)] for part in split_list(stored, sizes)]
    table = oracles.symbol_table(SYMBOLS) if codec == FSST else None
    format = (True, wanted_bits)
    reader, data = reader_of(parts, sizes, valid, codec=codec, bits=offset_bits, format=format, symbol_table=table)
    return Made(reader, data, pa.binary() if wanted_bits == 32 else pa.large_binary(), masked(values, valid))


def dictionary_page(
    sizes: Sequence[int], seed: int, valid: np.ndarray | None, kind: str, codec: ValueCodec, index_bits: int
) -> Made:
    choices: dict[str, list[Any]] = {
        "short": TEXT[:13],
        "long": LONG,
        "fixed": list(range(100, 130)),
    }
    keeps_indices = kind.startswith("int")
    items = choices.get(kind, TEXT)
    indices = random_values(seed, sum(sizes), np.uint8).astype(f"<u{index_bits // 8}") % len(items)
    parts = [encoded(part, codec) for part in split(indices, list(sizes))]
    given: tuple[Any, ...]
    if kind == "fixed":
        given, format = (len(items), 64, None, np.array(items, "<i8").tobytes()), (False, 64)
        type: pa.DataType = pa.int64()
    else:
        offsets = np.cumsum([0, *map(len, items)]).astype("<i4")
        given, format, type = (len(items), 32, offsets.tobytes(), b"".join(items)), (True, 32), pa.binary()
    if keeps_indices:
        type = pa.type_for_alias(kind)
        format = False, type.bit_width
    reader, data = reader_of(
        parts, sizes, valid, codec=codec, bits=index_bits, format=format, items=given, keeps_indices=keeps_indices
    )
    values = indices.tolist() if keeps_indices else [items[i] for i in indices.tolist()]
    return Made(reader, data, type, masked(values, valid))


def constant_page(num_rows: int, kind: str, valid: np.ndarray | None = None) -> Made:
    value, format, content, type = {
        "number": (77, (False, 32), (77).to_bytes(4, "little"), pa.int32()),
        "bool": (True, (False, 1), b"\x01", pa.bool_()),
        "text": (b"text", (True, 64), b"text", pa.large_binary()),
        "empty": (b"", (True, 32), b"", pa.binary()),
        "null": (None, (False, 64), None, pa.int64()),
        "no text": (None, (True, 32), None, pa.binary()),
    }[kind]
    validity = oracles.bitmap(valid) if valid is not None and content is not None else None
    reader = kernels.PageReader.constant(num_rows, format=format, value=content, validity=validity)
    return Made(reader, b"", type, masked([value] * num_rows, valid))


def numbers_page(num_rows: int, seed: int, step: int, rows_per_run: int) -> Made:
    """Runs of numbers, which no file has; some of them go beyond the largest number."""
    starts = np.unique(np.r_[0, random_values(seed, num_rows // rows_per_run, np.uint32) % num_rows]).astype(np.int64)
    first = random_values(seed + 1, len(starts), np.uint64) % 50
    if seed % 3 == 0:
        first += np.uint64(2**64 - 50)
    run = np.searchsorted(starts, np.arange(num_rows), "right") - 1
    values = first[run] + np.uint64(step) * (np.arange(num_rows) - starts[run]).astype(np.uint64)
    reader = kernels.PageReader.number_runs(num_rows, starts=starts, values=first, step=step)
    return Made(reader, b"", pa.uint64(), values.tolist())


KINDS = st.one_of(
    st.tuples(st.just("number"), st.sampled_from(["<u1", "<i2", "<u4", "<i8"]), st.sampled_from([FLAT, PACKED, RUNS])),
    st.tuples(st.just("number"), st.sampled_from(["<i2", "<u4", "<f8"]), st.just(SPLIT)),
    st.tuples(st.just("bool")),
    st.tuples(st.just("wide"), st.sampled_from([3, 16, 20])),
    st.tuples(st.just("narrow")),
    st.tuples(st.just("text"), st.sampled_from([VARIABLE, FSST]), st.sampled_from([32, 64]), st.sampled_from([32, 64])),
    st.tuples(
        st.just("dictionary"),
        st.sampled_from(["short", "long", "fixed", "int8", "int16", "int32", "int64"]),
        st.sampled_from([FLAT, PACKED, RUNS]),
        st.sampled_from([8, 32, 64]),
    ),
    st.tuples(st.just("constant"), st.sampled_from(["number", "bool", "text", "empty", "null", "no text"])),
    st.tuples(st.just("numbers"), st.sampled_from([0, 1]), st.sampled_from([1, 10, 2000])),
)


@st.composite
def pages(draw: st.DrawFn) -> list[Made]:
    """One to three pages of a column, with and without NULLs."""
    kind: Any = draw(KINDS)
    name, *how = kind
    found = []
    for _ in range(draw(st.integers(1, 3))):
        sizes = [1024] * draw(st.integers(0, 1)) + [draw(st.integers(1, 1024))]
        seed = draw(seeds)
        valid = None
        if draw(st.booleans()) and name != "numbers":
            valid = random_values(seed + 1, sum(sizes), np.uint8) % 3 > 0
        makers: dict[str, Callable[[], Made]] = {
            "number": lambda: number_page(how[0], how[1], sizes, seed, valid),  # noqa: B023 - called at once
            "bool": lambda: bool_page(sizes, seed, valid),  # noqa: B023 - called at once
            "wide": lambda: wide_page(sizes, seed, valid, *how),  # noqa: B023 - called at once
            "narrow": lambda: narrow_page(sizes, seed, valid),  # noqa: B023 - called at once
            "text": lambda: text_page(sizes, seed, valid, *how),  # noqa: B023 - called at once
            "dictionary": lambda: dictionary_page(sizes, seed, valid, *how),  # noqa: B023 - called at once
            "constant": lambda: constant_page(sum(sizes), how[0], valid),  # noqa: B023 - called at once
            "numbers": lambda: numbers_page(sum(sizes), seed, *how),  # noqa: B023 - called at once
        }
        found.append(makers[name]())
    return found


@st.composite
def rows_of(draw: st.DrawFn, num_rows: int) -> np.ndarray:
    """At least one range of rows."""
    edges = sorted(draw(st.sets(st.integers(0, num_rows), min_size=2, max_size=12)))
    return np.array(edges[: len(edges) // 2 * 2], np.int64).reshape(-1, 2)


@st.composite
def some_flags(draw: st.DrawFn, count: int) -> np.ndarray:
    share = draw(st.sampled_from([0, 1, 20, 128, 250, 256]))
    flags = random_values(draw(seeds), count, np.uint8) < share
    if draw(st.booleans()):
        # flags that lie together
        flags = np.sort(flags)
    return flags.astype(np.uint8)


def imported(found: tuple[int, list[kernels.NativeArray], Any], type: pa.DataType) -> pa.Array:
    _, (array,), failure = found
    assert failure is None
    result = pa.Array._import_from_c(array.address, type)
    result.validate(full=True)
    return result


def relative(rows: np.ndarray, start: int, end: int) -> np.ndarray:
    inside = np.clip(rows, start, end) - start
    return np.ascontiguousarray(inside[inside[:, 1] > inside[:, 0]])


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_rows_are_the_values_that_pages_were_made_of(data: st.DataObject) -> None:
    made = data.draw(pages())
    starts = np.cumsum([0, *(len(page.values) for page in made)]).astype(np.int64)
    rows = data.draw(rows_of(int(starts[-1])))
    places = np.concatenate([np.arange(start, end) for start, end in rows])
    expected = pa.array([value for page in made for value in page.values], made[0].type).take(pa.array(places))
    flags = data.draw(some_flags(len(places)))
    passed = expected.filter(pa.array(flags == 1))

    column, file = kernels.ColumnReader(starts), b"head"
    for number, page in enumerate(made):
        column.open(number, page.reader, len(file), len(file) + len(page.data))
        file += page.data
    (spans,) = kernels.spans([(column, rows)])
    given_rows = (column, rows, [(page, file[start:end], start) for page, start, end in spans])
    assert imported(kernels.read_rows([], [given_rows], None), made[0].type).equals(expected)
    # rows of so short pages are never far apart
    assert list(map(tuple, column.scattered_spans(rows).tolist())) == spans
    assert column.pages_of(int(rows[0, 0]), int(rows[-1, 1]))[0] == int(starts.searchsorted(rows[0, 0], "right")) - 1

    found = kernels.read_rows([], [given_rows], flags.copy())
    assert found[0] == len(passed)
    assert imported(found, made[0].type).equals(passed) if len(passed) else found[1] == []

    # the rows of each page as an array of its own
    parts = [part for start, end in pairwise(starts.tolist()) if len(part := relative(rows, start, end) + start)]
    positions = np.cumsum([0, *(int((part[:, 1] - part[:, 0]).sum()) for part in parts)]).tolist()
    given_parts = [(column, part, given_rows[2], at) for part, at in zip(parts, positions, strict=False)]
    for given_flags, wanted in ((None, expected), (flags.copy(), passed)):
        num_left, arrays, failure = kernels.read_rows([], given_parts, given_flags)
        assert failure is None
        assert num_left == (0 if given_flags is None else len(passed))
        if len(wanted):
            each = [pa.Array._import_from_c(array.address, made[0].type) for array in arrays]
            assert pa.concat_arrays(each).equals(wanted)
        else:
            assert arrays == []


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_tests_come_before_the_rows_that_pass(data: st.DataObject) -> None:
    sizes, seed = [1024, data.draw(st.integers(1, 1024))], data.draw(seeds)
    valid = random_values(seed, sum(sizes), np.uint8) % 3 > 0
    numbers = number_page("<u4", PACKED, sizes, seed, valid)
    words = dictionary_page(sizes, seed, None, "short", FLAT, 8)
    low, high = sorted((data.draw(st.integers(0, 36)), data.draw(st.integers(0, 36))))
    answers = random_values(data.draw(seeds), 13, np.uint8) % 2
    rows = data.draw(rows_of(sum(sizes)))
    places = np.concatenate([np.arange(start, end) for start, end in rows])
    column, other = (kernels.ColumnReader(np.array([0, sum(sizes)])) for _ in range(2))
    column.open(0, numbers.reader, 0, len(numbers.data))
    other.open(0, words.reader, 0, len(words.data))
    ranged, listed = kernels.ColumnTest(1), kernels.ColumnTest(1)
    ranged.set(0, kernels.PageTest.range(kernels.ValueOrder.UNSIGNED, key(low), key(high), True))
    listed.set(0, kernels.PageTest.items(answers))
    flags = np.ones(len(places), np.uint8)
    found = kernels.read_rows(
        [(column, rows, [(0, numbers.data, 0)], ranged), (other, rows, [(0, words.data, 0)], listed)],
        [(column, rows, [(0, numbers.data, 0)])],
        flags,
    )
    items = TEXT[:13]
    expected = [
        numbers.values[place]
        for place in places.tolist()
        if numbers.values[place] is not None
        and low <= numbers.values[place] <= high
        and answers[items.index(words.values[place])]
    ]
    assert found[0] == len(expected) == int(flags.sum())
    if expected:
        assert imported(found, numbers.type).to_pylist() == expected


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_numbers_that_no_file_has_are_tested(data: st.DataObject) -> None:
    num_rows = data.draw(st.integers(1, 3000))
    step, rows_per_run = data.draw(st.sampled_from([0, 1])), data.draw(st.sampled_from([1, 10, 2000]))
    made = numbers_page(num_rows, data.draw(seeds), step, rows_per_run)
    low, high = sorted(data.draw(st.sampled_from([*made.values[:20], 0, 25, 2**64 - 1])) for _ in range(2))
    inside = data.draw(st.booleans())
    column, test = kernels.ColumnReader(np.array([0, num_rows])), kernels.ColumnTest(1)
    column.open(0, made.reader, 0, 0)
    test.set(0, kernels.PageTest.range(kernels.ValueOrder.UNSIGNED, key(low), key(high), inside))
    rows = data.draw(rows_of(num_rows))
    places = np.concatenate([np.arange(start, stop) for start, stop in rows]).tolist()
    expected = [made.values[place] for place in places if (low <= made.values[place] <= high) == inside]
    # how many have passed decides how the next ones are found
    for _ in range(2):
        flags = np.ones(len(places), np.uint8)
        found = kernels.read_rows([(column, rows, [], test)], [(column, rows, [])], flags)
        assert found[0] == len(expected) == int(flags.sum())
        if expected:
            assert imported(found, made.type).to_pylist() == expected


@pytest.mark.parametrize(
    ("starts", "values", "step"),
    [
        ([], [], 1),
        ([1], [5], 1),
        ([0, 10], [5, 6], 1),
        ([0, 5, 5], [1, 2, 3], 1),
        ([0, 7, 5], [1, 2, 3], 0),
        ([0, 5], [1], 1),
        ([0], [1], 2),
        ([-1], [1], 1),
    ],
)
def test_runs_that_are_not_those_of_the_rows_are_refused(starts: list[int], values: list[int], step: int) -> None:
    numbers, firsts = np.array(values, np.uint64), np.array(starts, np.int64)
    with pytest.raises(ValueError, match=r"run|step"):
        kernels.PageReader.number_runs(10, starts=firsts, values=numbers, step=step)
    with pytest.raises(ValueError, match="64-bit numbers"):
        kernels.PageReader.number_runs(10, starts=bytes(7), values=bytes(8), step=0)


def test_numbers_are_tested_for_ranges_only() -> None:
    column, test = kernels.ColumnReader(np.array([0, 10])), kernels.ColumnTest(1)
    column.open(0, numbers_page(10, 1, 1, 5).reader, 0, 0)
    test.set(0, kernels.PageTest.validity(True))
    rows = np.array([[0, 10]])
    failure = kernels.read_rows([(column, rows, [], test)], [], np.ones(10, np.uint8))[2]
    assert failure == (True, 0, 0, "numbers of rows are tested for a range")


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_texts_pass_by_the_order_of_their_bytes(data: st.DataObject) -> None:
    sizes, seed = [1024] * data.draw(st.integers(0, 1)) + [data.draw(st.integers(1, 1024))], data.draw(seeds)
    valid = random_values(seed + 1, sum(sizes), np.uint8) % 3 > 0 if data.draw(st.booleans()) else None
    bits = data.draw(st.sampled_from([32, 64]))
    texts = data.draw(st.sampled_from([NEAR, LED]))
    made = text_page(sizes, seed, valid, data.draw(st.sampled_from([VARIABLE, FSST])), bits, 32, texts)
    # the longest ones have more bytes than a table of codes has rows for
    bound = st.sampled_from([*texts, b"", NEAR[-1] * 5])
    low, end = data.draw(bound), data.draw(st.none() | bound)
    inside = data.draw(st.booleans())
    column, test = kernels.ColumnReader(np.array([0, sum(sizes)])), kernels.ColumnTest(1)
    column.open(0, made.reader, 0, len(made.data))
    test.set(0, kernels.PageTest.strings(low, end, inside))
    rows = data.draw(rows_of(sum(sizes)))
    places = np.concatenate([np.arange(start, stop) for start, stop in rows])
    parts = [(0, made.data, 0)]
    # how many have passed decides how the next ones are found
    for _ in range(3):
        flags = data.draw(some_flags(len(places)))
        expected = [
            value
            for flag, value in zip(flags.tolist(), [made.values[place] for place in places.tolist()], strict=True)
            if flag and value is not None and (low <= value and (end is None or value < end)) == inside
        ]
        found = kernels.read_rows([(column, rows, parts, test)], [(column, rows, parts)], flags)
        assert found[0] == len(expected) == int(flags.sum())
        if expected:
            assert imported(found, made.type).to_pylist() == expected


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("step", [1, 7, 40])
@pytest.mark.parametrize("is_read", [True, False])
def test_texts_that_pass_in_runs_are_those_of_the_runs(inside: bool, step: int, is_read: bool) -> None:
    """
    step: one of this many texts is not tested
    is_read: the tested column is read, else another one of the same rows
    """
    values = [b"longest!" + b"%04d" % i for i in range(1500)]
    table = oracles.symbol_table(SYMBOLS)
    parts = [
        [oracles.variable_chunk([oracles.fsst_encode(value, SYMBOLS) for value in part], 32)]
        for part in (values[:1024], values[1024:])
    ]
    reader, data = reader_of(parts, [1024, 476], None, codec=FSST, bits=32, format=(True, 32), symbol_table=table)
    column, other = (kernels.ColumnReader(np.array([0, 1500])) for _ in range(2))
    test = kernels.ColumnTest(1)
    for each in (column, other):
        each.open(0, reader, 0, len(data))
    low, end = b"longest!0040", b"longest!1300"
    test.set(0, kernels.PageTest.strings(low, end, inside))
    rows, bytes_of = np.array([[3, 1490]]), [(0, data, 0)]
    for _ in range(2):
        flags = (np.arange(3, 1490) % step != 1).astype(np.uint8)
        expected = [
            value for value, flag in zip(values[3:1490], flags, strict=True) if flag and (low <= value < end) == inside
        ]
        found = kernels.read_rows(
            [(column, rows, bytes_of, test)], [(column if is_read else other, rows, bytes_of)], flags
        )
        assert found[2] is None
        assert imported(found, pa.binary()).to_pylist() == expected


@pytest.mark.parametrize(
    ("codes", "low"),
    [
        (b"\x04", b"abcabc"),
        (b"\x00\xff", b"abcabc"),
        # behind codes that all strings begin with
        (b"\x03\x03\x00\x04\x00", b"longest!longest!abcabcabc"),
        (b"\x03\x03\x00\xff", b"longest!longest!abcabcabc"),
    ],
)
def test_codes_that_stand_for_nothing_are_damage_to_a_test(codes: bytes, low: bytes) -> None:
    chunk = oracles.variable_chunk([codes] * 20, 32)
    table = oracles.symbol_table(SYMBOLS)
    reader, data = reader_of([[chunk]], [20], None, codec=FSST, bits=32, format=(True, 32), symbol_table=table)
    column, test = kernels.ColumnReader(np.array([0, 20])), kernels.ColumnTest(1)
    column.open(0, reader, 0, len(data))
    test.set(0, kernels.PageTest.strings(low, None, True))
    _, _, failure = kernels.read_rows([(column, np.array([[0, 20]]), [(0, data, 0)], test)], [], np.ones(20, np.uint8))
    assert failure == (True, 0, 0, "chunk 0: a code without a symbol, or an escape at the end of a value")


@pytest.mark.parametrize("codec", [VARIABLE, FSST])
@pytest.mark.parametrize("offset", [0, 2**31, 2**32 - 1])
@pytest.mark.parametrize("passed", [slice(16, 17), slice(17, 18), slice(8, 24), slice(0, 40, 3), slice(1, 40, 2)])
def test_strings_that_pass_have_to_lie_in_their_chunk(codec: ValueCodec, offset: int, passed: slice) -> None:
    content = bytearray(oracles.variable_chunk([b"\x00\x01"] * 40, 32))
    # where string 16 ends and string 17 begins
    content[68:72] = offset.to_bytes(4, "little")
    table = oracles.symbol_table(SYMBOLS) if codec == FSST else None
    reader, data = reader_of(
        [[bytes(content)]], [40], None, codec=codec, bits=32, format=(True, 32), symbol_table=table
    )
    column = kernels.ColumnReader(np.array([0, 40]))
    column.open(0, reader, 0, len(data))
    flags = np.zeros(40, np.uint8)
    flags[passed] = 1
    looks_at_it = flags[16] or flags[17]
    _, _, failure = kernels.read_rows([], [(column, np.array([[0, 40]]), [(0, data, 0)])], flags)
    if codec == VARIABLE or looks_at_it:
        assert failure is not None
        assert failure[:3] == (False, 0, 0)
        assert failure[3].startswith("chunk 0: the offsets")


def test_an_answer_for_a_whole_page_needs_no_values() -> None:
    page = number_page("<i8", FLAT, [100], 1, None)
    column = kernels.ColumnReader(np.array([0, 100]))
    column.open(0, page.reader, 0, len(page.data))
    rows = np.array([[10, 30]])
    for answer in (True, False):
        test = kernels.ColumnTest(1)
        test.set(0, answer)
        found = kernels.read_rows([(column, rows, [], test)], [], np.ones(20, np.uint8))
        assert found == (20 * answer, [], None)


def test_damage_names_the_column_and_the_page() -> None:
    pages = [number_page("<i8", PACKED, [1024], seed, None) for seed in (1, 2)]
    column = kernels.ColumnReader(np.array([0, 1024, 2048]))
    file = b""
    for number, page in enumerate(pages):
        column.open(number, page.reader, len(file), len(file) + len(page.data))
        file += page.data
    damaged = bytearray(file)
    damaged[len(pages[0].data) + 8] = 65
    rows = np.array([[0, 2048]])
    good = (column, rows, [(0, file, 0), (1, file, 0)])
    left, arrays, failure = kernels.read_rows(
        [], [good, (column, rows, [(0, bytes(damaged), 0), (1, bytes(damaged), 0)])], None
    )
    assert (left, arrays) == (0, [])
    assert failure is not None
    assert failure[:3] == (False, 1, 1)
    assert "chunk 0" in failure[3]
    _, arrays, failure = kernels.read_rows([], [(column, rows, [(0, file[:100], 0)])], None)
    assert arrays == []
    assert failure is not None
    assert failure[:3] == (False, 0, 0)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"codec": FLAT, "bits": 32}, "32 bits as values of 64"),
        ({"codec": PACKED, "bits": 128, "format": (False, 128)}, "128"),
        ({"codec": VARIABLE, "bits": 32}, "encoded as variable cannot be"),
        ({"codec": VARIABLE, "bits": 16, "format": (True, 32)}, "offsets encoded as Flat"),
        ({"codec": FSST, "bits": 32, "format": (True, 32), "symbol_table": b"short"}, "symbol table"),
        ({"codec": FLAT, "bits": 64, "keeps_indices": True}, "without a dictionary"),
        ({"codec": FLAT, "bits": 32, "items": (1, 8, None, b"x"), "keeps_indices": True, "format": (False, 24)}, "24"),
        ({"codec": FLAT, "bits": 32, "items": (257, 8, None, MANY), "keeps_indices": True, "format": (False, 8)}, "2"),
        ({"codec": FLAT, "bits": 32, "items": (2, 64, None, bytes(8))}, "need 16 bytes"),
        ({"codec": FLAT, "bits": 32, "items": (1, 32, None, bytes(8))}, "items of 32"),
        ({"codec": FLAT, "bits": 32, "items": (1, 32, DESCENDING, b"x"), "format": (True, 32)}, "descend"),
    ],
)  # fmt: skip
def test_readers_that_cannot_be_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reader_of([[bytes(8)]], [1], None, **{"format": (False, 64), **how})


def test_columns_refuse_pages_that_do_not_fit() -> None:
    page = number_page("<i8", FLAT, [10], 1, None)
    column = kernels.ColumnReader(np.array([0, 11]))
    with pytest.raises(ValueError, match="10 items for 11 rows"):
        column.open(0, page.reader, 0, 80)
    with pytest.raises(ValueError, match="page 1"):
        column.open(1, page.reader, 0, 80)
    with pytest.raises(ValueError, match="not open"):
        kernels.spans([(column, np.array([[0, 1]]))])
    for starts in ([0], [1, 2], [0, 5, 4]):
        with pytest.raises(ValueError, match="row"):
            kernels.ColumnReader(np.array(starts))


def scattered(path: Path, *columns: tuple[kernels.ColumnReader, np.ndarray]) -> list[Any]:
    """The bytes of rows of columns of a file, where some of the rows are far apart."""
    found, failure = kernels.read_scattered(str(path), list(columns))
    assert failure is None
    assert found is not None
    return list(found)


def parts_of(path: Path, content: bytes, column: kernels.ColumnReader, rows: np.ndarray) -> Any:
    """The bytes of rows of a column of a file, without what lies between rows that are far apart."""
    path.write_bytes(content)
    found, failure = kernels.read_scattered(str(path), [(column, rows)])
    assert failure is None
    if found is not None and found[0] is not None:
        return found[0]
    return [(page, content[start:end], start) for page, start, end in kernels.spans([(column, rows)])[0]]


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_scattered_rows_need_only_their_chunks(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    sizes, seed = [1024] * 192 + [data.draw(st.integers(1, 1024))], data.draw(seeds)
    valid = random_values(seed, sum(sizes), np.uint8) % 3 > 0 if data.draw(st.booleans()) else None
    made = [
        number_page("<i8", FLAT, sizes, seed, valid),
        number_page("<u4", data.draw(st.sampled_from([FLAT, SPLIT])), sizes, seed + 1, valid),
        text_page(sizes, seed, valid, VARIABLE, 32, 32),
    ]
    page = data.draw(st.sampled_from(made))
    column, file = kernels.ColumnReader(np.array([0, sum(sizes)])), b"head" + page.data
    column.open(0, page.reader, 4, len(file))
    places = sorted(data.draw(st.sets(st.integers(0, sum(sizes) - 1), min_size=2, max_size=60)))
    rows = np.array([[place, place + 1] for place in places])
    expected = pa.array(page.values, page.type).take(pa.array(places))
    spans = column.scattered_spans(rows)
    assert (np.diff(spans[:, 1:].ravel()) >= 0).all()
    assert int((spans[:, 2] - spans[:, 1]).sum()) <= sum(
        end - start for _, start, end in kernels.spans([(column, rows)])[0]
    )
    parts = parts_of(tmp_path_factory.getbasetemp() / "scattered", file, column, rows)
    found = kernels.read_rows([], [(column, rows, parts)], None)
    assert imported(found, page.type).equals(expected)
    flags = data.draw(some_flags(len(places)))
    passed = expected.filter(pa.array(flags == 1))
    found = kernels.read_rows([], [(column, rows, parts)], flags.copy())
    assert imported(found, page.type).equals(passed) if len(passed) else found[1] == []


def test_few_bytes_of_a_long_page_are_asked_for() -> None:
    page = number_page("<i8", FLAT, [1024] * 256, 1, None)
    column = kernels.ColumnReader(np.array([0, 256 * 1024]))
    column.open(0, page.reader, 0, len(page.data))
    spans = column.scattered_spans(np.array([[5, 6], [7, 9], [128 * 1024, 128 * 1024 + 1], [255 * 1024, 256 * 1024]]))
    assert len(spans) == 3
    assert 3 * 8192 <= int((spans[:, 2] - spans[:, 1]).sum()) < 4 * 8192
    # of every chunk some row: nothing lies between
    every = np.arange(0, 256 * 1024, 1024)
    assert len(column.scattered_spans(np.stack((every, every + 1), axis=1))) == 1


def scattered_page(path: Path) -> tuple[Made, kernels.ColumnReader]:
    """A page of 256 chunks, from byte 100 of the file on."""
    page = number_page("<i8", FLAT, [1024] * 256, 1, None)
    column = kernels.ColumnReader(np.array([0, 256 * 1024]))
    column.open(0, page.reader, 100, 100 + len(page.data))
    path.write_bytes(bytes(100) + page.data)
    return page, column


def some_rows(*places: int) -> np.ndarray:
    return np.array([[place, place + 1] for place in places])


def test_rows_of_which_nothing_was_read_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "file"
    _, column = scattered_page(path)
    (parts,) = scattered(path, (column, some_rows(5, 100_000)))
    for rows in (some_rows(5, 50_000), some_rows(7, 200_000), some_rows(250_000)):
        assert kernels.read_rows([], [(column, rows, parts)], None)[2] is not None
    assert kernels.read_rows([], [(column, some_rows(100_001), parts)], None)[2] is None
    page = constant_page(2000, "number")
    constant = kernels.ColumnReader(np.array([0, 2000]))
    constant.open(0, page.reader, 0, 100)
    _, _, failure = kernels.read_rows([], [(constant, np.array([[0, 9]]), parts)], None)
    assert failure == (False, 0, 0, "extents of a page that is read as a whole")


def test_each_of_several_columns_has_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    page, column = scattered_page(path)
    short, dense = kernels.ColumnReader(np.array([0, 1024])), kernels.ColumnReader(np.array([0, 256 * 1024]))
    first = number_page("<i8", FLAT, [1024], 1, None)
    short.open(0, first.reader, 100 + len(page.data), 100 + len(page.data) + len(first.data))
    dense.open(0, page.reader, 100, 100 + len(page.data))
    with path.open("ab") as file:
        file.write(first.data)
    rows = {column: some_rows(1, 9, 200_000), short: some_rows(3, 900), dense: np.array([[0, 5], [9, 250_000]])}
    found = scattered(path, *rows.items())
    # of the last one long stretches are needed, which are better mapped
    assert [each is None for each in found] == [False, False, True]
    asked = [(each, rows[each], parts) for each, parts in zip(rows, found, strict=True) if parts is not None]
    _, arrays, failure = kernels.read_rows([], asked, None)
    assert failure is None
    for array, values, places in zip(arrays, (page.values, first.values), list(rows.values())[:2], strict=True):
        assert pa.Array._import_from_c(array.address, pa.int64()).to_pylist() == [values[place] for place, _ in places]
    # where no rows are far apart, nothing is read
    assert kernels.read_scattered(str(path), [(short, rows[short]), (dense, rows[dense])]) == (None, None)


def test_threads_share_what_is_read_in_many_parts(tmp_path: Path) -> None:
    page = number_page("<i8", FLAT, [1024] * 600, 1, None)
    column = kernels.ColumnReader(np.array([0, 600 * 1024]))
    column.open(0, page.reader, 0, len(page.data))
    path = tmp_path / "file"
    path.write_bytes(page.data)

    def read(first: int) -> bool:
        places = np.arange(first, 600 * 1024, 4500)
        rows = np.stack((places, places + 1), axis=1)
        (parts,) = scattered(path, (column, rows))
        found = kernels.read_rows([], [(column, rows, parts)], None)
        return bool(imported(found, page.type).to_pylist() == [page.values[place] for place in places])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(200)))


def test_other_files_are_not_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "file"
    _, column = scattered_page(path)
    rows = some_rows(5, 100_000, 250_000)
    link = tmp_path / "link"
    link.symlink_to(path)
    for other in (str(link), str(tmp_path), str(tmp_path / "none"), f"{path}\0"):
        assert kernels.read_scattered(other, [(column, rows)]) == (None, None)
    path.write_bytes(path.read_bytes()[:1_000_000])
    assert kernels.read_scattered(str(path), [(column, rows)]) == (None, None)
    assert scattered(path, (column, some_rows(5, 100_000))) != [None]


def test_pages_that_claim_the_same_bytes_are_not_all_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    page = number_page("<i8", FLAT, [1024] * 256, 1, None)
    path.write_bytes(page.data)
    num_pages = 400
    column = kernels.ColumnReader(np.arange(num_pages + 1) * 256 * 1024)
    for number in range(num_pages):
        column.open(number, page.reader, 0, len(page.data))
    places = np.concatenate([np.arange(0, 256 * 1024, 10_000) + number * 256 * 1024 for number in range(num_pages)])
    rows = np.stack((places, places + 1), axis=1)
    # 400 pages of 26 chunks of 8 KiB are 85 MB, of a file of 2
    assert kernels.read_scattered(str(path), [(column, rows)]) == (None, None)
    few = rows[: 26 * 100]
    (parts,) = scattered(path, (column, few))
    found = kernels.read_rows([], [(column, few, parts)], None)
    assert imported(found, page.type).to_pylist() == [page.values[place % (256 * 1024)] for place in places[: len(few)]]
    # and what was not read is not given
    with pytest.raises(TypeError):
        kernels.read_rows([], [(column, rows, None)], None)  # type: ignore[list-item]  # wrong on purpose


def test_a_page_that_is_shorter_than_its_chunks_is_damage_of_its_column(tmp_path: Path) -> None:
    path = tmp_path / "file"
    page, column = scattered_page(path)
    cut = kernels.ColumnReader(np.array([0, 256 * 1024]))
    cut.open(0, page.reader, 100, 1_000_000)
    rows = some_rows(5, 250_000)
    found, failure = kernels.read_scattered(str(path), [(column, rows), (cut, rows)])
    assert found is None
    assert failure is not None
    assert failure[0] == 1
    assert "a page of 999900 bytes" in failure[1]


def test_buffers_that_are_let_go_of_serve_the_next_array() -> None:
    page = number_page("<i8", FLAT, [1024] * 64, 1, None)
    rows = np.array([[0, 64 * 1024]])
    column = kernels.ColumnReader(np.array([0, 64 * 1024]))
    column.open(0, page.reader, 0, len(page.data))

    def read() -> pa.Array:
        return imported(kernels.read_rows([], [(column, rows, [(0, page.data, 0)])], None), pa.int64())

    kernels.keep_buffers(1 << 30)
    try:
        kept, taken = kernels.kept_buffers()
        first = read()
        size = kernels.kept_buffers()[1] - taken
        assert size >= first.nbytes
        place = first.buffers()[1].address
        del first
        assert kernels.kept_buffers()[0] >= kept + size - min(kept, size)
        second = read()
        assert second.buffers()[1].address == place
        del second
    finally:
        kernels.keep_buffers(0)
    assert kernels.kept_buffers()[0] == 0


@pytest.mark.parametrize("has_lengths", [False, True])
def test_large_values_are_null_at_every_level(has_lengths: bool) -> None:
    levels = np.arange(60) % 4
    words = [b"" if level and has_lengths else b"word%04d" % i for i, level in enumerate(levels)]
    lengths = [len(word).to_bytes(4, "little") if has_lengths and word else b"" for word in words]
    entries = [bytes([level]) + length + word for level, length, word in zip(levels, lengths, words, strict=True)]
    starts = np.cumsum([0, *map(len, entries)]).astype(np.int64)

    def reader(num_levels: int) -> kernels.PageReader:
        # a layer of the value, and of structs around it
        layers = tuple(Layer.NULLABLE_ITEM if i < num_levels else Layer.ALL_VALID_ITEM for i in range(3))
        layout = FullZip(
            layers,
            Variable(32) if has_lengths else Flat(64),
            bits_rep=0,
            bits_def=2,
            bits_per_value=None if has_lengths else 64,
            bits_per_offset=32 if has_lengths else None,
            num_items=60,
            num_visible_items=60,
        )
        type = type_of((has_lengths, 32 if has_lengths else 64), outer=[(0, 1)] * 2)
        head = [starts.astype("<u8").tobytes()] if has_lengths else []
        return stored(layout, head, len(b"".join(entries)), 60, type)

    type = pa.binary() if has_lengths else pa.binary(8)
    rows = np.array([[0, 60]])
    column = kernels.ColumnReader(np.array([0, 60]))
    column.open(0, reader(3), 0, len(b"".join(entries)))
    found = imported(kernels.read_rows([], [(column, rows, [(0, b"".join(entries), 0)])], None), type)
    assert found.to_pylist() == masked(words, levels == 0)

    for num_levels, test in ((2, None), (2, True), (0, None)):
        column = kernels.ColumnReader(np.array([0, 60]))
        column.open(0, reader(num_levels), 0, len(b"".join(entries)))
        given = (column, rows, [(0, b"".join(entries), 0)])
        tests = []
        if test is not None:
            valid = kernels.ColumnTest(1)
            valid.set(0, kernels.PageTest.validity(test))
            tests = [(*given, valid)]
        _, _, failure = kernels.read_rows(tests, [given], np.ones(60, np.uint8) if tests else None)
        assert failure is not None
        assert failure[-1].endswith(f" of values with {num_levels} levels")


def test_bits_of_constants_belong_to_a_value() -> None:
    for value, validity, message in ((None, bytes(9), "without a value"), (bytes(4), bytes(8), "validity")):
        with pytest.raises(ValueError, match=message):
            kernels.PageReader.constant(65, format=(False, 32), value=value, validity=validity)
