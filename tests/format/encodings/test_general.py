"""Buffers compressed as opaque bytes."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import general
from lance_sql.format.encodings.tree import Compression, Encoding, Flat, General, InlineBitpacking, Rle, Variable
from tests.kernels import oracles

from .contexts import block, lz4, mini_block, variable_values, zstd
from .test_strings import string_block

SCHEMES = [(Compression.LZ4, lz4), (Compression.ZSTD, zstd)]
VALUES = np.arange(150, dtype="<u4") % 40
RANGES = [(3, 5), (63, 66), (149, 150)]


@pytest.mark.parametrize(("scheme", "compress"), SCHEMES)
@pytest.mark.parametrize("inner", [Flat(32), InlineBitpacking(32), Rle(Flat(32), Flat(8))])
def test_only_the_first_buffer_of_a_chunk_is_compressed(scheme: Compression, compress, inner: Encoding) -> None:  # type: ignore[no-untyped-def]  # parameters of pytest
    chunks = []
    for part in np.split(VALUES, [64, 128]):
        match inner:
            case Flat():
                buffers = [part.tobytes()]
            case InlineBitpacking():
                buffers = [oracles.inline_group(part, 6)]
            case _:
                buffers = [buffer.tobytes() for buffer in oracles.runs_of(part)]
        chunks.append((len(part), [compress(buffers[0]), *buffers[1:]]))
    encoding = General(scheme, inner)
    assert mini_block(encoding, chunks, pa.uint32()).to_pylist() == VALUES.tolist()
    expected = [int(value) for start, end in RANGES for value in VALUES[start:end]]
    assert mini_block(encoding, chunks, pa.uint32(), RANGES).to_pylist() == expected


def test_chunks_that_hold_none_of_the_items_are_not_decompressed() -> None:
    parts = np.split(VALUES, [64, 128])
    chunks = [(len(part), [zstd(part.tobytes())]) for part in parts]
    chunks[1] = (64, [b"no compressed buffer"])
    encoding = General(Compression.ZSTD, Flat(32))
    assert mini_block(encoding, chunks, pa.uint32(), [(60, 64), (128, 130)]).to_pylist() == [20, 21, 22, 23, 8, 9]
    with pytest.raises(CorruptFile, match="chunk 1: a zstd buffer"):
        mini_block(encoding, chunks, pa.uint32(), [(60, 65)])


def test_compression_inside_of_compression_is_not_supported() -> None:
    encoding = General(Compression.ZSTD, General(Compression.LZ4, Flat(32)))
    with pytest.raises(UnsupportedFeature, match="General inside of General"):
        mini_block(encoding, [(1, [zstd(lz4(bytes(4)))])], pa.int32())


@pytest.mark.parametrize(("scheme", "compress"), SCHEMES)
def test_blocks_are_compressed_as_a_whole(scheme: Compression, compress) -> None:  # type: ignore[no-untyped-def]  # parameters of pytest
    words = [b"one", b"", b"three" * 40]
    assert block(General(scheme, Flat(32)), compress(VALUES.tobytes()), 150, pa.uint32()).to_pylist() == VALUES.tolist()
    strings = compress(string_block(words, 32))
    assert block(General(scheme, Variable(32)), strings, 3, pa.binary()).to_pylist() == words


@pytest.mark.parametrize("bits", [32, 64])
def test_values_of_a_full_zip_page_are_compressed_one_by_one(bits: int) -> None:
    values = [b"x" * 1000, b"", b"yz"]
    encoding = General(Compression.ZSTD, Variable(bits))
    stored = [zstd(values[0]), zstd(b""), zstd(values[2], with_size=False)]
    assert variable_values(encoding, stored, pa.large_binary(), bits).to_pylist() == values
    assert variable_values(encoding, [b"", b""], pa.large_binary(), bits).to_pylist() == [b"", b""]


def test_a_zstd_frame_without_a_size_in_front_is_read() -> None:
    data = bytes(range(256)) * 20_000
    bare = pa.py_buffer(zstd(data, with_size=False))
    assert general.decompress(Compression.ZSTD, bare).to_pybytes() == data


def test_an_empty_buffer_is_empty() -> None:
    for scheme in Compression:
        assert general.decompress(scheme, pa.py_buffer(b"")).size == 0
        header = bytes(4 if scheme is Compression.LZ4 else 8)
        assert general.decompress(scheme, pa.py_buffer(header)).size == 0


@pytest.mark.parametrize(
    ("scheme", "data"),
    [
        (Compression.LZ4, b"\1\0\0"),
        (Compression.ZSTD, bytes(7)),
        (Compression.LZ4, struct.pack("<I", 100) + b"garbage"),
        (Compression.ZSTD, struct.pack("<Q", 100) + b"garbage"),
        (Compression.ZSTD, b"\x28\xb5\x2f\xfd garbage"),
        (Compression.LZ4, struct.pack("<I", 11) + lz4(b"ten bytes!")[4:]),
        (Compression.ZSTD, struct.pack("<Q", 11) + zstd(b"ten bytes!")[8:]),
        (Compression.ZSTD, struct.pack("<Q", 9) + zstd(b"ten bytes!")[8:]),
        (Compression.ZSTD, zstd(b"ten bytes!" * 9, with_size=False)[:-3]),
    ],
)
def test_damaged_buffers_are_refused(scheme: Compression, data: bytes) -> None:
    with pytest.raises(CorruptFile, match=r"compressed|lz4|zstd"):
        general.decompress(scheme, pa.py_buffer(data))


@pytest.mark.parametrize(
    ("scheme", "data"),
    [
        (Compression.LZ4, struct.pack("<I", 2**32 - 1) + bytes(100)),
        (Compression.ZSTD, struct.pack("<Q", 2**63) + bytes(100)),
        (Compression.ZSTD, struct.pack("<Q", 2**31) + bytes(100)),
    ],
)
def test_sizes_that_no_compressor_reaches_are_refused_before_allocating(scheme: Compression, data: bytes) -> None:
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(CorruptFile, match="claims to hold"):
        general.decompress(scheme, pa.py_buffer(data))
    assert (pa.default_memory_pool().max_memory() or 0) - (before or 0) < 2**20


def test_a_bare_frame_is_read_no_further_than_its_bytes_can_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = pa.py_buffer(zstd(bytes(2**24), with_size=False))
    monkeypatch.setitem(general.MAX_RATIO, Compression.ZSTD, 1000)
    with pytest.raises(CorruptFile, match="holds more than"):
        general.decompress(Compression.ZSTD, bomb)
