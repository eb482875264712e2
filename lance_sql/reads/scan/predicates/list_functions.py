"""List functions in filters."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.values import kinds

from .constants import plain_type
from .function import Function, Types


def has_comparable_items(type: pa.DataType) -> bool:
    """Whether items of a list are compared as in SQL; floating-point items are not."""
    if not kinds.has_items(type):
        return False
    item = plain_type(type.value_type)
    return bool(
        kinds.is_text(item)
        or kinds.is_bytes(item)
        or pa.types.is_integer(item)
        or pa.types.is_boolean(item)
        or pa.types.is_decimal128(item)
        or pa.types.is_date32(item)
        or pa.types.is_timestamp(item)
    )


def _length(types: Types) -> pa.DataType | None:
    return pa.int64() if kinds.has_items(types[0]) else None


def _count(result: pa.DataType, lists: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.list_value_length(lists).cast(result)


def _membership(types: Types) -> pa.DataType | None:
    return pa.bool_() if has_comparable_items(types[0]) else None


def _contains(result: pa.DataType, lists: pa.Array, wanted: pa.Array) -> pa.Array:
    """Tests whether an item is equal to a constant; NULL for a NULL list, false for an empty one."""
    import pyarrow.compute as pc

    from . import comparisons

    if not len(lists):
        return pa.array([], result)
    has_item = np.zeros(len(lists), np.bool_)
    equal = pc.equal(comparisons.plain(pc.list_flatten(lists)), wanted[0])
    has_item[pc.list_parent_indices(lists).filter(equal).to_numpy(zero_copy_only=False)] = True
    return pc.if_else(pc.is_valid(lists), pa.array(has_item), pa.scalar(None, result))


LIST_FUNCTIONS: Final[dict[str, Function]] = {
    "len": Function(_length, _count),
    "list_contains": Function(_membership, _contains),
}
