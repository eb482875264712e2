import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from . import oracles
from .pages import Chunk, Output, Page, ValueCodec, build

widths = st.sampled_from([32, 64])

SYMBOLS = [b"the ", b"lance", b"a", b"e", b"sq", b"l", b"abcdefgh", b" ", b"t", b"in", b"ing "]


def offsets_of(values: list[bytes]) -> oracles.Ints:
    return np.cumsum([0, *(len(value) for value in values)])


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


def page_of(values: list[bytes]) -> Page:
    return build([Chunk(len(values), [oracles.variable_chunk(values, 32)])], large=True)


def read(page: Page, table: bytes) -> list[bytes]:
    reader = page.reader(ValueCodec.FSST, 32, (True, 32), symbol_table=table)
    values: list[bytes] = page.read(reader, page.all_items(), pa.binary()).to_pylist()
    return values


def test_values_longer_than_a_block_are_decoded() -> None:
    values = [b"lance sql " * 3000, b"", b"\xff" * 5000, b"a"]
    stored = [oracles.fsst_encode(value, SYMBOLS) for value in values]
    assert read(page_of(stored), oracles.symbol_table(SYMBOLS)) == values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([b"\0\1", b"\0\xff"], "ends inside of an escape"),
        ([b"\0\xff", b"\1\0"], "begins inside of an escape"),
        ([b"\0" * 20 + b"\x0b", b"\0"], "a code without a symbol"),
    ],
)
def test_damaged_codes_are_refused(values: list[bytes], message: str) -> None:
    with pytest.raises(ValueError, match=f"chunk 0: .*{message}"):
        read(page_of(values), oracles.symbol_table(SYMBOLS))


def test_damaged_symbol_tables_are_refused() -> None:
    page = page_of([b"\0"])
    good = oracles.symbol_table(SYMBOLS)
    lengths = 8 + 8 * len(SYMBOLS)
    for table, message in [
        (good[:-1], "2311 bytes, expected 2312"),
        (bytes(2312), "magic"),
        (good[:lengths] + b"\0" + good[lengths + 1 :], "symbol 0 has a length of 0"),
        (good[:lengths] + b"\x09" + good[lengths + 1 :], "symbol 0 has a length of 9"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(page, table)
