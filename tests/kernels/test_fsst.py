import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from . import oracles
from .pages import Chunk, Output, build, chunk_sizes, ranges_of
from .test_variable import offsets_of, page_of, widths

SYMBOLS = [b"the ", b"lance", b"a", b"e", b"sq", b"l", b"abcdefgh", b" ", b"t", b"in", b"ing "]


def texts(seed: int, count: int, *, escapes: bool) -> list[bytes]:
    rng = random.Random(seed)
    pieces = [*SYMBOLS, *([b"\xff", b"zz", b"\0"] if escapes else [])]
    return [b"".join(rng.choices(pieces, k=rng.choice([0, 1, 3, 12, 60]))) for _ in range(count)]


def decode_all(page_kernel: object, num_rows: int, out_bits: int, room: int) -> tuple[oracles.Array, bytes]:
    """Calls with growing outputs until all rows are done."""
    width = out_bits // 8
    offsets = Output((num_rows + 1) * width)
    done, data = 0, b""
    while True:
        out = Output(len(data) + room)
        out.buffer[: len(data)] = data
        rows, num_bytes = page_kernel(done, offsets.buffer, out_bits, out.buffer)  # type: ignore[operator]  # not None here
        data = out.array()[:num_bytes].tobytes()
        if rows == num_rows:
            return offsets.array(f"<i{width}"), data
        room = room * 2 if rows == done else room
        done = rows


@given(st.data(), chunk_sizes(5, 40), widths, widths, st.booleans(), st.booleans(), st.sampled_from([1, 500, 10**6]))
def test_values_of_ranges_are_decoded_in_as_many_calls_as_there_is_room(
    data: st.DataObject,
    sizes: list[int],
    offset_bits: int,
    out_bits: int,
    escapes: bool,
    in_use: bool,
    room: int,
) -> None:
    values = texts(data.draw(st.integers(0, 1000)), sum(sizes), escapes=escapes)
    stored = [oracles.fsst_encode(value, SYMBOLS) for value in values] if in_use else values
    page = page_of(stored, sizes, offset_bits, large=True)
    ranges = data.draw(ranges_of(page.num_items))
    expected = [value for start, end in ranges.reshape(-1, 2) for value in values[start:end]]
    table = oracles.symbol_table(SYMBOLS, in_use=in_use)
    chunks = page.chunks()
    offsets, decoded = decode_all(
        lambda start, *out: kernels.fsst(chunks, ranges, offset_bits, table, start, *out),
        len(expected),
        out_bits,
        room,
    )
    assert decoded == b"".join(expected)
    assert offsets.tolist() == offsets_of(expected).tolist()


@given(st.integers(0, 1000), widths, widths, st.booleans(), st.sampled_from([1, 500, 10**6]))
def test_plain_arrays_of_values_are_decoded(
    seed: int, offset_bits: int, out_bits: int, in_use: bool, room: int
) -> None:
    values = texts(seed, 40, escapes=True)
    stored = [oracles.fsst_encode(value, SYMBOLS) for value in values] if in_use else values
    offsets_in = offsets_of(stored).astype(f"<u{offset_bits // 8}")
    data_in, table = b"".join(stored), oracles.symbol_table(SYMBOLS, in_use=in_use)
    offsets, decoded = decode_all(
        lambda start, *out: kernels.fsst_values(offsets_in, offset_bits, len(values), data_in, table, start, *out),
        len(values),
        out_bits,
        room,
    )
    assert decoded == b"".join(values)
    assert offsets.tolist() == offsets_of(values).tolist()


def test_values_longer_than_a_block_are_decoded() -> None:
    values = [b"lance sql " * 3000, b"", b"\xff" * 5000, b"a"]
    stored = [oracles.fsst_encode(value, SYMBOLS) for value in values]
    page = page_of(stored, [4], 32, large=True)
    out, offsets = bytearray(8 * sum(map(len, stored)) + 8), np.zeros(5, np.int32)
    table = oracles.symbol_table(SYMBOLS)
    rows, num_bytes = kernels.fsst(page.chunks(), page.all_items(), 32, table, 0, offsets, 32, out)
    assert rows == 4
    assert out[:num_bytes] == b"".join(values)
    assert offsets.tolist() == offsets_of(values).tolist()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([b"\0\1", b"\0\xff"], "ends inside of an escape"),
        ([b"\0\xff", b"\1\0"], "begins inside of an escape"),
        ([b"\0" * 20 + b"\x0b", b"\0"], "a code without a symbol"),
    ],
)
def test_damaged_codes_are_refused(values: list[bytes], message: str) -> None:
    page = page_of(values, [2], 32, large=True)
    table = oracles.symbol_table(SYMBOLS)
    with pytest.raises(ValueError, match=f"chunk 0: .*{message}"):
        kernels.fsst(page.chunks(), page.all_items(), 32, table, 0, bytearray(12), 32, bytearray(1000))


def test_damaged_symbol_tables_are_refused() -> None:
    page = build([Chunk(1, [oracles.variable_chunk([b"\0"], 32)])], large=True)
    good = oracles.symbol_table(SYMBOLS)
    lengths = 8 + 8 * len(SYMBOLS)
    for table, message in [
        (good[:-1], "needs 2312 bytes"),
        (bytes(2312), "magic"),
        (good[:lengths] + b"\0" + good[lengths + 1 :], "symbol 0 has a length of 0"),
        (good[:lengths] + b"\x09" + good[lengths + 1 :], "symbol 0 has a length of 9"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernels.fsst(page.chunks(), page.all_items(), 32, table, 0, bytearray(8), 32, bytearray(100))
