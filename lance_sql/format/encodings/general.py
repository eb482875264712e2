"""General: buffers of another encoding, compressed as opaque bytes with LZ4 or Zstandard.

LZ4: u32 uncompressed size, then one raw block. Zstandard: u64 uncompressed size, then one frame; old writers omitted
the size. Source: message General.
"""

import struct
from functools import cache
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, InvalidArgument
from lance_sql.format.encodings.blocks import VariableWidth
from lance_sql.format.encodings.chunked import ChunkCodec, ChunkedValues, Parts, Starts
from lance_sql.format.encodings.tree import Compression, General

MAX_UNCOMPRESSED = 1 << 31
"""Maximum uncompressed bytes of a buffer."""

MAX_RATIO = {Compression.LZ4: 256, Compression.ZSTD: 1 << 16}
"""A buffer with a higher ratio cannot come from the compressor."""

KERNEL_COMPRESSIONS = {Compression.LZ4: _kernels.Compression.LZ4, Compression.ZSTD: _kernels.Compression.ZSTD}

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PIECE_BYTES = 1 << 20
_ZSTD_LEVEL = 3
_TRIAL_VALUES = 8
_TRIAL_BYTES = 1 << 18
_WORTHWHILE = 0.95
_FEWEST_BYTES = 1 << 12
"""Pages with less in their first buffers are not worth compressing."""
_EMPTY = pa.py_buffer(b"")


@cache
def _codec(compression: Compression) -> pa.Codec:
    return pa.Codec("lz4_raw" if compression is Compression.LZ4 else "zstd")


def decompress(compression: Compression, data: pa.Buffer) -> pa.Buffer:
    """Decompresses `data`.

    raises: CorruptFile if `data` is not such a buffer, or claims a size beyond MAX_UNCOMPRESSED or MAX_RATIO
    """
    if data.size == 0:
        return _EMPTY
    header = 4 if compression is Compression.LZ4 else 8
    if compression is Compression.ZSTD and data.size >= 4 and bytes(memoryview(data)[:4]) == _ZSTD_MAGIC:
        return _without_size(data)
    if data.size < header:
        raise CorruptFile(f"a compressed buffer of {data.size} bytes has no size")
    (size,) = struct.unpack_from("<I" if header == 4 else "<Q", data)
    if size > MAX_UNCOMPRESSED or size > (data.size - header) * MAX_RATIO[compression]:
        raise CorruptFile(f"a {compression.value} buffer of {data.size} bytes claims to hold {size} bytes")
    if size == 0:
        return _EMPTY
    return _decompress(compression, data.slice(header), size)


def _decompress(compression: Compression, body: pa.Buffer, size: int) -> pa.Buffer:
    # Arrow does not return how many bytes of its buffer LZ4 has filled
    if compression is Compression.LZ4 and _kernels.lz4_size(body) != size:
        raise CorruptFile(f"an lz4 buffer does not hold the {size} bytes that it claims")
    try:
        return _codec(compression).decompress(body, size)
    except (pa.ArrowException, OSError) as error:
        raise CorruptFile(f"a {compression.value} buffer cannot be decompressed: {error}") from error


def _without_size(data: pa.Buffer) -> pa.Buffer:
    """Decompresses a bare frame, in pieces, because `read` allocates the requested size."""
    most = min(MAX_UNCOMPRESSED, data.size * MAX_RATIO[Compression.ZSTD])
    pieces = []
    size = 0
    try:
        stream = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
        while piece := stream.read(_PIECE_BYTES):
            size += len(piece)
            if size > most:
                raise CorruptFile(f"a zstd buffer of {data.size} bytes holds more than {most} bytes")
            pieces.append(piece)
    except (pa.ArrowException, OSError) as error:
        raise CorruptFile(f"a zstd buffer cannot be decompressed: {error}") from error
    return pa.py_buffer(b"".join(pieces))


def compress(compression: Compression, data: pa.Buffer, level: int | None = None) -> bytes:
    """Compresses a buffer for `decompress`: the size, then the block or frame.

    raises: InvalidArgument for data too large for LZ4
    """
    if compression is Compression.LZ4 and data.size >= 1 << 31:
        raise InvalidArgument(f"{data.size} bytes are too many for one LZ4 block")
    header = struct.pack("<I" if compression is Compression.LZ4 else "<Q", data.size)
    return header + bytes(_encoder(compression, level).compress(data, asbytes=True))


@cache
def _encoder(compression: Compression, level: int | None) -> pa.Codec:
    # raw LZ4 blocks have no levels
    if compression is Compression.LZ4:
        return _codec(compression)
    return pa.Codec("zstd", compression_level=level or _ZSTD_LEVEL)


def chunks(inner: ChunkCodec, compression: Compression, level: int | None) -> ChunkCodec:
    """Compresses the first buffer of the chunks of `inner`, if that makes the page smaller."""

    def encode(starts: Starts) -> ChunkedValues:
        values = inner.encode(starts)
        first, *others = values.buffers
        if first.data.size < _FEWEST_BYTES:
            return values
        bounds = first.starts.tolist()
        pieces = [compress(compression, first.data.slice(start, end - start), level) for start, end in pairwise(bounds)]
        ends = np.array([0, *accumulate(map(len, pieces))], np.int64)
        if ends[-1] >= bounds[-1]:
            return values
        data = pa.py_buffer(b"".join(pieces))
        return ChunkedValues(General(compression, values.encoding), (Parts(data, ends), *others))

    return ChunkCodec(inner.log2_items, inner.num_bytes, encode)


def encode_values(values: VariableWidth, compression: Compression, level: int | None = None) -> VariableWidth:
    """Compresses each value individually."""
    pieces = [compress(compression, piece, level) for piece in _pieces(values)]
    offsets = np.array([0, *accumulate(map(len, pieces))], np.int64)
    return VariableWidth(values.num_values, 64, pa.py_buffer(offsets), pa.py_buffer(b"".join(pieces)))


def shrinks(values: VariableWidth) -> bool:
    """Whether compression makes some of the values clearly smaller, unlike for images or sound."""
    pieces = _pieces(values)
    some = [_part(piece) for piece in pieces[:: max(len(pieces) // _TRIAL_VALUES, 1)]]
    after = sum(len(compress(Compression.ZSTD, piece, 1)) for piece in some)
    return bool(after < sum(piece.size for piece in some) * _WORTHWHILE)


def _part(value: pa.Buffer) -> pa.Buffer:
    """Returns the middle of a long value, as a sample of it."""
    return value.slice(max(value.size - _TRIAL_BYTES, 0) // 2, min(value.size, _TRIAL_BYTES))


def _pieces(values: VariableWidth) -> list[pa.Buffer]:
    bounds = np.frombuffer(values.offsets, f"<i{values.offset_bits // 8}", values.num_values + 1).tolist()
    return [values.data.slice(start, end - start) for start, end in pairwise(bounds)]


def library(compression: Compression) -> str:
    """Returns the library that decompresses chunks and values of pages, such as "libzstd.so.1 1.5.4".

    Without a system library it is pyarrow, which serves one thread at a time.
    """
    return _kernels.compression_library(KERNEL_COMPRESSIONS[compression]) or f"pyarrow {pa.__version__}"


def _decompress_in_python(asked: _kernels.Compression, data: bytes) -> pa.Buffer:
    (compression,) = (each for each, known in KERNEL_COMPRESSIONS.items() if known is asked)
    return decompress(compression, pa.py_buffer(data))


_kernels.decompress_with(_decompress_in_python)
