"""The order of values in index files: floats by the total order of IEEE 754, text and bytes by their bytes, NULL first.

    -NaN < -inf < .. < -0.0 < 0.0 < .. < inf < NaN

Source: indices, zone map and BTree.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import UnsupportedFeature

I64 = npt.NDArray[np.int64]


def check(type: pa.DataType) -> None:
    """Makes sure that values of the type have an order here.

    raises: UnsupportedFeature
    """
    kinds = pa.types
    is_known = kinds.is_integer(type) or kinds.is_floating(type) or kinds.is_boolean(type) or kinds.is_temporal(type)
    is_known = is_known or kinds.is_decimal128(type) or kinds.is_decimal256(type) or _is_bytes(type)
    # intervals are temporal types without an order
    if not is_known or kinds.is_interval(type) or isinstance(type, pa.BaseExtensionType):
        raise UnsupportedFeature(f"a scalar index on a column of type {type}")


def keys(values: pa.Array) -> pa.Array:
    """Something for each value, NULL for NULL, that Arrow sorts and compares in this order."""
    type = values.type
    if pa.types.is_floating(type):
        bits = values.view(f"int{type.bit_width}").cast(pa.int64())
        number = bits.fill_null(0).to_numpy()
        # below zero, greater bits are smaller numbers
        flipped = np.where(number < 0, number ^ np.int64(2 ** (type.bit_width - 1) - 1), number)
        return pa.array(flipped, mask=values.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_temporal(type):
        return values.view(f"int{type.bit_width}")
    if pa.types.is_boolean(type):
        return values.cast(pa.uint8())
    if pa.types.is_string(type):
        return values.view(pa.binary())
    if pa.types.is_large_string(type):
        return values.view(pa.large_binary())
    return values


def ascending(values: pa.Array) -> I64:
    """The places of the values in their order, equal ones as they come: int64[len(values)]."""
    sortable = keys(values)
    if pa.types.is_integer(sortable.type) and not sortable.null_count:
        return np.argsort(sortable.to_numpy(), kind="stable")
    found = pc.array_sort_indices(sortable, order="ascending", null_placement="at_start")
    places: I64 = found.to_numpy().astype(np.int64)
    return places


def _is_bytes(type: pa.DataType) -> bool:
    is_text = pa.types.is_string(type) or pa.types.is_large_string(type)
    return bool(is_text or pa.types.is_binary(type) or pa.types.is_large_binary(type))
