"""Tests of pages without levels: the answers of plain Python, and what does not fit refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

Made: TypeAlias = "tuple[kernels.PageReader, bytes]"
"""A page, and its bytes."""

NUM_ROWS = 2500
ROWS = np.array([[3, 4], [10, 1500], [1501, 1502], [1600, NUM_ROWS]], np.int64)
CHOSEN = np.concatenate([np.arange(start, end) for start, end in ROWS.tolist()])
VALID = np.arange(NUM_ROWS) % 7 > 0
BITMAP = np.packbits(VALID, bitorder="little").tobytes()


def values_page(values: bytes, bits: int, *, has_nulls: bool) -> Made:
    validity = (len(values), len(BITMAP)) if has_nulls else None
    data = values + BITMAP
    page = kernels.PageReader.array_values(
        NUM_ROWS, size=len(data), values=(0, len(values)), validity=validity, format=(False, bits)
    )
    return page, data


def strings_page(texts: Sequence[bytes | None]) -> Made:
    content = b"".join(text or b"" for text in texts)
    adjustment = len(content) + 1
    ends = np.cumsum([len(text or b"") for text in texts]).astype("<u8")
    stored = ends + np.array([adjustment if text is None else 0 for text in texts], "<u8")
    return stored_strings(stored.tobytes(), content, adjustment)


def stored_strings(ends: bytes, content: bytes, adjustment: int) -> Made:
    page = kernels.PageReader.array_strings(
        len(ends) // 8,
        size=len(ends) + len(content),
        ends=(0, len(ends)),
        bytes=(len(ends), len(content)),
        null_adjustment=adjustment,
        format=(True, 32),
    )
    return page, ends + content


def keys_page(keys: np.ndarray, *, first_is_null: bool, num_items: int = 4) -> Made:
    data = keys.tobytes()
    page = kernels.PageReader.array_keys(
        len(keys),
        size=len(data),
        keys=(0, len(data)),
        key_bits=keys.itemsize * 8,
        num_items=num_items,
        offset_bits=32,
        offsets=np.arange(num_items + 1, dtype="<i4"),
        data=bytes(num_items),
        first_is_null=first_is_null,
        format=(True, 32),
    )
    return page, data


def column_of(page: kernels.PageReader, data: bytes) -> kernels.ColumnReader:
    column = kernels.ColumnReader(np.array([0, NUM_ROWS]))
    column.open(0, page, 0, len(data))
    return column


def passing(page: Made, test: kernels.PageTest) -> list[int]:
    """The numbers of the rows that pass; every fifth has failed before."""
    reader, data = page
    tests = kernels.ColumnTest(1)
    tests.set(0, test)
    flags = (CHOSEN % 5 > 0).astype(np.uint8)
    _, _, failure = kernels.read_rows([(column_of(reader, data), ROWS, [(0, data, 0)], tests)], [], flags)
    if failure is not None:
        assert failure[:3] == (True, 0, 0)
        raise ValueError(failure[3])
    found: list[int] = CHOSEN[flags == 1].tolist()
    return found


def expected(matches: Callable[[int], bool]) -> list[int]:
    return [row for row in CHOSEN.tolist() if row % 5 and matches(row)]


def signed(value: int, bits: int) -> bytes:
    return (value + (1 << (bits - 1))).to_bytes(16, "little")


@pytest.mark.parametrize("has_nulls", [False, True])
@pytest.mark.parametrize("bits", [8, 16, 32, 64, 128])
def test_values_in_a_range_pass(bits: int, has_nulls: bool) -> None:
    numbers = [(row * 37) % 100 - 50 for row in range(NUM_ROWS)]
    page = values_page(
        b"".join(n.to_bytes(bits // 8, "little", signed=True) for n in numbers), bits, has_nulls=has_nulls
    )
    test = kernels.PageTest.range(kernels.ValueOrder.SIGNED, signed(-20, bits), signed(7, bits), True)
    assert passing(page, test) == expected(lambda row: -20 <= numbers[row] <= 7 and (VALID[row] or not has_nulls))


@pytest.mark.parametrize("has_nulls", [False, True])
@pytest.mark.parametrize("wanted", [(0, 1), (1, 0), (0, 0), (1, 1)])
def test_bits_have_two_answers(wanted: tuple[int, int], has_nulls: bool) -> None:
    bits = np.arange(NUM_ROWS) % 3 == 0
    page = values_page(np.packbits(bits, bitorder="little").tobytes(), 1, has_nulls=has_nulls)
    test = kernels.PageTest.items(np.array(wanted, np.uint8))
    assert passing(page, test) == expected(lambda row: bool(wanted[int(bits[row])]) and (VALID[row] or not has_nulls))


@pytest.mark.parametrize("is_valid", [False, True])
def test_rows_are_null_or_not(is_valid: bool) -> None:
    test = kernels.PageTest.validity(is_valid)
    numbers = bytes(NUM_ROWS)
    assert passing(values_page(numbers, 8, has_nulls=True), test) == expected(lambda row: VALID[row] == is_valid)
    assert passing(values_page(numbers, 8, has_nulls=False), test) == expected(lambda _: is_valid)
    texts = strings_page([b"x" * (row % 4) if VALID[row] else None for row in range(NUM_ROWS)])
    assert passing(texts, test) == expected(lambda row: VALID[row] == is_valid)
    keys = np.arange(NUM_ROWS, dtype="<u2") % 4
    assert passing(keys_page(keys, first_is_null=True), test) == expected(lambda row: (row % 4 > 0) == is_valid)
    assert passing(keys_page(keys, first_is_null=False), test) == expected(lambda _: is_valid)


@given(
    st.lists(
        st.none() | st.binary(max_size=3) | st.sampled_from([b"a" * 40, b"a" * 40 + b"b"]), min_size=1, max_size=9
    ),
    st.binary(max_size=2) | st.just(b"a" * 40),
    st.none() | st.binary(min_size=1, max_size=2).map(lambda end: b"\xff" + end),
    st.booleans(),
)
def test_texts_pass_by_the_order_of_their_bytes(
    words: list[bytes | None], low: bytes, end: bytes | None, inside: bool
) -> None:
    texts = [words[row % len(words)] for row in range(NUM_ROWS)]

    def matches(row: int) -> bool:
        text = texts[row]
        return text is not None and (low <= text and (end is None or text < end)) == inside

    assert passing(strings_page(texts), kernels.PageTest.strings(low, end, inside)) == expected(matches)


@pytest.mark.parametrize("num_items", [4, 300])
@pytest.mark.parametrize("kind", ["<u1", "<u2", "<u4"])
def test_keys_take_the_answers_of_their_items(kind: str, num_items: int) -> None:
    keys = (np.arange(NUM_ROWS) * 7 % min(num_items, 250)).astype(kind)
    answers = (np.arange(num_items) % 3 < 2).astype(np.uint8)
    with_null = keys_page(keys, first_is_null=True, num_items=num_items)
    without = keys_page(keys, first_is_null=False, num_items=num_items)
    test = kernels.PageTest.items(answers)
    assert passing(with_null, test) == expected(lambda row: bool(answers[keys[row]]) and keys[row] > 0)
    assert passing(without, test) == expected(lambda row: bool(answers[keys[row]]))


RANGE = kernels.PageTest.range(kernels.ValueOrder.UNSIGNED, bytes(16), bytes(16), True)
STRINGS = kernels.PageTest.strings(b"a", None, True)
ITEMS = kernels.PageTest.items(np.ones(3, np.uint8))
WORDS = [b"ab"] * NUM_ROWS
DESCENDING = np.arange(NUM_ROWS, 0, -1).astype("<u8").tobytes()
TOO_LARGE = np.full(NUM_ROWS, 4, "<u1")
BEHIND = np.full(NUM_ROWS, 9, "<u8").tobytes()


@pytest.mark.parametrize(
    ("page", "test", "message"),
    [
        (values_page(bytes(NUM_ROWS), 1, has_nulls=False), RANGE, "no range"),
        (values_page(bytes(NUM_ROWS), 1, has_nulls=False), ITEMS, "3 answers for bits"),
        (values_page(bytes(NUM_ROWS), 8, has_nulls=False), ITEMS, "3 answers for bits"),
        (values_page(bytes(3 * NUM_ROWS), 24, has_nulls=False), RANGE, "24 bits"),
        (values_page(bytes(NUM_ROWS), 8, has_nulls=False), STRINGS, "tested for strings"),
        (strings_page(WORDS), RANGE, "tested for numbers"),
        (strings_page(WORDS), ITEMS, "without a dictionary"),
        (keys_page(np.zeros(NUM_ROWS, "<u1"), first_is_null=False), STRINGS, "one by one"),
        (keys_page(np.zeros(NUM_ROWS, "<u1"), first_is_null=False), ITEMS, "3 answers for 4 items"),
        (keys_page(TOO_LARGE, first_is_null=False), kernels.PageTest.items(np.ones(4, np.uint8)), "4"),
        (stored_strings(BEHIND, b"ab", 100), STRINGS, "ends at 9 of 2"),
        (stored_strings(DESCENDING, bytes(NUM_ROWS), 10**6), STRINGS, "before it begins"),
    ],
)  # fmt: skip
def test_mismatched_input_is_refused(page: Made, test: kernels.PageTest, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        passing(page, test)
