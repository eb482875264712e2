"""Equality of tables as the corpus defines it.

Types and values are exact: NaN equals NaN, -0.0 is not 0.0, and what lies beneath a NULL does not count. Names of list
items, nullability inside of types, chunking, metadata, and which dictionary holds a value do not count either. JSON is
compared as what it means.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_JSON = ("arrow.json", "lance.json")


def assert_same(found: pa.Table, expected: pa.Table, columns: Sequence[str], where: str) -> None:
    """Fails with the first difference in `columns`, which have to be all that was found, in this order."""
    assert found.column_names == list(columns), where
    assert found.num_rows == expected.num_rows, where
    for name in columns:
        problem = difference(found[name], expected[name], _is_json(expected.schema.field(name)))
        assert not problem, f"{where}: column {name!r}: {problem}"


def difference(found: pa.ChunkedArray, expected: pa.ChunkedArray, is_json: bool = False) -> str | None:
    """The first difference of two columns; None when they are the same."""
    if not is_json and plain_type(found.type) != plain_type(expected.type):
        return f"type {plain_type(found.type)} instead of {plain_type(expected.type)}"
    if len(found) == len(expected) == 0:
        return None
    left, right = plain(found, is_json), plain(expected, is_json)
    if left.equals(right):
        return None
    for row, (one, other) in enumerate(zip(left.to_pylist(), right.to_pylist(), strict=True)):
        if one != other:
            return f"row {row} is {found[row]} instead of {expected[row]}"
    return "not equal, though no row differs"


def plain_type(data_type: pa.DataType) -> pa.DataType:
    """The type with nothing left of it that does not count."""
    if isinstance(data_type, pa.BaseExtensionType):
        return plain_type(data_type.storage_type)
    if pa.types.is_struct(data_type):
        return pa.struct([pa.field(member.name, plain_type(member.type)) for member in data_type])
    if pa.types.is_map(data_type):
        return pa.map_(plain_type(data_type.key_type), plain_type(data_type.item_type))
    if pa.types.is_fixed_size_list(data_type):
        return pa.list_(plain_type(data_type.value_type), data_type.list_size)
    if pa.types.is_large_list(data_type):
        return pa.large_list(plain_type(data_type.value_type))
    if pa.types.is_list(data_type):
        return pa.list_(plain_type(data_type.value_type))
    if pa.types.is_dictionary(data_type):
        return pa.dictionary(data_type.index_type, plain_type(data_type.value_type))
    return data_type


def plain(column: pa.ChunkedArray, is_json: bool = False) -> pa.ChunkedArray:
    """The values, at least one, in a form in which Arrow's own equality is the one of the corpus."""
    return pa.chunked_array(
        [_plain_json(_storage(chunk)) if is_json else _plain(chunk) for chunk in column.chunks if len(chunk)]
    )


def _plain(array: pa.Array) -> pa.Array:
    array = _storage(array)
    if pa.types.is_dictionary(array.type):
        # Not dictionary_decode, which drops a dictionary's own NULLs.
        return _plain(array.dictionary.take(array.indices))
    if pa.types.is_struct(array.type):
        members = [_plain(member) for member in array.flatten()]
        names = [member.name for member in array.type]
        if not members:
            return array.is_valid()
        return pa.StructArray.from_arrays(members, names, mask=array.is_null())
    if pa.types.is_map(array.type):
        array = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    if _is_list(array.type):
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        offsets = pa.array(np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))))
        return pa.LargeListArray.from_arrays(offsets, _plain(array.flatten()), mask=array.is_null())
    if pa.types.is_floating(array.type):
        return _bits(array)
    return array


def _bits(array: pa.Array) -> pa.Array:
    """The bit patterns of floating point numbers, with one for all NaN."""
    bits = array.view({16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[array.type.bit_width])
    patterns = pc.fill_null(bits, 0).to_numpy(zero_copy_only=False).copy()
    numbers = patterns.view(f"f{patterns.itemsize}")
    numbers[np.isnan(numbers)] = np.nan
    return pa.array(patterns, mask=array.is_null().to_numpy(zero_copy_only=False))


def _plain_json(array: pa.Array) -> pa.Array:
    texts = (None if text is None else json.dumps(json.loads(text), sort_keys=True) for text in array.to_pylist())
    return pa.array(texts, pa.string())


def _is_list(data_type: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(data_type) for test in tests)


def _storage(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _is_json(field: pa.Field) -> bool:
    named = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()
    own = getattr(field.type, "extension_name", "") if isinstance(field.type, pa.BaseExtensionType) else ""
    return any(name in _JSON for name in chain([named], [own]))
