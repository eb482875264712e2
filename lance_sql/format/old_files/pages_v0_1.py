"""Pages of version 0.1 as trees of encodings: the type of the field determines what the file leaves out.

fixed width     position -> contiguous values; no NULLs
strings         position -> offsets, one more than rows, that are positions in the file; their bytes come before
lists           position -> offsets, one more than rows, among the items of the same batch
dictionaries    position -> indices; the values are in the manifest
"""

from typing import NamedTuple

import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import Constant, Encoding, Flat
from lance_sql.format.old_files.tree import OffsetBinary, OffsetList, Stored, StructHeader
from lance_sql.store import ByteRange
from lance_sql.values import kinds

MAX_VALUES = 1 << 40


class PlainPage(NamedTuple):
    """A page from the page table, with its encoding.

    buffers: absolute
    """

    num_rows: int
    buffers: tuple[ByteRange, ...]
    encoding: Encoding


def values_page(type: pa.DataType, position: int, length: int, file_size: int, *, empty_is_null: bool) -> PlainPage:
    """Returns a page of `length` values of `type`, which is not nested.

    empty_is_null: strings without bytes are NULL
    raises: CorruptFile for a page outside the file
    """
    _check_length(length)
    if pa.types.is_null(type):
        return PlainPage(length, (), Constant(None))
    if pa.types.is_struct(type):
        return PlainPage(length, (), StructHeader())
    if kinds.has_offsets(type):
        offsets = _buffer(position, length + 1, 64, file_size)
        tree = OffsetBinary(Stored(0, Flat(64)), Stored(1, Flat(8)), empty_is_null)
        return PlainPage(length, (offsets, ByteRange(0, file_size)), tree)
    bits = _bits(type)
    return PlainPage(length, (_buffer(position, length, bits, file_size),), Stored(0, Flat(bits)))


def lists_page(type: pa.DataType, position: int, length: int, file_size: int, num_items: int) -> PlainPage:
    """Returns a page of the offsets of lists into `num_items` items; `length` is one more than the lists.

    raises: CorruptFile for a page outside the file
    """
    _check_length(length)
    bits = kinds.offset_bits(type)
    tree = OffsetList(Stored(0, Flat(bits)), num_items)
    return PlainPage(max(length - 1, 0), (_buffer(position, length, bits, file_size),), tree)


def _bits(type: pa.DataType) -> int:
    if pa.types.is_dictionary(type):
        type = type.index_type
    num_values = 1
    while pa.types.is_fixed_size_list(type):
        num_values *= type.list_size
        type = type.value_type
    try:
        return num_values * int(type.bit_width)
    except ValueError:
        raise UnsupportedFeature(f"values of {type} in a data file of version 0.1 are not supported") from None


def _check_length(length: int) -> None:
    if not 0 <= length <= MAX_VALUES:
        raise CorruptFile(f"a page of {length} values is not possible")


def _buffer(position: int, length: int, bits: int, file_size: int) -> ByteRange:
    end = position + (length * bits + 7) // 8
    if position < 0 or end > file_size:
        raise CorruptFile(f"a page at bytes {position} to {end} of a file of {file_size} bytes")
    return ByteRange(position, end)
