"""The kernels that test encoded values, against NumPy on the values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from . import oracles
from .pages import Chunk, LevelCodec, Page, ValueCodec, build, random_values, ranges_of, seeds, split

UNSIGNED, SIGNED, FLOAT = list(kernels.ValueOrder)
FLAT, PACKED, SPLIT, RUNS, TEXTS = list(ValueCodec)[:5]
FLAT_LEVELS = (LevelCodec.FLAT16, 16)


def encoded(part: np.ndarray, codec: ValueCodec) -> list[bytes]:
    """The value buffers of a chunk of unsigned values."""
    if codec == PACKED:
        return [oracles.inline_group(part, 8 * part.dtype.itemsize)]
    if codec == SPLIT:
        return [np.ascontiguousarray(part.view(np.uint8).reshape(len(part), -1).T).tobytes()]
    return [part.tobytes()] if codec == FLAT else [run.tobytes() for run in oracles.runs_of(part)]


def page_of(values: np.ndarray, valid: np.ndarray | None, codec: ValueCodec, sizes: list[int]) -> Page:
    unsigned = values.view(f"<u{values.dtype.itemsize}")
    chunks = []
    levels = split(valid, sizes) if valid is not None else [None] * len(sizes)
    for part, here in zip(split(unsigned, sizes), levels, strict=True):
        def_ = None if here is None else (~here).astype("<u2").tobytes()
        chunks.append(Chunk(len(part), encoded(part, codec), None, def_, len(part) if here is not None else 0))
    return build(chunks, large=True)


def match(
    page: Page,
    ranges: np.ndarray,
    test: kernels.PageTest,
    flags: np.ndarray,
    *,
    codec: ValueCodec,
    bits: int,
    num_answers: int | None = None,
) -> None:
    """Clears the flags of rows that do not pass, as the reader of a page does it.

    num_answers: items of the page's dictionary, of which values are indices
    raises: ValueError for damage
    """
    items = None if num_answers is None else (num_answers, 32, None, bytes(4 * num_answers))
    reader = page.reader(
        codec,
        bits,
        (False, bits if items is None else 32),
        definition=FLAT_LEVELS if page.has_def else None,
        items=items,
    )
    column, tests = kernels.ColumnReader(np.array([0, page.num_items])), kernels.ColumnTest(1)
    column.open(0, reader, 0, len(page.data))
    tests.set(0, test)
    if len(flags) == 0:
        return
    failure = kernels.read_rows([(column, ranges, [(0, page.data, 0)], tests)], [], flags)[2]
    if failure is not None:
        raise ValueError(failure[3])


def key(number: int) -> bytes:
    return int(number).to_bytes(16, "little")


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray | None, list[int]]:
    """Values of few different numbers, which of them are valid, and the sizes of their chunks."""
    dtype = draw(st.sampled_from(["<u1", "<i2", "<u4", "<i4", "<f4", "<i8", "<u8", "<f8"]))
    sizes = [1024] * draw(st.integers(0, 2)) + [draw(st.integers(1, 1024))]
    values = (random_values(draw(seeds), sum(sizes), np.uint8) % 11).astype(dtype)
    if dtype.startswith("<f"):
        values = (values - 5) / 2
        values[::7] = np.nan
        values[::5] = -0.0
        values[::31] = -np.inf
        values = values.astype(dtype)
    elif dtype.startswith("<i"):
        values = values - np.dtype(dtype).type(5)
    valid = None
    if draw(st.booleans()):
        valid = random_values(draw(seeds), sum(sizes), np.uint8) % 3 > 0
    return values, valid, sizes


def keys_of(values: np.ndarray) -> np.ndarray:
    """Unsigned numbers in the order of the values, NaN last."""
    bits = 8 * values.dtype.itemsize
    if values.dtype.kind == "u":
        return values.astype(object)
    if values.dtype.kind == "i":
        return values.astype(object) + (1 << (bits - 1))
    # of random bits some are signalling NaN
    with np.errstate(invalid="ignore"):
        positive_zeros = values + 0.0
    raw = positive_zeros.view(f"<u{bits // 8}").astype(object)
    top, ones = 1 << (bits - 1), (1 << bits) - 1
    found = [ones - number if number & top else number | top for number in raw]
    return np.array([ones if np.isnan(value) else k for value, k in zip(values, found, strict=True)], object)


@given(st.data(), cases(), st.booleans())
def test_ranges_match_as_numpy_compares(
    data: st.DataObject, case: tuple[np.ndarray, np.ndarray | None, list[int]], inside: bool
) -> None:
    values, valid, sizes = case
    bits = 8 * values.dtype.itemsize
    order = {"u": UNSIGNED, "i": SIGNED, "f": FLOAT}[values.dtype.kind]
    codec = data.draw(st.sampled_from([FLAT, PACKED, RUNS] + [SPLIT] * (bits > 8)))
    page = page_of(values, valid, codec, sizes)
    ranges = data.draw(ranges_of(page.num_items))
    all_keys = keys_of(values)
    low, high = sorted([all_keys[data.draw(st.integers(0, len(values) - 1))] for _ in range(2)])
    matches = ((all_keys >= low) & (all_keys <= high)) == inside
    matches = matches.astype(bool) & (valid if valid is not None else True)
    before = random_values(data.draw(seeds), len(values), np.uint8) % 2
    expected = oracles.take(matches & before.astype(bool), ranges)
    flags = oracles.take(before, ranges).copy()
    match(page, ranges, kernels.PageTest.range(order, key(low), key(high), inside), flags, codec=codec, bits=bits)
    assert (flags == expected).all()


@given(
    st.data(), st.sampled_from(["<u1", "<i2", "<u2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8"]), seeds, st.booleans()
)
def test_packed_values_match_as_numpy_compares(data: st.DataObject, dtype: str, seed: int, inside: bool) -> None:
    """For every number of bits, and with keys other than those of values."""
    bits = 8 * np.dtype(dtype).itemsize
    num_bits = data.draw(st.integers(0, bits))
    most = (1 << num_bits) - 1
    num_values = 1024 + data.draw(st.sampled_from([1024, 700]))
    raw = random_values(seed, num_values, np.uint64) & np.uint64(most)
    infinity = {"<f4": 0x7F800000, "<f8": 0x7FF0000000000000}.get(dtype, most)
    special = np.array([number & most for number in (0, most, most // 2, infinity, infinity + 1)], np.uint64)
    places = random_values(seed + 1, num_values, np.uint8)
    raw = np.where(places < 5, special[places % 5], raw)
    values = raw.astype(f"<u{bits // 8}").view(dtype)
    unsigned = [part.view(f"<u{bits // 8}") for part in split(values, [1024, num_values - 1024])]
    page = build([Chunk(len(part), [oracles.inline_group(part, num_bits)]) for part in unsigned], large=True)
    all_keys = keys_of(values)
    beside = [0, 1 << (bits - 1), (1 << bits) - 1]
    ends = [
        data.draw(
            st.sampled_from(
                [*beside, *(all_keys[place] + step for place in (0, 1, num_values - 1) for step in (-1, 0, 1))]
            )
        )
        for _ in range(2)
    ]
    low, high = sorted(min(max(int(end), 0), (1 << bits) - 1) for end in ends)
    order = {"u": UNSIGNED, "i": SIGNED, "f": FLOAT}[values.dtype.kind]
    ranges = data.draw(st.just(np.array([[0, num_values]])) | ranges_of(num_values))
    before = random_values(data.draw(seeds), num_values, np.uint8) % 4 > 0
    flags = oracles.take(before, ranges).astype(np.uint8)
    match(page, ranges, kernels.PageTest.range(order, key(low), key(high), inside), flags, codec=PACKED, bits=bits)
    matches = ((all_keys >= low) & (all_keys <= high)).astype(bool) == inside
    assert (flags == oracles.take(matches & before, ranges)).all()


@given(st.data(), seeds, st.integers(-3, 3), st.integers(-3, 3))
def test_decimals_match_as_numbers(data: st.DataObject, seed: int, one: int, other: int) -> None:
    numbers = (random_values(seed, 500, np.uint8) % 7).astype(object) - 3
    numbers[::2] = [int(number) << 70 for number in numbers[::2]]
    content = b"".join(int(number).to_bytes(16, "little", signed=True) for number in numbers)
    page = build([Chunk(256, [content[: 256 * 16]]), Chunk(244, [content[256 * 16 :]])], large=True)
    low, high = min(one, other) << 70, max(one, other)
    low, high = min(low, high), max(low, high)
    ranges = data.draw(ranges_of(500))
    flags = np.ones(len(oracles.take(np.arange(500), ranges)), np.uint8)
    test = kernels.PageTest.range(SIGNED, key(low + (1 << 127)), key(high + (1 << 127)), True)
    match(page, ranges, test, flags, codec=FLAT, bits=128)
    expected = np.array([low <= number <= high for number in numbers])
    assert (flags == oracles.take(expected, ranges)).all()


@given(st.data(), cases())
def test_items_match_by_their_answers(
    data: st.DataObject, case: tuple[np.ndarray, np.ndarray | None, list[int]]
) -> None:
    values, valid, sizes = case
    indices = (np.abs(np.nan_to_num(values.astype(np.float64))) % 11).astype("<u4")
    codec = data.draw(st.sampled_from([FLAT, PACKED, RUNS]))
    page = page_of(indices, valid, codec, sizes)
    ranges = data.draw(ranges_of(page.num_items))
    answers = np.array(data.draw(st.lists(st.booleans(), min_size=11, max_size=11)), np.uint8)
    matches = answers[indices].astype(bool) & (valid if valid is not None else True)
    flags = np.ones(len(oracles.take(matches, ranges)), np.uint8)
    match(page, ranges, kernels.PageTest.items(answers), flags, codec=codec, bits=32, num_answers=11)
    assert (flags == oracles.take(matches, ranges)).all()


def test_an_index_without_an_answer_is_refused() -> None:
    page = page_of(np.array([0, 1, 2], "<u4"), None, FLAT, [3])
    test = kernels.PageTest.items(b"\1\1")
    with pytest.raises(ValueError, match="index 2 is not among 2 items"):
        match(page, page.all_items(), test, np.ones(3, np.uint8), codec=FLAT, bits=32, num_answers=2)


@given(st.data(), seeds, st.booleans())
def test_validity_matches_levels(data: st.DataObject, seed: int, is_valid: bool) -> None:
    valid = random_values(seed, 1500, np.uint8) % 3 > 0
    page = page_of(np.zeros(1500, "<u4"), valid, FLAT, [1024, 476])
    ranges = data.draw(ranges_of(1500))
    flags = np.ones(len(oracles.take(valid, ranges)), np.uint8)
    match(page, ranges, kernels.PageTest.validity(is_valid), flags, codec=FLAT, bits=32)
    assert (flags == (oracles.take(valid, ranges) == is_valid)).all()


@pytest.mark.parametrize(
    ("codec", "num_bits", "order", "low", "high", "message"),
    [
        (TEXTS, 32, UNSIGNED, 0, 1, "values encoded as variable cannot be"),
        (PACKED, 24, UNSIGNED, 0, 1, "24-bit words"),
        (FLAT, 24, UNSIGNED, 0, 1, "values that have no keys"),
        (FLAT, 32, UNSIGNED, 2, 1, "ends before it begins"),
        (FLAT, 32, UNSIGNED, 0, 1 << 32, "a key of more than 32 bits"),
        (FLAT, 8, FLOAT, 0, 1, "floats of 8 bits"),
        (FLAT, 128, UNSIGNED, 0, 1, "values of 128 bits are signed"),
    ],
)
def test_invalid_arguments_are_refused(
    codec: ValueCodec, num_bits: int, order: kernels.ValueOrder, low: int, high: int, message: str
) -> None:
    page = page_of(np.arange(64, dtype="<u4"), None, FLAT, [64])
    test = kernels.PageTest.range(order, key(low), key(high), True)
    with pytest.raises(ValueError, match=message):
        match(page, page.all_items(), test, np.ones(64, "u1"), codec=codec, bits=num_bits)
