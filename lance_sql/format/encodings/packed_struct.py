"""Packed structs: the fields of a row contiguously."""

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import UnsupportedFeature
from lance_sql.format.encodings import fixed_size_list, variable
from lance_sql.format.encodings.blocks import FixedWidth, Lists, Struct, VariableWidth
from lance_sql.format.encodings.chunked import ChunkCodec, ChunkedValues, Parts, Starts, log2_items
from lance_sql.format.encodings.tree import Flat, PackedField, PackedStruct, Variable, VariablePackedStruct
from lance_sql.values.arrays import I64

CHUNK_ITEMS = 4096


def is_fixed(values: Struct) -> bool:
    """Whether all rows have the same width, so that they can be values of a mini-block page."""
    return all(isinstance(field, FixedWidth) and field.bits_per_value % 8 == 0 for field in values.fields)


def chunks(values: Struct, most_bytes: int) -> ChunkCodec:
    """Encodes the rows of a struct that satisfies `is_fixed`."""
    fields = [field for field in values.fields if isinstance(field, FixedWidth)]
    bits = tuple(field.bits_per_value for field in fields)
    columns = [np.frombuffer(field.data, np.uint8).reshape(values.num_values, -1) for field in fields]
    rows = pa.py_buffer(np.ascontiguousarray(np.concatenate(columns, axis=1)))

    def encode(starts: Starts) -> ChunkedValues:
        return ChunkedValues(PackedStruct(bits, Flat(sum(bits))), (Parts(rows, starts * (sum(bits) // 8)),))

    return ChunkCodec(log2_items(sum(bits), most_bytes, CHUNK_ITEMS), rows.size, encode)


def encode_rows(values: Struct) -> tuple[VariablePackedStruct, VariableWidth]:
    """Encodes the rows as byte strings with adjacent fields; strings follow their length.

    raises: UnsupportedFeature for fields that are neither fixed-width in bytes nor strings
    """
    pieces: list[tuple[pa.Buffer, I64, I64]] = []
    fields = []
    for field in values.fields:
        match field:
            case FixedWidth(bits_per_value=bits) if bits % 8 == 0:
                fields.append(PackedField(Flat(bits), bits, None))
                pieces.append(_cells(field.data, values.num_values, bits // 8))
            case Lists():
                encoding, bits, data = fixed_size_list.encode_values(field)
                fields.append(PackedField(encoding, bits, None))
                pieces.append(_cells(data, values.num_values, bits // 8))
            case VariableWidth(offset_bits=bits):
                lengths = variable.lengths(field)
                fields.append(PackedField(Variable(bits), None, bits))
                prefixes = pa.py_buffer(lengths.astype(f"<u{bits // 8}"))
                pieces.append(_cells(prefixes, values.num_values, bits // 8))
                pieces.append((field.data, variable.starts(field), lengths))
            case _:
                raise UnsupportedFeature(f"a packed struct with a field of {type(field).__name__} is not supported")
    return VariablePackedStruct(tuple(fields)), _zip_cells(pieces, values.num_values)


def _cells(data: pa.Buffer, num_values: int, width: int) -> tuple[pa.Buffer, I64, I64]:
    starts = np.arange(num_values, dtype=np.int64) * width
    return data, starts, np.full(num_values, width, np.int64)


def _zip_cells(pieces: list[tuple[pa.Buffer, I64, I64]], num_rows: int) -> VariableWidth:
    """Joins the cells of each row; a piece is a column of cells: bytes, their starts and lengths."""
    offsets = np.zeros(num_rows + 1, np.int64)
    np.cumsum(sum(lengths for _, _, lengths in pieces), out=offsets[1:])
    out = pa.allocate_buffer(int(offsets[-1]))
    at = offsets[:-1].copy()
    for data, starts, lengths in pieces:
        _kernels.scatter_ranges(data, starts, lengths, at, out)
        at += lengths
    return VariableWidth(num_rows, 64, pa.py_buffer(offsets), out)
