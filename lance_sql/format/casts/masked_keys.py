"""Keys of dictionaries below a NULL: no item has to belong to them, as where a batch has NULL structs only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.values import kinds

_Mask = npt.NDArray[np.bool_]


def masked(array: pa.Array, below_null: _Mask | None = None) -> pa.Array:
    """Returns equal values in which every key below a NULL struct or fixed-size list is NULL.

    below_null: bool[n], the rows with a NULL above them
    """
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, masked(array.storage, below_null))
    if pa.types.is_dictionary(type):
        return array if below_null is None else _without_keys(array, below_null)
    if pa.types.is_struct(type):
        nulls = _nulls(array, below_null)
        children = [masked(array.field(i), nulls) for i in range(type.num_fields)]
        return _rebuilt(array, children)
    if pa.types.is_fixed_size_list(type):
        size = type.list_size
        items = array.values.slice(array.offset * size, len(array) * size)
        return _rebuilt(array, [masked(items, np.repeat(_nulls(array, below_null), size))])
    if kinds.is_list(type) or pa.types.is_map(type):
        children = [masked(array.values)]
        buffers = array.buffers()[:2]
        return pa.Array.from_buffers(type, len(array), buffers, array.null_count, array.offset, children)
    return array


def _nulls(array: pa.Array, below_null: _Mask | None) -> _Mask:
    nulls: _Mask = array.is_null().to_numpy(zero_copy_only=False)
    return nulls if below_null is None else nulls | below_null


def _without_keys(array: pa.DictionaryArray, below_null: _Mask) -> pa.Array:
    indices: Any = array.indices
    keys = indices.fill_null(0).to_numpy()
    mask = _nulls(indices, below_null)
    kept = pa.array(np.where(mask, keys.dtype.type(0), keys), indices.type, mask=mask)
    return pa.DictionaryArray.from_arrays(kept, array.dictionary, ordered=array.type.ordered, safe=False)


def _rebuilt(array: pa.Array, children: list[pa.Array]) -> pa.Array:
    """Returns a struct or fixed-size list with other children, which begin at its first row."""
    valid = array.is_valid()
    if valid.offset:
        valid = pa.concat_arrays([valid])
    return pa.Array.from_buffers(array.type, len(array), [valid.buffers()[1]], array.null_count, 0, children)
