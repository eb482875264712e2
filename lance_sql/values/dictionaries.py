"""Dictionary-encoded arrays that combine the items of several dictionaries.

Arrow unifies dictionaries as well. But it supports neither those with NULL among their items nor those that use every
key of their type, and it treats all items as used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.values import kinds

_NARROW_BITS: Final = 16
"""Keys with more bits can number more items than a file has."""


def most_items(type: pa.DictionaryType) -> int:
    """Returns the number of items that the keys of a type can number."""
    bits = type.index_type.bit_width
    return 1 << int(bits - 1 if pa.types.is_signed_integer(type.index_type) else bits)


def narrow(type: pa.DataType) -> bool:
    """Whether the type contains dictionaries, at any depth, whose keys can number few items."""
    if pa.types.is_dictionary(type):
        return bool(type.index_type.bit_width <= _NARROW_BITS)
    return any(narrow(field.type) for field in kinds.members(type))


def concat(arrays: Sequence[pa.Array]) -> pa.Array:
    """Concatenates arrays of one type.

    raises: UnsupportedFeature for dictionaries that together have too many items for the keys
    """
    if len(arrays) == 1:
        return arrays[0]
    if not kinds.any_leaf(arrays[0].type, pa.types.is_dictionary):
        return pa.concat_arrays(arrays)
    return _concat(arrays)


def _concat(arrays: Sequence[pa.Array]) -> pa.Array:
    type = arrays[0].type
    if pa.types.is_dictionary(type):
        return _unified(arrays)
    if not kinds.any_leaf(type, pa.types.is_dictionary):
        return pa.concat_arrays(arrays)
    nulls = np.concatenate([array.is_null().to_numpy(zero_copy_only=False) for array in arrays])
    mask = pa.array(nulls) if nulls.any() else None
    if pa.types.is_struct(type):
        # the members of a slice are already sliced
        members = [_concat([array.field(i) for array in arrays]) for i in range(type.num_fields)]
        return pa.StructArray.from_arrays(members, fields=list(type), mask=mask)
    if pa.types.is_fixed_size_list(type):
        size = type.list_size
        items = _concat([array.values.slice(array.offset * size, len(array) * size) for array in arrays])
        return pa.FixedSizeListArray.from_arrays(items, type=type, mask=mask)
    bounds = [array.offsets.to_numpy().astype(np.int64) for array in arrays]
    parts = [
        array.values.slice(int(each[0]), int(each[-1] - each[0])) for array, each in zip(arrays, bounds, strict=True)
    ]
    lengths = np.concatenate([np.diff(each) for each in bounds])
    ends = pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
    if pa.types.is_map(type):
        entries = _concat(parts)
        lists = pa.ListArray.from_arrays(ends.cast(pa.int32()), entries, mask=mask)
        return pa.Array.from_buffers(type, len(lists), lists.buffers()[:2], children=[entries])
    return kinds.list_array(type).from_arrays(ends.cast(kinds.offset_type(type)), _concat(parts), type=type, mask=mask)


def _unified(arrays: Sequence[pa.DictionaryArray]) -> pa.DictionaryArray:
    type = arrays[0].type
    first = arrays[0].dictionary
    if all(array.dictionary.equals(first) for array in arrays[1:]):
        return pa.DictionaryArray.from_arrays(
            pa.concat_arrays([array.indices for array in arrays]), first, ordered=type.ordered
        )
    encoded = pa.concat_arrays([array.dictionary for array in arrays]).dictionary_encode()
    if len(encoded.dictionary) > most_items(type):
        arrays = [_used(array) for array in arrays]
        encoded = pa.concat_arrays([array.dictionary for array in arrays]).dictionary_encode()
    count = len(encoded.dictionary)
    if count > most_items(type):
        raise UnsupportedFeature(
            f"the values of {len(arrays)} parts have {count} different items, more than the {most_items(type)} of keys"
            f" of {type.index_type}: read fewer rows at a time (batch_size=)"
        )
    keys, start = [], 0
    for array in arrays:
        positions = encoded.indices.slice(start, len(array.dictionary))
        keys.append(positions.take(array.indices).cast(type.index_type))
        start += len(array.dictionary)
    return pa.DictionaryArray.from_arrays(pa.concat_arrays(keys), encoded.dictionary, ordered=type.ordered)


def _used(array: pa.DictionaryArray) -> pa.DictionaryArray:
    """Returns the array without unused items."""
    used = array.indices.drop_null().unique()
    new = np.zeros(len(array.dictionary), np.int64)
    new[used.to_numpy()] = np.arange(len(used))
    indices = pa.array(new, pa.int64()).take(array.indices).cast(array.indices.type)
    return pa.DictionaryArray.from_arrays(indices, array.dictionary.take(used))


class Items:
    """The items of the dictionaries with few keys in the columns of a file."""

    def __init__(self, schema: pa.Schema) -> None:
        """
        schema: of the batches
        """
        self._columns = [i for i, type in enumerate(schema.types) if narrow(type)]
        self._seen: dict[tuple[int, int], set[object]] = {}
        self._last: dict[tuple[int, int], pa.Array] = {}

    def excess(self, batch: pa.RecordBatch) -> str | None:
        """Returns the error for a column in which a dictionary would get too many items with these rows, or None if
        there is none."""
        for column, number, array in self._dictionaries(batch):
            key = column, number
            most = most_items(array.type)
            if self._is_known(key, array.dictionary):
                continue
            count = len(self._seen.get(key, set()).union(_items(array.dictionary)))
            if count > most:
                name = batch.schema.names[column]
                keys = array.type.index_type
                return f"column {name!r} has {count} different items, of which keys of {keys} count {most}"
        return None

    def add(self, batch: pa.RecordBatch) -> None:
        for column, number, array in self._dictionaries(batch):
            key = column, number
            if not self._is_known(key, array.dictionary):
                self._seen.setdefault(key, set()).update(_items(array.dictionary))
                self._last[key] = array.dictionary

    def take(self, batch: pa.RecordBatch) -> bool:
        """Records the items of rows, unless a dictionary would get too many. Returns whether they were recorded."""
        fits = self.excess(batch) is None
        if fits:
            self.add(batch)
        return fits

    def _is_known(self, key: tuple[int, int], items: pa.Array) -> bool:
        last = self._last.get(key)
        return last is not None and last.equals(items)

    def _dictionaries(self, batch: pa.RecordBatch) -> Iterator[tuple[int, int, pa.DictionaryArray]]:
        for column in self._columns:
            for number, array in enumerate(_leaves(batch.column(column))):
                yield column, number, array


def _items(dictionary: pa.Array) -> Iterator[object]:
    if pa.types.is_floating(dictionary.type):
        # one NaN for all
        return ("NaN" if item != item else item for item in dictionary.to_pylist())
    return (item for item in dictionary.to_pylist() if item is not None)


def _leaves(array: pa.Array) -> Iterator[pa.DictionaryArray]:
    type = array.type
    if pa.types.is_dictionary(type):
        yield array
    elif pa.types.is_struct(type):
        for i in range(type.num_fields):
            yield from _leaves(array.field(i))
    elif pa.types.is_map(type):
        yield from _leaves(array.keys)
        yield from _leaves(array.items)
    elif pa.types.is_nested(type):
        yield from _leaves(array.values)
