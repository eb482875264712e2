"""Values of one width: flat, bit-packed, runs, split bytes."""

from __future__ import annotations

import gc
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import ByteStreamSplit, Encoding, Flat, InlineBitpacking, OutOfLineBitpacking, Rle
from tests.kernels import oracles

from .contexts import Array, block, fixed_values, mini_block

RANGES = [(0, 3), (60, 70), (127, 128), (130, 150)]
UNSIGNED = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}


def values_of(bits: int, count: int = 150) -> Array:
    values: Array = (np.arange(count) * 7 % min(2**bits, 1000)).astype(f"<u{bits // 8}")
    return values


def in_chunks(values: Array) -> list[Array]:
    return np.split(values, [64, 128])


def taken(values: Array) -> list[int]:
    return [int(value) for start, end in RANGES for value in values[start:end]]


def split_bytes(values: Array) -> bytes:
    return np.ascontiguousarray(values.view(np.uint8).reshape(len(values), -1).T).tobytes()


@pytest.mark.parametrize(
    ("name", "bits"),
    [*product(("flat", "bit-packed", "runs"), (8, 16, 32, 64)), *product(("split",), (16, 32, 64))],
)
def test_ranges_of_mini_blocks_are_slices_of_all_items(name: str, bits: int) -> None:
    values = values_of(bits)
    if name == "runs":
        values = np.repeat(values[:10], 15)
    encoding: Encoding
    match name:
        case "flat":
            encoding, chunks = Flat(bits), [(len(v), [v.tobytes()]) for v in in_chunks(values)]
        case "bit-packed":
            width = int(values.max()).bit_length()
            encoding = InlineBitpacking(bits)
            chunks = [(len(v), [oracles.inline_group(v, width)]) for v in in_chunks(values)]
        case "runs":
            encoding = Rle(Flat(bits), Flat(8))
            chunks = [(len(v), [part.tobytes() for part in oracles.runs_of(v)]) for v in in_chunks(values)]
        case _:
            encoding, chunks = ByteStreamSplit(Flat(bits)), [(len(v), [split_bytes(v)]) for v in in_chunks(values)]
    assert mini_block(encoding, chunks, UNSIGNED[bits]).to_pylist() == values.tolist()
    assert mini_block(encoding, chunks, UNSIGNED[bits], RANGES).to_pylist() == taken(values)


def test_booleans_stay_bits() -> None:
    flags = np.arange(150) % 3 == 0
    chunks = [(len(part), [oracles.bitmap(part)]) for part in in_chunks(flags)]
    assert mini_block(Flat(1), chunks, pa.bool_()).to_pylist() == flags.tolist()
    assert mini_block(Flat(1), chunks, pa.bool_(), RANGES).to_pylist() == [bool(v) for v in taken(flags)]


@pytest.mark.parametrize(
    "type", [pa.binary(5), pa.decimal128(10, 2), pa.decimal256(10, 2), pa.float16(), pa.time64("ns")]
)
def test_values_of_any_whole_number_of_bytes_are_flat(type: pa.DataType) -> None:
    width = type.bit_width // 8
    data = b"".join(n.to_bytes(width, "little") for n in range(4))
    made = pa.Array.from_buffers(type, 4, [None, pa.py_buffer(data)])
    assert mini_block(Flat(8 * width), [(4, [data])], type).equals(made)
    assert block(Flat(8 * width), data, 4, type).equals(made)
    assert fixed_values(Flat(8 * width), data, 4, type).equals(made)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_blocks_are_decoded_whole(bits: int) -> None:
    values = values_of(bits, 2000) if bits > 8 else values_of(bits, 2000) % 16
    width = int(values.max()).bit_length()
    type, expected = UNSIGNED[bits], values.tolist()
    assert block(Flat(bits), values.tobytes(), 2000, type).to_pylist() == expected
    assert block(Rle(Flat(bits), Flat(8)), oracles.run_block(values), 2000, type).to_pylist() == expected
    for raw_tail in (False, True):
        packed = oracles.pack_groups(values, width, raw_tail=raw_tail)
        assert block(OutOfLineBitpacking(bits, width), packed, 2000, type).to_pylist() == expected
    group = oracles.inline_group(values[:1000], width)
    assert block(InlineBitpacking(bits), group, 1000, type).to_pylist() == expected[:1000]


def test_zero_bits_are_zeros_and_take_no_bytes() -> None:
    assert block(OutOfLineBitpacking(16, 0), b"", 3000, pa.uint16()).to_pylist() == [0] * 3000
    chunks = [
        (1024, [oracles.inline_group(np.zeros(1024, "<u4"), 0)]),
        (5, [oracles.inline_group(np.zeros(5, "<u4"), 0)]),
    ]
    assert mini_block(InlineBitpacking(32), chunks, pa.int32(), [(1020, 1029)]).to_pylist() == [0] * 9


def test_booleans_of_a_full_zip_page_take_a_byte_each() -> None:
    for bits in (1, 8):
        assert fixed_values(Flat(bits), b"\1\0\1", 3, pa.bool_()).to_pylist() == [True, False, True]


def test_a_full_zip_page_has_exactly_the_bytes_of_its_values() -> None:
    for num_bytes in (6, 10, 16):
        with pytest.raises(CorruptFile, match=f"values of 4 bytes in entries of {num_bytes // 2}"):
            fixed_values(Flat(32), bytes(num_bytes), 2, pa.int32())


@pytest.mark.parametrize(
    ("encoding", "type"),
    [(Flat(2**29), pa.binary(2**26)), (ByteStreamSplit(Flat(128)), pa.decimal128(38))],
)
def test_widths_beyond_the_bytes_of_the_chunks_allocate_nothing(encoding: Encoding, type: pa.DataType) -> None:
    # what tests before this one have left
    gc.collect()
    before = pa.total_allocated_bytes()
    with pytest.raises(CorruptFile, match=r"values of .* bits in chunks of"):
        mini_block(encoding, [(64, [bytes(64)]), (64, [bytes(64)])], type)
    assert pa.total_allocated_bytes() == before


@pytest.mark.parametrize(
    ("encoding", "data", "count"),
    [
        (Flat(32), bytes(11), 3),
        (InlineBitpacking(16), bytes(2), 1025),
        (InlineBitpacking(16), b"\3\0" + bytes(100), 10),
        (InlineBitpacking(16), b"\x11\0" + bytes(128 * 17), 10),
        (OutOfLineBitpacking(16, 3), bytes(384), 1025),
        (OutOfLineBitpacking(16, 0), b"", 2**40),
        (Rle(Flat(16), Flat(8)), bytes(8), 2**40),
        (Rle(Flat(16), Flat(8)), oracles.run_block(np.zeros(10, "<u2")), 11),
        (Rle(Flat(16), Flat(8)), (2**60).to_bytes(8, "little") + bytes(40), 20),
    ],
)
def test_blocks_with_too_few_bytes_are_refused(encoding: Encoding, data: bytes, count: int) -> None:
    with pytest.raises((CorruptFile, ValueError)):
        block(encoding, data, count, pa.uint16())


@pytest.mark.parametrize(
    "encoding", [Rle(Flat(12), Flat(8)), Rle(Flat(32), Flat(16)), Rle(Rle(Flat(8), Flat(8)), Flat(8))]
)
def test_runs_of_another_form_are_not_supported(encoding: Rle) -> None:
    with pytest.raises(UnsupportedFeature, match=r"run (values|lengths) encoded as"):
        block(encoding, bytes(100), 5, pa.uint8())


def test_encodings_outside_of_their_context_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeature, match="OutOfLineBitpacking is not supported in a mini-block page"):
        mini_block(OutOfLineBitpacking(16, 3), [(2, [bytes(8)])], pa.uint16())
    with pytest.raises(UnsupportedFeature, match="ByteStreamSplit is not supported in a block"):
        block(ByteStreamSplit(Flat(32)), bytes(8), 2, pa.int32())
    with pytest.raises(UnsupportedFeature, match="Rle is not supported in a full-zip page of fixed width"):
        fixed_values(Rle(Flat(8), Flat(8)), bytes(8), 2, pa.int32())


@pytest.mark.parametrize("type", [pa.int64(), pa.string(), pa.bool_(), pa.struct([("a", pa.int32())]), pa.binary(3)])
def test_a_type_of_another_width_is_refused(type: pa.DataType) -> None:
    with pytest.raises(CorruptFile, match="values of 32 bits cannot be"):
        block(Flat(32), bytes(8), 2, type)
