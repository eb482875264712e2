"""Packed structs: the fields of a row contiguously."""

from itertools import pairwise

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import fixed_size_list, variable
from lance_sql.format.encodings.blocks import Block, FixedWidth, Lists, Struct, VariableWidth
from lance_sql.format.encodings.chunk_rows import ChunkRows
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


def mini_block(encoding: PackedStruct, rows: ChunkRows) -> Struct:
    """Decodes the rows: fields of fixed width in field order, without padding."""
    bits = encoding.field_bits
    if not bits or any(width % 8 for width in bits):
        raise UnsupportedFeature(f"packed structs with fields of {bits} bits are not supported")
    if encoding.values != Flat(sum(bits)):
        raise CorruptFile(f"packed structs of {sum(bits)} bits encoded as {encoding.values}")
    out = rows.allocate(sum(bits))
    _kernels.flat(rows.chunks, rows.ranges, 0, sum(bits), out)
    return split_rows(FixedWidth(rows.num_items, sum(bits), out), bits)


def split_rows(rows: FixedWidth, field_bits: tuple[int, ...]) -> Struct:
    """Splits rows into their adjacent fields, each a number of whole bytes."""
    table = np.frombuffer(rows.data, np.uint8).reshape(rows.num_values, rows.bits_per_value // 8)
    edges = np.cumsum([0, *(width // 8 for width in field_bits)]).tolist()
    fields: list[Block] = []
    for width, (start, end) in zip(field_bits, pairwise(edges), strict=True):
        fields.append(FixedWidth(rows.num_values, width, pa.py_buffer(np.ascontiguousarray(table[:, start:end]))))
    return Struct(rows.num_values, tuple(fields))


class FieldPosition:
    """A position in each of many byte strings, advanced by one field at a time.

    Each row of a variable packed struct is one string: fields of fixed width without a length, others after their
    length. The string of a NULL row is empty; its fields become zeros and empty strings.
    """

    def __init__(self, values: VariableWidth) -> None:
        bounds = np.frombuffer(values.offsets, f"<i{values.offset_bits // 8}", values.num_values + 1).astype(np.int64)
        self._data = values.data
        self._present = np.flatnonzero(bounds[1:] > bounds[:-1])
        self._at, self._end = bounds[:-1][self._present], bounds[1:][self._present]
        self.num_values = values.num_values

    def fixed(self, num_bytes: int) -> pa.Buffer:
        """Returns the next `num_bytes` bytes of every row, concatenated."""
        taken = self._take(np.full(len(self._present), num_bytes, np.int64))
        if len(self._present) == self.num_values:
            return taken
        rows = np.zeros((self.num_values, num_bytes), np.uint8)
        rows[self._present] = np.frombuffer(taken, np.uint8).reshape(-1, num_bytes)
        return pa.py_buffer(rows)

    def variable(self, length_bits: int) -> VariableWidth:
        """Returns the next byte string of every row, after its length of `length_bits` bits."""
        lengths = np.frombuffer(self.fixed(length_bits // 8), f"<u{length_bits // 8}")
        if len(lengths) and int(lengths.max()) > self._data.size:
            raise CorruptFile(f"a packed field of {int(lengths.max())} bytes in {self._data.size} bytes of rows")
        offsets = np.zeros(self.num_values + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        data = self._take(lengths[self._present].astype(np.int64))
        return VariableWidth(self.num_values, 64, pa.py_buffer(offsets), data)

    def finish(self) -> None:
        """Raises CorruptFile unless every row was consumed."""
        if not np.array_equal(self._at, self._end):
            raise CorruptFile("rows of a packed struct are longer than their fields")

    def _take(self, lengths: I64) -> pa.Buffer:
        if (self._at + lengths > self._end).any():
            raise CorruptFile("a row of a packed struct ends inside a field")
        out = pa.allocate_buffer(int(lengths.sum()))
        _kernels.gather_ranges(self._data, self._at, lengths, out)
        self._at += lengths
        return out
