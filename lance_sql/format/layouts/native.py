"""Pages that the kernels can read, and the form of their arrays.

Python parses a page once. If its values are of a common kind, a reader of the kernels takes over: it turns
rows into Arrow arrays, or into the answers of a test, for many pages in one call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import ValueCodec
from lance_sql.errors import CorruptFile, LanceError
from lance_sql.format.encodings.blocks import Block, FixedWidth, VariableWidth, makes_items, to_array
from lance_sql.format.encodings.tree import Encoding
from lance_sql.format.layouts.levels import LevelEncoding
from lance_sql.format.layouts.value_codecs import STRING_CODECS, codec_of_lists, uncompressed, value_codec
from lance_sql.values import kinds
from lance_sql.values.arrays import I64

MAX_LIST_SIZE = 1 << 20
"""Maximum items of a fixed-size list that the kernels read as one value."""


@dataclass(frozen=True, slots=True)
class Form:
    """Arrays of a reader, and their conversion.

    type: of the arrays from the reader
    items: dictionary items of their indices; pages with different items make separate arrays
    makes_items: whether they are strings to be dictionary-encoded
    is_composite: whether a reader of values with parts makes them; see `composites`
    """

    type: pa.DataType
    items: pa.Array | None = None
    makes_items: bool = False
    is_composite: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Form) or self.makes_items != other.makes_items:
            return False
        same_reader = self.is_composite == other.is_composite
        return same_reader and self.type == other.type and self.items is other.items

    def __hash__(self) -> int:
        return hash(self.type)

    def finish(self, array: pa.Array, leaf: pa.DataType) -> pa.Array:
        """Converts the array to the column's type."""
        if self.items is not None:
            return pa.DictionaryArray.from_arrays(array, self.items, ordered=leaf.ordered, safe=False)
        if self.makes_items:
            return array.dictionary_encode()
        if isinstance(leaf, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(leaf, array)
        return array


@dataclass(frozen=True, slots=True)
class NativePage:
    """A reader and its form; without one, it only tests whether values are NULL.

    refusal: the error to raise for the values of a page without a form; None if Python decodes them
    """

    reader: _kernels.PageReader
    form: Form | None
    refusal: LanceError | None = None


def mini_block_page(
    table: _kernels.ChunkTable,
    values: Encoding,
    definition: LevelEncoding | None,
    dictionary: Block | None,
    leaf: pa.DataType,
) -> NativePage:
    """Returns the reader of a page without lists.

    values: their encoding in chunks
    definition: None if no value is NULL
    leaf: the type that the values become
    raises: CorruptFile, ValueError for an invalid dictionary
    """
    if dictionary is None and makes_items(leaf):
        strings = mini_block_page(table, values, definition, None, leaf.value_type)
        if strings.form is not None:
            return replace(strings, form=Form(leaf.value_type, makes_items=True))
    levels = (definition.codec, definition.num_bits) if definition is not None else None
    compression, values = uncompressed(values)
    storage = kinds.storage(leaf)
    list_size = list_size_of(storage)
    native_codec = value_codec(values) if list_size is None else codec_of_lists(values, list_size)
    format = _format(storage, dictionary)
    if native_codec is not None and format is not None:
        codec, bits, symbol_table = native_codec
        items = None
        fits = (
            _fits(codec, bits, storage, format)
            if dictionary is None
            else codec not in STRING_CODECS and bits in _INDICES
        )
        if fits and dictionary is not None:
            items = _items(dictionary, storage, format)
            fits = items is not None
        if fits:
            keeps_indices = pa.types.is_dictionary(storage)
            reader = _kernels.PageReader.mini_block(
                table,
                codec=codec,
                bits=bits,
                definition=levels,
                symbol_table=symbol_table,
                items=items,
                format=format,
                list_size=list_size,
                keeps_indices=keeps_indices,
                compression=compression,
            )
            if keeps_indices and dictionary is not None:
                return NativePage(reader, Form(storage.index_type, to_array(dictionary, storage.value_type)))
            return NativePage(reader, Form(storage))
    reader = _kernels.PageReader.mini_block(
        table,
        codec=ValueCodec.OTHER,
        bits=0,
        definition=levels,
        symbol_table=None,
        items=None,
        format=(False, 8),
        keeps_indices=False,
    )
    return NativePage(reader, None)


def full_zip_page(
    values: Encoding,
    num_rows: int,
    row_starts: I64 | None,
    leaf: pa.DataType,
    *,
    bits_def: int,
    num_levels: int,
    value_bytes: int,
    length_bytes: int,
) -> NativePage | None:
    """Returns the reader of a full-zip page without lists; None for values that the kernels do not support.

    row_starts: the start of each row, if values have lengths
    num_levels: definition levels from 1 up to this are NULL, those above are damage
    raises: ValueError for inconsistent arguments
    """
    storage = kinds.storage(leaf)
    list_size = list_size_of(storage)
    compression, values = uncompressed(values)
    native_codec = value_codec(values) if list_size is None else codec_of_lists(values, list_size)
    format = _format(storage, None)
    if native_codec is None or format is None or native_codec[0] not in (ValueCodec.FLAT, *STRING_CODECS):
        return None
    if compression is not None and native_codec[0] is not ValueCodec.VARIABLE:
        return None
    codec, bits, symbol_table = native_codec
    has_lengths = codec is not ValueCodec.FLAT
    if not _fits(codec, bits, storage, format) or has_lengths != (length_bytes > 0) or format[1] != bits:
        return None
    if not has_lengths and (bits % 8 or bits // 8 != value_bytes):
        return None
    reader = _kernels.PageReader.full_zip(
        num_rows,
        bits_def=bits_def,
        num_levels=num_levels,
        value_bytes=value_bytes,
        length_bytes=length_bytes,
        row_starts=row_starts if has_lengths else None,
        symbol_table=symbol_table,
        format=format,
        list_size=list_size,
        compression=compression,
    )
    return NativePage(reader, Form(storage))


def format_of(type: pa.DataType) -> tuple[bool, int] | None:
    """Returns whether arrays of the type have offsets, and the bits of an offset or a value; None for other types."""
    return _format(type, None)


def constant_page(value: pa.Array, num_rows: int, validity: pa.Buffer | None = None) -> NativePage | None:
    """Returns the reader of a page with one value, or NULL, in all rows; None for unsupported values.

    value: an array of the one value
    validity: a bit for each row, 0 for NULL
    """
    leaf = value.type
    storage = value.storage if isinstance(leaf, pa.BaseExtensionType) else value
    if pa.types.is_dictionary(leaf):
        num_bits = leaf.index_type.bit_width
        index = None if value.null_count else bytes(num_bits // 8)
        reader = _kernels.PageReader.constant(
            num_rows, format=(False, num_bits), value=index, validity=None if index is None else validity
        )
        return NativePage(reader, Form(leaf.index_type, storage.dictionary))
    format, list_size = _format(storage.type, None), list_size_of(storage.type)
    if format is None:
        return None
    content = None
    if not value.null_count:
        has_offsets, bits = format
        _, *_, data = storage.buffers()
        if has_offsets:
            content = storage.cast(pa.large_binary())[0].as_py() if bits == 64 else storage.cast(pa.binary())[0].as_py()
        else:
            content = bytes(memoryview(data)[: (bits + 7) // 8])
    if content is None:
        validity = None
    reader = _kernels.PageReader.constant(
        num_rows, format=format, list_size=list_size, value=content, validity=validity
    )
    return NativePage(reader, Form(storage.type))


def empty_page(leaf: pa.DataType, num_rows: int) -> NativePage | None:
    """Returns the reader of a page whose values are all zero or empty; None for unsupported types."""
    storage = kinds.storage(leaf)
    format = _format(storage, None)
    if format is None:
        return None
    has_offsets, bits = format
    value = b"" if has_offsets else bytes((bits + 7) // 8)
    reader = _kernels.PageReader.constant(num_rows, format=format, list_size=list_size_of(storage), value=value)
    return NativePage(reader, Form(storage))


def fixed_width_bits(values: Encoding) -> int | None:
    """Returns the bits of values of fixed width that can be tested in encoded form; None for other values."""
    codec = value_codec(values)
    return codec[1] if codec is not None and codec[0] not in STRING_CODECS and codec[1] in (*_INDICES, 128) else None


def are_strings(values: Encoding, leaf: pa.DataType) -> bool:
    """Whether the values are byte strings that the kernels decode for a type."""
    codec = value_codec(values)
    return codec is not None and codec[0] in STRING_CODECS and kinds.has_offsets(leaf)


_INDICES = (8, 16, 32, 64)


def _format(type: pa.DataType, dictionary: Block | None) -> tuple[bool, int] | None:
    """Returns whether arrays of the type have offsets, and the bits of an offset or a value; None for other types."""
    if pa.types.is_dictionary(type):
        return (False, type.index_type.bit_width) if dictionary is not None else None
    if kinds.has_offsets(type):
        return True, kinds.offset_bits(type)
    list_size = list_size_of(type)
    if list_size is not None:
        format = _format(type.value_type, None)
        return (False, list_size * format[1]) if format is not None else None
    if pa.types.is_nested(type) or pa.types.is_null(type):
        return None
    try:
        bits = type.bit_width
    except ValueError:
        return None
    return (False, bits) if bits == 1 or (bits > 0 and bits % 8 == 0) else None


def list_size_of(type: pa.DataType) -> int | None:
    """Returns the items of a fixed-size list of values of whole bytes; None for other types."""
    if not pa.types.is_fixed_size_list(type) or not 0 < type.list_size <= MAX_LIST_SIZE:
        return None
    items = type.value_type
    if pa.types.is_nested(items) or pa.types.is_dictionary(items) or isinstance(items, pa.BaseExtensionType):
        return None
    format = _format(items, None)
    is_whole = format is not None and not format[0] and format[1] % 8 == 0
    return int(type.list_size) if is_whole else None


def _fits(codec: ValueCodec, bits: int, type: pa.DataType, format: tuple[bool, int]) -> bool:
    has_offsets, wanted = format
    if codec in STRING_CODECS:
        return has_offsets and bits in (32, 64)
    return not has_offsets and (bits == wanted or (pa.types.is_decimal64(type) and bits == 128))


def _items(
    dictionary: Block, type: pa.DataType, format: tuple[bool, int]
) -> tuple[int, int, pa.Buffer | None, pa.Buffer] | None:
    """Returns the items in the form for the kernels; None for items that do not fit the type, or are unsupported."""
    if pa.types.is_decimal64(type) and isinstance(dictionary, FixedWidth) and dictionary.bits_per_value == 128:
        narrow = to_array(dictionary, type)
        dictionary = FixedWidth(dictionary.num_values, 64, narrow.buffers()[1])
    has_offsets, bits = format
    keeps_indices = pa.types.is_dictionary(type)
    if keeps_indices and dictionary.num_values - 1 > np.iinfo(type.index_type.to_pandas_dtype()).max:
        raise CorruptFile(f"{dictionary.num_values} dictionary items are more than {type.index_type} can count")
    match dictionary:
        case FixedWidth(num_values=count, bits_per_value=item_bits, data=data):
            if keeps_indices or (not has_offsets and item_bits == bits and bits % 8 == 0):
                return count, item_bits, None, data
        case VariableWidth(num_values=count, offset_bits=item_bits, offsets=offsets, data=data):
            if keeps_indices or has_offsets:
                return count, item_bits, offsets, data
    return None
