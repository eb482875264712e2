"""Encoding of the rows of a leaf column as one page, with the choice of the layout.

no item, or NULLs only, or one value everywhere     constant
values of less than 256 bytes on average            mini-block
larger ones                                         full-zip
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.encodings import choose, dictionary, fixed_size_list, packed_struct, variable
from lance_sql.format.encodings.blocks import Block, DictionaryValues, FixedWidth, Lists, Struct, VariableWidth
from lance_sql.format.encodings.from_arrow import from_array
from lance_sql.format.encodings.preferences import Preferences, from_metadata
from lance_sql.format.encodings.scalar import scalar_of
from lance_sql.format.encodings.tree import Flat
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts import encode_constant, encode_full_zip, encode_mini_block
from lance_sql.format.layouts.encode_full_zip import FixedValues, VariableValues
from lance_sql.format.layouts.shredded import Buffers, EncodedPage, ShreddedPage
from lance_sql.format.layouts.tree import Layer, PageLayout, max_definition, max_repetition, max_visible
from lance_sql.format.layouts.wire_v2_1 import layout_to_wire
from lance_sql.format.schema import Field
from lance_sql.values.arrays import BoolMask

LARGE_VALUE_BYTES = 256
"""Values with at least this average size get individual places, so that one is read without its neighbors."""

LONGEST_CHUNK_VALUE = 1 << 12
"""Maximum length of a string in a chunk, so that chunks stay small."""

COMPRESSED_VALUE_BYTES = 1 << 12
"""Values of at least this size are compressed individually."""

SCALAR_LEVEL_BYTES = 1 << 12

MAX_PACKED_BYTES = (1 << 31) - 1


def encode_page(page: ShreddedPage, field: Field, rules: PageRules) -> EncodedPage:
    """Encodes the page by the rules of a file version, in the layout and encoding with the fewest bytes.

    raises: UnsupportedFeature for values that the file version does not support; InvalidArgument for invalid metadata
        of the field, and for values that cannot be stored
    """
    layout, buffers = encode_layout(page, field, rules)
    return EncodedPage(layout_to_wire(layout), buffers, page.num_rows)


def encode_layout(page: ShreddedPage, field: Field, rules: PageRules) -> tuple[PageLayout, Buffers]:
    """Returns the layout and the buffers of `encode_page`."""
    if page.num_rows == 0:
        raise InvalidArgument("a page without rows")
    _check_levels(page)
    return _encode(page, from_metadata(field.metadata), rules)


def _encode(page: ShreddedPage, preferences: Preferences, rules: PageRules) -> tuple[PageLayout, Buffers]:
    type = page.values.type
    if pa.types.is_struct(type) and type.num_fields == 0:
        return _empty_structs(page, rules)
    nulls = _nulls(page)
    if len(page.values) == 0 or pa.types.is_null(type) or (nulls is not None and nulls.all()):
        return encode_constant.encode(page, None, rules)
    values = _without_null_indices(from_array(page.values), nulls)
    if isinstance(values, Lists):
        values = fixed_size_list.without_hidden_nulls(values, nulls)
    if isinstance(values, DictionaryValues):
        values = _used_items(values, page.values.dictionary)
        if encoded := _dictionary_page(page, values, preferences, rules):
            return encoded
        raise UnsupportedFeature("dictionaries with so many empty lists in a row are not supported")
    if isinstance(values, Struct):
        return _packed_structs(page, values, preferences, rules)
    if (
        rules.constant_values
        and (_suits_scalar(page) or _has_no_bytes(values))
        and (scalar := scalar_of(values, nulls))
    ):
        return encode_constant.encode(page, scalar, rules)
    in_chunks = _suits_chunks(values, preferences, rules)
    # strings get a codec last, because making one encodes them
    codec = (
        choose.chunk_codec(values, preferences, rules) if in_chunks and not isinstance(values, VariableWidth) else None
    )
    dictionary = choose.dictionary_of(values, preferences, rules, codec)
    if dictionary and (encoded := _dictionary_page(page, dictionary, preferences, rules)):
        return encoded
    if in_chunks:
        codec = codec or choose.chunk_codec(values, preferences, rules)
        if encoded := encode_mini_block.encode(page, codec, None, rules):
            return encoded
    if not _has_whole_bytes(values):
        raise UnsupportedFeature("fixed-size lists of booleans do not fit into chunks")
    return encode_full_zip.encode(page, _full_zip_values(values, preferences))


def _check_levels(page: ShreddedPage) -> None:
    """Asserts that the levels are consistent, because an inconsistent page would be unreadable."""
    rep, defs, layers = page.repetition, page.definition, page.layers
    assert (rep is not None) == (max_repetition(layers) > 0), f"repetition levels for {layers}"
    assert defs is None or (len(defs) == page.num_entries and int(defs.max(initial=0)) <= max_definition(layers))
    num_rows = page.num_entries if rep is None else int(np.count_nonzero(rep == max_repetition(layers)))
    num_items = page.num_entries if defs is None else int(np.count_nonzero(defs <= max_visible(layers)))
    assert num_rows == page.num_rows, f"levels of {num_rows} rows in a page of {page.num_rows}"
    assert num_items == len(page.values), f"levels of {num_items} items for {len(page.values)} values"


def _suits_scalar(page: ShreddedPage) -> bool:
    """Whether there are few levels, which take two bytes each beside a scalar."""
    kinds = (page.repetition is not None) + (page.definition is not None)
    return 2 * kinds * page.num_entries <= SCALAR_LEVEL_BYTES


def _has_no_bytes(values: Block) -> bool:
    """Whether values take no bytes, which only the layout of one scalar supports."""
    return isinstance(values, FixedWidth) and values.bits_per_value == 0


def _empty_structs(page: ShreddedPage, rules: PageRules) -> tuple[PageLayout, Buffers]:
    if page.repetition is not None or page.definition is not None:
        raise UnsupportedFeature("a struct without members is supported outside of lists and without NULLs only")
    return encode_constant.encode(replace(page, layers=(Layer.NULLABLE_ITEM,)), None, rules)


def _nulls(page: ShreddedPage) -> BoolMask | None:
    """Returns whether each item is NULL, on any level; None if none is."""
    levels = page.definition
    if levels is None or max_visible(page.layers) == 0:
        return None
    if max_visible(page.layers) < max_definition(page.layers):
        levels = levels[levels <= max_visible(page.layers)]
    nulls: BoolMask = levels > 0
    return nulls


def _has_whole_bytes(values: Block) -> bool:
    """Whether a full-zip page supports the values: it does not pad lists of booleans to bytes."""
    return not isinstance(values, Lists) or fixed_size_list.bits_per_list(values) % 8 == 0


def _suits_chunks(values: Block, preferences: Preferences, rules: PageRules) -> bool:
    if not _has_whole_bytes(values):
        return True
    if preferences.full_zip is not None:
        return not preferences.full_zip
    match values:
        case FixedWidth(bits_per_value=bits):
            return bits < 8 * LARGE_VALUE_BYTES
        case Lists():
            return fixed_size_list.bits_per_list(values) < 8 * LARGE_VALUE_BYTES
        case VariableWidth():
            # compressed together, values become smaller than one by one
            if preferences.compression is not None and rules.has_large_chunk:
                return variable.num_bytes(values) < COMPRESSED_VALUE_BYTES * values.num_values
            longest = variable.longest(values)
            return longest < LARGE_VALUE_BYTES or (
                longest <= LONGEST_CHUNK_VALUE and variable.num_bytes(values) < LARGE_VALUE_BYTES * values.num_values
            )
    raise AssertionError(values)


def _full_zip_values(values: Block, preferences: Preferences) -> FixedValues | VariableValues:
    match values:
        case FixedWidth(bits_per_value=1):
            bits = np.unpackbits(np.frombuffer(values.data, np.uint8), count=values.num_values, bitorder="little")
            return FixedValues(Flat(8), 8, pa.py_buffer(bits))
        case FixedWidth(bits_per_value=bits, data=data):
            return FixedValues(Flat(bits), bits, data)
        case Lists():
            return FixedValues(*fixed_size_list.encode_values(values))
        case VariableWidth(offset_bits=bits):
            encoding, strings = choose.value_strings(values, preferences)
            return VariableValues(encoding, bits, strings)
    raise AssertionError(values)


def _packed_structs(
    page: ShreddedPage, values: Struct, preferences: Preferences, rules: PageRules
) -> tuple[PageLayout, Buffers]:
    _check_packed(page)
    if packed_struct.is_fixed(values):
        if encoded := encode_mini_block.encode(page, choose.chunk_codec(values, preferences, rules), None, rules):
            return encoded
        raise UnsupportedFeature("packed structs do not fit into chunks")
    if not rules.packed_strings:
        raise UnsupportedFeature(
            "files of version 2.1 have packed structs of numbers only: pass file_version='2.2' for lists and strings"
        )
    encoding, strings = packed_struct.encode_rows(values)
    bits = 32 if strings.data.size <= MAX_PACKED_BYTES else 64
    return encode_full_zip.encode(page, VariableValues(encoding, bits, strings))


def _check_packed(page: ShreddedPage) -> None:
    """Raises InvalidArgument for NULLs that a packed struct cannot represent."""
    nulls = _nulls(page)
    for i in range(page.values.type.num_fields):
        name, member = page.values.type.field(i).name, page.values.field(i)
        if not member.null_count:
            continue
        missing = member.is_null().to_numpy(zero_copy_only=False)
        if nulls is None or (missing & ~nulls).any():
            raise InvalidArgument(f"member {name!r} of a packed struct is NULL, and packed structs keep no NULLs")


def _without_null_indices(values: Block, nulls: BoolMask | None) -> Block:
    """Sets the dictionary indices of NULLs, which are arbitrary, to 0."""
    if nulls is None or not isinstance(values, DictionaryValues):
        return values
    indices = np.frombuffer(values.indices.data, f"<u{values.indices.bits_per_value // 8}").copy()
    indices[nulls] = 0
    return replace(values, indices=replace(values.indices, data=pa.py_buffer(indices)))


def _used_items(values: DictionaryValues, dictionary_array: pa.Array) -> DictionaryValues:
    """Removes unused items: a slice of an array still has the whole dictionary.

    raises: InvalidArgument for indices without an item
    """
    bits, num_items = values.indices.bits_per_value, values.items.num_values
    indices = np.frombuffer(values.indices.data, f"<u{bits // 8}")
    if int(indices.max()) >= num_items:
        raise InvalidArgument(f"index {int(indices.max())} of a dictionary of {num_items} items")
    used = np.zeros(num_items, np.bool_)
    used[indices] = True
    if used.all():
        return values
    numbers = (np.cumsum(used) - 1).astype(indices.dtype)
    items = from_array(dictionary_array.filter(pa.array(used)))
    return replace(values, indices=replace(values.indices, data=pa.py_buffer(numbers[indices])), items=items)


def _dictionary_page(
    page: ShreddedPage, values: DictionaryValues, preferences: Preferences, rules: PageRules
) -> tuple[PageLayout, Buffers] | None:
    codec = choose.chunk_codec(values.indices, preferences, rules)
    return encode_mini_block.encode(page, codec, dictionary.encode_items(values.items, preferences, rules), rules)
