"""Arrow arrays of decoded values of pages without levels, which may be dictionaries, lists, structs and NULLs."""

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import blocks
from lance_sql.format.encodings.blocks import (
    Block,
    DictionaryValues,
    FixedWidth,
    Items,
    Lists,
    Nulls,
    Struct,
    VariableWidth,
)
from lance_sql.format.encodings.dictionary import gather
from lance_sql.format.layouts.form import makes_items
from lance_sql.format.old_files import stored


def to_array(block: Block, type: pa.DataType, validity: pa.Buffer | None = None, null_count: int = 0) -> pa.Array:
    """Converts the block to an Arrow array of `type`; validity is a bitmap of `block.num_values` bits, 1 = valid.

    raises: CorruptFile if the widths of the block do not fit the type
    """
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, to_array(block, type.storage_type, validity, null_count))
    if isinstance(block, Nulls) or pa.types.is_null(type):
        return pa.nulls(block.num_values, type)
    if isinstance(block, DictionaryValues):
        if pa.types.is_dictionary(type):
            return _dictionary_array(block, type, validity, null_count)
        block = materialize(block)
    elif makes_items(type) and isinstance(block, VariableWidth):
        return blocks.to_array(block, type.value_type, validity, null_count).dictionary_encode()
    elif pa.types.is_dictionary(type):
        raise UnsupportedFeature(f"values without a dictionary for the dictionary type {type}")
    match block:
        case FixedWidth() | VariableWidth():
            return blocks.to_array(block, type, validity, null_count)
        case Lists():
            if not pa.types.is_fixed_size_list(type) or type.list_size != block.dimension:
                raise CorruptFile(f"lists of {block.dimension} items cannot be {type}")
            items = to_array(block.items, type.value_type, block.validity, -1 if block.validity is not None else 0)
            return pa.Array.from_buffers(type, block.num_values, [validity], null_count, children=[items])
        case Struct():
            if not pa.types.is_struct(type) or type.num_fields != len(block.fields):
                raise CorruptFile(f"a packed struct of {len(block.fields)} fields cannot be {type}")
            children = [to_array(field, type.field(i).type) for i, field in enumerate(block.fields)]
            return pa.Array.from_buffers(type, block.num_values, [validity], null_count, children=children)
    raise AssertionError(block)


def materialize(block: DictionaryValues) -> Items:
    """Returns the values themselves, gathered from the dictionary."""
    indices, items = block.indices, block.items
    if isinstance(items, VariableWidth) or (isinstance(items, FixedWidth) and items.bits_per_value % 8 == 0):
        return gather(items, indices.data, indices.bits_per_value, block.num_values)
    raise UnsupportedFeature(f"a dictionary of {type(items).__name__} values is not supported")


def _dictionary_array(
    block: DictionaryValues, type: pa.DictionaryType, validity: pa.Buffer | None, nulls: int
) -> pa.Array:
    indices = block.indices
    items = to_array(block.items, type.value_type)
    index_type = type.index_type
    data = indices.data
    if block.validity is not None:
        valid = stored.bits(block.validity, len(items))
        items = items.filter(pa.array(valid))
        numbers = np.frombuffer(data, f"u{indices.bits_per_value // 8}", block.num_values)
        positions = np.maximum(np.cumsum(valid) - 1, 0)[numbers]
        data = pa.py_buffer(positions.astype(numbers.dtype))
    if index_type.bit_width != indices.bits_per_value:
        top = np.iinfo(index_type.to_pandas_dtype()).max
        if len(items) - 1 > top:
            raise CorruptFile(f"{len(items)} dictionary items are more than {index_type} can count")
        wide = np.frombuffer(data, f"u{indices.bits_per_value // 8}", block.num_values)
        data = pa.py_buffer(wide.astype(index_type.to_pandas_dtype()))
    array = pa.Array.from_buffers(index_type, block.num_values, [validity, data], nulls)
    return pa.DictionaryArray.from_arrays(array, items, ordered=type.ordered, safe=False)
