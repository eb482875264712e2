"""Byte strings: offsets, symbols, dictionaries."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import Constant, Flat, Fsst, Variable
from tests.kernels import oracles

from .contexts import block, mini_block, variable_values

WORDS = [b"", b"lance", "größe".encode(), b"x" * 300, b"", b"end"] * 11
SYMBOLS = [b"http", b"://", b"ab", b"a", b".example"]
URLS = [b"http://ab.example", b"", b"zzz", b"http\xff", b"aab" * 50] * 13
RANGES = [(0, 2), (31, 33), (40, 41), (60, 65)]

TYPES = {32: pa.binary(), 64: pa.large_binary()}


def in_chunks(values: list[bytes], bits: int) -> list[tuple[int, list[bytes]]]:
    parts = [values[:32], values[32:64], values[64:]]
    return [(len(part), [oracles.variable_chunk(part, bits)]) for part in parts]


def taken(values: list[bytes]) -> list[bytes]:
    return [value for start, end in RANGES for value in values[start:end]]


def string_block(values: list[bytes], bits: int, *, early: bool = False) -> bytes:
    """The block form; releases before 2.1 was stable began with a byte and the number of values."""
    width = bits // 8
    word = "<I" if bits == 32 else "<Q"
    offsets = np.cumsum([0, *map(len, values)]).astype(f"<u{width}").tobytes()
    if early:
        header = bytes([bits]) + struct.pack(word, len(values)) + struct.pack(word, 1 + 2 * width + len(offsets))
    else:
        header = struct.pack(word, bits) + struct.pack(word, 2 * width + len(offsets))
    return header + offsets + b"".join(values)


@pytest.mark.parametrize("bits", [32, 64])
def test_ranges_of_mini_blocks_are_slices_of_all_strings(bits: int) -> None:
    chunks = in_chunks(WORDS, bits)
    assert mini_block(Variable(bits), chunks, TYPES[bits]).to_pylist() == WORDS
    assert mini_block(Variable(bits), chunks, TYPES[bits], RANGES).to_pylist() == taken(WORDS)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("type", [pa.string(), pa.binary(), pa.large_string(), pa.large_binary()])
def test_offsets_of_either_width_become_those_of_the_type(bits: int, type: pa.DataType) -> None:
    expected = pa.array(WORDS, pa.binary()).cast(type)
    assert mini_block(Variable(bits), in_chunks(WORDS, bits), type).equals(expected)
    assert block(Variable(bits), string_block(WORDS, bits), len(WORDS), type).equals(expected)
    assert variable_values(Variable(bits), WORDS, type, bits).equals(expected)


@pytest.mark.parametrize("bits", [32, 64])
def test_blocks_have_a_header_of_two_words(bits: int) -> None:
    assert block(Variable(bits), string_block(WORDS, bits), len(WORDS), TYPES[bits]).to_pylist() == WORDS
    assert block(Variable(bits), string_block([], bits), 0, TYPES[bits]).to_pylist() == []


@pytest.mark.parametrize("bits", [32, 64])
def test_blocks_of_early_releases_have_a_header_with_a_byte_in_front(bits: int) -> None:
    data = string_block(WORDS, bits, early=True)
    assert block(Variable(bits), data, len(WORDS), TYPES[bits]).to_pylist() == WORDS


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(7),
        struct.pack("<II", 64, 16) + bytes(8),
        struct.pack("<IIII", 32, 15, 0, 0),
        struct.pack("<IIII", 32, 17, 0, 0),
        struct.pack("<IIII", 32, 16, 0, 1),
        struct.pack("<IIII", 32, 16, 3, 0) + b"abc",
        struct.pack("<BIII", 64, 1, 13, 0),
        struct.pack("<BII", 32, 1, 2**31),
    ],
)
def test_damaged_blocks_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptFile):
        block(Variable(32), data, 1, pa.binary())


def test_offsets_may_begin_behind_the_start() -> None:
    data = struct.pack("<5I", 32, 20, 3, 3, 9) + b"---string"
    assert block(Variable(32), data, 2, pa.binary()).to_pylist() == [b"", b"string"]
    with pytest.raises(CorruptFile, match="descend or pass the end"):
        block(Variable(32), data[:-1], 2, pa.binary())


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("in_use", [True, False])
def test_symbols_are_put_in_for_their_codes(bits: int, in_use: bool) -> None:
    encoding = Fsst(oracles.symbol_table(SYMBOLS, in_use=in_use), Variable(bits))
    stored = [oracles.fsst_encode(url, SYMBOLS) if in_use else url for url in URLS]
    chunks = in_chunks(stored, bits)
    assert mini_block(encoding, chunks, TYPES[bits]).to_pylist() == URLS
    assert mini_block(encoding, chunks, TYPES[bits], RANGES).to_pylist() == taken(URLS)
    assert variable_values(encoding, stored, TYPES[bits]).to_pylist() == URLS


def test_symbols_grow_the_output_as_often_as_it_takes() -> None:
    symbols = [b"8 bytes!"]
    text = b"8 bytes!" * 40_000
    encoding = Fsst(oracles.symbol_table(symbols), Variable(32))
    stored = [bytes(40_000)] * 8
    assert variable_values(encoding, stored, pa.binary()).to_pylist() == [text] * 8
    chunks = [(4, [oracles.variable_chunk(stored[:4], 32)]), (4, [oracles.variable_chunk(stored[4:], 32)])]
    assert mini_block(encoding, chunks, pa.binary(), [(1, 7)]).to_pylist() == [text] * 6


def test_a_symbol_table_has_one_size_and_holds_strings() -> None:
    with pytest.raises(CorruptFile, match="a symbol table of 2311 bytes, expected 2312"):
        variable_values(Fsst(bytes(2311), Variable(32)), [b"x"], pa.binary())
    with pytest.raises(UnsupportedFeature, match="FSST over Flat"):
        variable_values(Fsst(bytes(2312), Flat(8)), [b"x"], pa.binary())


@pytest.mark.parametrize("stored", [b"\xff", b"\x05", b"\0\xff"])
def test_codes_without_a_meaning_are_refused(stored: bytes) -> None:
    with pytest.raises(CorruptFile, match=r"symbol|escape"):
        variable_values(Fsst(oracles.symbol_table(SYMBOLS), Variable(32)), [stored], pa.binary())


def test_strings_without_bytes_may_all_be_null() -> None:
    assert variable_values(Constant(None), [b""] * 3, pa.string()).to_pylist() == [None] * 3


def test_a_type_that_is_no_string_is_refused() -> None:
    with pytest.raises(CorruptFile, match="byte strings as another type: the column has int32"):
        variable_values(Variable(32), [b"abcd"], pa.int32())
