"""Encoding of values as pages without levels, for files of version 2.0: the inverse of `array_page`.

    numbers               Nullable(bitmap, Flat); all NULL: nothing
    strings               Binary: ends, bytes; few distinct ones: Dictionary with 0 for NULL
    dictionaries          Dictionary; NULL is a separate item
    fixed-size lists      FixedSizeList around the numbers
    lists                 List: ends; the items are another column

Source: message ArrayEncoding.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.encodings import fsst, general
from lance_sql.format.encodings.blocks import FixedWidth, Lists, Struct, VariableWidth
from lance_sql.format.encodings.from_arrow import bitmap, from_array
from lance_sql.format.encodings.preferences import Preferences, from_metadata
from lance_sql.format.encodings.tree import Constant, Encoding, FixedSizeList, Flat, Fsst, General, PackedStruct
from lance_sql.format.layouts.shredded import EncodedPage
from lance_sql.format.old_files.tree import Binary, Dictionary, List, Nullable, Stored, StructHeader
from lance_sql.format.old_files.wire import page_to_wire
from lance_sql.values import kinds
from lance_sql.values.arrays import BoolMask

_LEAST_VALUES = 100
_MOST_ITEMS = 100
_SAMPLE = 4096


@dataclass(slots=True)
class _Buffers:
    """The buffers of a page, in the order of their numbers."""

    buffers: list[pa.Buffer | bytes] = field(default_factory=list)

    def store(self, data: pa.Buffer | bytes, encoding: Encoding) -> Stored:
        self.buffers.append(data)
        return Stored(len(self.buffers) - 1, encoding)

    def page(self, encoding: Encoding, num_rows: int) -> EncodedPage:
        return EncodedPage(page_to_wire(encoding), tuple(self.buffers), num_rows)


def encode_values(values: pa.Array, metadata: Mapping[str, bytes]) -> EncodedPage:
    """Encodes the values of a leaf, of its storage type, as one page.

    metadata: of the field, which may select the compression of strings
    raises: InvalidArgument for NULL members of packed structs, for dictionaries without a key for NULL, and for
        invalid metadata; UnsupportedFeature for types that pages of this kind do not support
    """
    buffers = _Buffers()
    return buffers.page(_values(values, from_metadata(metadata), buffers), len(values))


def encode_lists(lengths: pa.Array) -> EncodedPage:
    """Encodes lists with these numbers of items as one page.

    lengths: int64, NULL for a NULL list, which has no items
    """
    ends = np.cumsum((lengths.fill_null(0) if lengths.null_count else lengths).to_numpy()).astype(np.uint64, copy=False)
    num_items = int(ends[-1]) if len(ends) else 0
    if lengths.null_count:
        np.add(ends, np.uint64(num_items + 1), out=ends, where=_nulls(lengths))
    buffers = _Buffers()
    stored = buffers.store(pa.py_buffer(ends), Flat(64))
    return buffers.page(List(stored, num_items + 1, num_items), len(lengths))


def encode_struct_header(num_values: int) -> EncodedPage:
    """Encodes structs whose members are other columns as one page."""
    return EncodedPage(page_to_wire(StructHeader()), (), num_values)


def _values(values: pa.Array, preferences: Preferences, buffers: _Buffers) -> Encoding:
    type = values.type
    if pa.types.is_dictionary(type):
        return _dictionary(values, buffers)
    if pa.types.is_string(type):
        return _few_strings(values, buffers) or _compressed_strings(values, preferences, buffers)
    if kinds.has_offsets(type):
        return _compressed_strings(values, preferences, buffers)
    if pa.types.is_struct(type):
        return _packed(values, buffers)
    if values.null_count == len(values):
        return Constant(None)
    return _nullable(values, buffers)


def _nullable(values: pa.Array, buffers: _Buffers) -> Encoding:
    """Encodes values of one width, below a bitmap if they have NULLs."""
    validity = bitmap(values)
    stored_bitmap = None if validity is None else buffers.store(validity, Flat(1))
    if pa.types.is_fixed_size_list(values.type):
        size = values.type.list_size
        items = values.values.slice(values.offset * size, len(values) * size)
        inner: Encoding = FixedSizeList(size, _nullable(items, buffers), False)
    else:
        block = from_array(values)
        if not isinstance(block, FixedWidth):
            raise UnsupportedFeature(f"values of type {values.type} are not supported in file version 2.0")
        inner = buffers.store(block.data, Flat(block.bits_per_value))
    return inner if stored_bitmap is None else Nullable(stored_bitmap, inner)


def _compressed_strings(values: pa.Array, preferences: Preferences, buffers: _Buffers) -> Encoding:
    """Encodes strings with the compression of the field; symbols need 32-bit offsets."""
    block = _variable_width(values)
    if preferences.symbols and block.offset_bits == 32 and (encoded := fsst.encode(block)):
        return Fsst(encoded[0].symbol_table, _binary(encoded[1], values, None, buffers))
    return _binary(block, values, preferences, buffers)


def _strings(values: pa.Array, buffers: _Buffers) -> Binary:
    return _binary(_variable_width(values), values, None, buffers)


def _variable_width(values: pa.Array) -> VariableWidth:
    block = from_array(values)
    assert isinstance(block, VariableWidth)
    return block


def _binary(block: VariableWidth, values: pa.Array, preferences: Preferences | None, buffers: _Buffers) -> Binary:
    """
    values: the strings with their NULLs
    """
    offsets = np.frombuffer(block.offsets, f"<i{block.offset_bits // 8}", block.num_values + 1)
    first, last = int(offsets[0]), int(offsets[-1])
    ends = offsets[1:].astype(np.uint64)
    if first:
        ends -= np.uint64(first)
    adjustment = last - first + 1
    if values.null_count:
        np.add(ends, np.uint64(adjustment), out=ends, where=_nulls(values))
    stored_ends = buffers.store(pa.py_buffer(ends), Flat(64))
    data = block.data.slice(first, last - first)
    if preferences is None or preferences.compression is None:
        return Binary(stored_ends, buffers.store(data, Flat(8)), adjustment)
    compressed = general.compress(preferences.compression, data, preferences.compression_level)
    return Binary(stored_ends, buffers.store(compressed, General(preferences.compression, Flat(8))), adjustment)


def _few_strings(values: pa.Array, buffers: _Buffers) -> Dictionary | None:
    """Returns a dictionary for strings with few distinct values."""
    if len(values) < _LEAST_VALUES or values.null_count == len(values):
        return None
    if len(pc.unique(values.slice(0, _SAMPLE))) > _MOST_ITEMS:
        return None
    encoded = values.dictionary_encode()
    items = encoded.dictionary
    if len(items) >= _MOST_ITEMS:
        return None
    keys = encoded.indices.fill_null(-1).to_numpy() + 1
    indices = buffers.store(pa.py_buffer(keys.astype(np.uint8)), Flat(8))
    return Dictionary(indices, _strings(items, buffers), len(items))


def _dictionary(values: pa.DictionaryArray, buffers: _Buffers) -> Dictionary:
    items, indices = values.dictionary, values.indices
    if indices.null_count or len(items) == 0:
        key = len(items)
        if key > np.iinfo(indices.type.to_pandas_dtype()).max:
            raise InvalidArgument(f"a dictionary of {key} items has no {indices.type} key left for NULL")
        items = pa.concat_arrays([items, pa.nulls(1, items.type)])
        indices = indices.fill_null(pa.scalar(key, indices.type))
    block = from_array(indices)
    assert isinstance(block, FixedWidth)
    stored = buffers.store(block.data, Flat(block.bits_per_value))
    if kinds.has_offsets(items.type):
        return Dictionary(stored, _strings(items, buffers), len(items))
    return Dictionary(stored, _nullable(items, buffers), len(items))


def _packed(values: pa.StructArray, buffers: _Buffers) -> PackedStruct:
    """Encodes the members contiguously; NULLs are not supported."""
    if values.null_count or any(values.field(i).null_count for i in range(values.type.num_fields)):
        raise InvalidArgument("a packed struct, or a member of it, is NULL, and packed structs keep no NULLs")
    block = from_array(values)
    assert isinstance(block, Struct)
    columns, widths = [], []
    for member in block.fields:
        num_bits, data = _numbers(member)
        widths.append(num_bits)
        columns.append(np.frombuffer(data, np.uint8, len(values) * num_bits // 8).reshape(len(values), -1))
    rows = np.concatenate(columns, axis=1)
    return PackedStruct(tuple(widths), buffers.store(pa.py_buffer(np.ascontiguousarray(rows)), Flat(sum(widths))))


def _numbers(member: object) -> tuple[int, pa.Buffer]:
    """Returns bits and bytes of the values of a member."""
    match member:
        case FixedWidth(bits_per_value=bits, data=data) if bits % 8 == 0:
            return bits, data
        case Lists(dimension=dimension, items=items, validity=None):
            bits, data = _numbers(items)
            return dimension * bits, data
    raise UnsupportedFeature("packed structs of other members than numbers are not supported in file version 2.0")


def _nulls(values: pa.Array) -> BoolMask:
    nulls: BoolMask = values.is_null().to_numpy(zero_copy_only=False)
    return nulls
