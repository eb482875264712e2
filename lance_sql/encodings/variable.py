"""Variable: byte strings as offsets and bytes."""

import struct

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.encodings.blocks import VariableWidth
from lance_sql.encodings.chunk_rows import ChunkRows
from lance_sql.encodings.tree import Variable
from lance_sql.errors import CorruptFile


def mini_block(encoding: Variable, rows: ChunkRows) -> VariableWidth:
    """The values of `rows`: in a chunk the offsets count from the start of the chunk's own buffer."""
    bits = encoding.offset_bits
    offsets = pa.allocate_buffer((rows.num_items + 1) * bits // 8)
    total = _kernels.variable_offsets(rows.chunks, rows.ranges, bits, offsets, bits)
    data = pa.allocate_buffer(total)
    _kernels.variable_bytes(rows.chunks, rows.ranges, bits, data)
    return VariableWidth(rows.num_items, bits, offsets, data)


def block(encoding: Variable, data: pa.Buffer, num_values: int) -> VariableWidth:
    """One buffer: the offset width, where the bytes start, `num_values + 1` offsets from 0, the bytes.

    raises: CorruptFile for offsets that leave the buffer or descend
    source: message Variable in a block; releases before 2.1 was stable put a single byte of width first
    """
    raw = memoryview(data)
    width = encoding.offset_bits // 8
    if raw.nbytes >= 4 and any(raw[1:4]):
        start, data_start = _early_header(raw, width)
    else:
        if raw.nbytes < 2 * width:
            raise CorruptFile(f"a block of {raw.nbytes} bytes is too short for the header of its strings")
        bits, data_start = struct.unpack_from("<II" if width == 4 else "<QQ", raw)
        if bits != encoding.offset_bits:
            raise CorruptFile(f"a block of strings with offsets of {bits} bits, expected {encoding.offset_bits}")
        start = 2 * width
    end = start + (num_values + 1) * width
    if not end <= data_start <= raw.nbytes:
        raise CorruptFile(f"{num_values} strings whose bytes start at {data_start} in a block of {raw.nbytes} bytes")
    offsets = data.slice(start, end - start)
    values = data.slice(data_start)
    check_offsets(offsets, encoding.offset_bits, num_values, values.size)
    return VariableWidth(num_values, encoding.offset_bits, offsets, values)


def check_offsets(offsets: pa.Buffer, offset_bits: int, num_values: int, num_bytes: int) -> None:
    """Raises CorruptFile unless the offsets ascend from 0 or more to at most `num_bytes`."""
    counts = np.frombuffer(offsets, f"<u{offset_bits // 8}", num_values + 1)
    if counts[-1] > num_bytes or (counts[1:] < counts[:-1]).any():
        raise CorruptFile(f"offsets of strings descend or pass the end of their {num_bytes} bytes")


def _early_header(raw: memoryview, width: int) -> tuple[int, int]:
    if raw.nbytes < 1 + 2 * width or raw[0] != 8 * width:
        raise CorruptFile("a block of strings without a header that is known")
    _, data_start = struct.unpack_from("<II" if width == 4 else "<QQ", raw, 1)
    return 1 + 2 * width, int(data_start)
