"""Conversion of the members of lists, structs and maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql.values import kinds

Convert: TypeAlias = Callable[[pa.Array, pa.DataType], pa.Array]


def convert_members(array: pa.Array, target: pa.DataType, convert: Convert) -> pa.Array:
    """Converts the members of an array to the types of the target: those of structs by name, missing ones as NULL.

    convert: converts the values of one member; values below NULL are NULL, or left out
    raises: pa.ArrowInvalid for members that the target does not have, and lists of another length;
        pa.ArrowNotImplementedError for different kinds of types; errors of `convert`
    """
    source = array.type
    if pa.types.is_struct(source) and pa.types.is_struct(target):
        return _struct(array, target, convert)
    if pa.types.is_map(source) and pa.types.is_map(target):
        return _map(array, target, convert)
    if kinds.has_items(source) and pa.types.is_fixed_size_list(target):
        return _fixed(array, target, convert)
    if kinds.has_items(source) and kinds.is_list(target):
        kind = kinds.list_array(target)
        items = convert(array.flatten(), target.value_type)
        return kind.from_arrays(_offsets(array, target), items, type=target, mask=_mask(array))
    raise pa.ArrowNotImplementedError(f"{source} cannot become {target}")


def _struct(array: pa.StructArray, target: pa.StructType, convert: Convert) -> pa.Array:
    names = [field.name for field in array.type]
    unknown = [name for name in names if target.get_field_index(name) < 0]
    if unknown:
        raise pa.ArrowInvalid(f"no member {unknown[0]!r}")
    # with NULL for each NULL struct
    members = dict(zip(names, array.flatten(), strict=True))
    converted = []
    for field in target:
        if field.name in members:
            converted.append(convert(members[field.name], field.type))
        elif field.nullable:
            converted.append(pa.nulls(len(array), field.type))
        else:
            raise pa.ArrowInvalid(f"the member {field.name!r} is missing, and it may not be NULL")
    if not converted:
        return array.cast(target)
    return pa.StructArray.from_arrays(converted, fields=list(target), mask=_mask(array))


def _map(array: pa.MapArray, target: pa.MapType, convert: Convert) -> pa.Array:
    lists = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    entries = lists.flatten()
    keys, items = (convert(entries.field(i), type) for i, type in enumerate((target.key_type, target.item_type)))
    converted = pa.MapArray.from_arrays(_offsets(lists, target), keys, items, type=target)
    return (
        converted
        if not array.null_count
        else pa.Array.from_buffers(
            target, len(converted), [_validity(array), converted.buffers()[1]], children=[_entries(converted, target)]
        )
    )


def _entries(map_array: pa.MapArray, target: pa.MapType) -> pa.Array:
    return pa.StructArray.from_arrays([map_array.keys, map_array.items], fields=[target.key_field, target.item_field])


def _validity(array: pa.Array) -> pa.Buffer:
    return pa.array(array.is_valid().to_numpy(zero_copy_only=False)).buffers()[1]


def _fixed(array: pa.Array, target: pa.FixedSizeListType, convert: Convert) -> pa.Array:
    import pyarrow.compute as pc

    size, lengths = target.list_size, pc.list_value_length(array)
    if pc.any(pc.not_equal(lengths, size)).as_py():
        raise pa.ArrowInvalid(f"a list has other than {size} items")
    items = convert(array.flatten(), target.value_type)
    if array.null_count:
        # a NULL has items, too
        valid = np.repeat(array.is_valid().to_numpy(zero_copy_only=False), size)
        items = items.take(pa.array(np.cumsum(valid) - 1, mask=~valid))
    return pa.FixedSizeListArray.from_arrays(items, type=target, mask=_mask(array))


def _offsets(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Returns the start of each list of a flattened array, and the end of the last."""
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return pa.array(offsets).cast(kinds.offset_type(target))


def _mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None
