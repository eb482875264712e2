"""Types of columns in the form for the kernels, which open pages of files 2.1 and 2.2 by them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.layouts.form import format_of, makes_items
from lance_sql.format.layouts.nest import Chain
from lance_sql.values import kinds

Shape: TypeAlias = tuple[object, ...]
"""The arrays of a value: see `_kernels.ColumnType`."""

_MOST_ITEMS: Final = 1 << 40


def column_type(chain: Chain, *, is_nested: bool, are_places: bool = False) -> _kernels.ColumnType:
    """Returns the type that pages become.

    is_nested: as arrays of the whole chain; otherwise only the values, inside structs at most
    are_places: places of blobs, inside of the pages of blobs
    """
    return _column_type(chain.leaf, chain.outer, is_nested, are_places)


@lru_cache(maxsize=1024)
def plain_type(type: pa.DataType) -> _kernels.ColumnType | None:
    """Returns the type of values that are not nested and have no parts; None for other types."""
    return _column_type(type, (), False, False) if format_of(kinds.storage(type)) is not None else None


@lru_cache(maxsize=4096)
def _column_type(
    leaf: pa.DataType, outer: tuple[pa.DataType, ...], is_nested: bool, are_places: bool
) -> _kernels.ColumnType:
    storage = kinds.storage(leaf)
    index = storage.index_type if pa.types.is_dictionary(storage) else None
    return _kernels.ColumnType(
        _shape_of(storage if index is None else storage.value_type),
        index_bits=0 if index is None else index.bit_width,
        most_items=0 if index is None else min(int(np.iinfo(index.to_pandas_dtype()).max), _MOST_ITEMS),
        makes_items=makes_items(leaf),
        outer=[(kinds.offset_bits(type), _list_size(type)) for type in outer],
        is_nested=is_nested,
        are_places=are_places,
        leaf_name=str(leaf),
        name=str(outer[-1] if outer else leaf),
    )


def _list_size(type: pa.DataType) -> int:
    return int(type.list_size) if pa.types.is_fixed_size_list(type) else 1


def _shape_of(type: pa.DataType) -> Shape:
    type = kinds.storage(type)
    if pa.types.is_null(type):
        return ("null",)
    if pa.types.is_fixed_size_list(type):
        return "lists", type.list_size, _shape_of(type.value_type)
    if pa.types.is_struct(type):
        return "struct", tuple(_shape_of(type.field(i).type) for i in range(type.num_fields))
    if pa.types.is_fixed_size_binary(type) and type.byte_width == 0:
        return "plain", False, 0, False
    format = format_of(type)
    # dictionaries, lists with offsets and maps inside of a value
    return ("other",) if format is None else ("plain", *format, pa.types.is_decimal64(type))
