"""Random Arrow types and values, for tests that compare readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_T = TypeVar("_T")


class RandomArrow:
    """Draws nested types and arrays from a seeded generator, so that a failing case can be made again by its seed."""

    def __init__(self, seed: int, *, file_version: str) -> None:
        self._rng = np.random.default_rng(seed)
        self._maps = file_version == "2.2"
        self._null_structs = file_version in ("2.1", "2.2")
        self._field = 0

    def type(self, depth: int) -> pa.DataType:
        """A type of at most `depth` levels of nesting that the file version can hold."""
        choices = ["leaf", "leaf"]
        if depth > 0:
            choices += ["struct", "struct", "list", "list", "large_list", "fixed_size_list"]
            choices += ["map"] * self._maps
        match self._pick(choices):
            case "struct":
                members = [self._member(depth - 1) for _ in range(self._rng.integers(1, 4))]
                return pa.struct(members)
            case "list":
                return pa.list_(pa.field("item", self.type(depth - 1)))
            case "large_list":
                return pa.large_list(pa.field("item", self.type(depth - 1)))
            case "fixed_size_list":
                return pa.list_(self._pick(_FIXED_SIZE_ITEMS), int(self._rng.integers(1, 6)))
            case "map":
                return pa.map_(self._pick([pa.string(), pa.int32()]), self.type(depth - 1))
            case _:
                return self._pick(_LEAVES)

    def array(self, type: pa.DataType, length: int) -> pa.Array:
        """Values of `type` with a random share of NULLs at every level: none, few, half, or nothing else."""
        share = float(self._pick([0.0, 0.0, 0.1, 0.5, 1.0]))
        return self._array(type, length, share)

    def _array(self, type: pa.DataType, length: int, null_share: float) -> pa.Array:
        mask = self._rng.random(length) < null_share
        inner = float(self._pick([0.0, 0.1, 0.5, null_share]))
        if pa.types.is_struct(type):
            children = [self._array(field.type, length, inner) for field in type]
            kept = mask if self._null_structs else np.zeros(length, np.bool_)
            return pa.StructArray.from_arrays(children, fields=list(type), mask=pa.array(kept))
        if pa.types.is_fixed_size_list(type):
            values = self._array(type.value_type, length * type.list_size, inner)
            return pa.FixedSizeListArray.from_arrays(values, type=type, mask=pa.array(mask))
        if pa.types.is_map(type):
            offsets = self._offsets(length, mask)
            keys = self._keys(type.key_type, offsets)
            items = self._array(type.item_type, len(keys), inner)
            entries = pa.StructArray.from_arrays([keys, items], fields=[type.key_field, type.item_field])
            validity = pa.py_buffer(np.packbits(~mask, bitorder="little"))
            buffers = [validity, pa.py_buffer(offsets.astype(np.int32))]
            return pa.Array.from_buffers(type, length, buffers, children=[entries])
        if pa.types.is_list(type) or pa.types.is_large_list(type):
            offsets = self._offsets(length, mask)
            values = self._array(type.value_type, int(offsets[-1]), inner)
            array = pa.ListArray if pa.types.is_list(type) else pa.LargeListArray
            width = pa.int32() if pa.types.is_list(type) else pa.int64()
            return array.from_arrays(pa.array(offsets, width), values, type=type, mask=pa.array(mask))
        return self._leaf(type, length, mask)

    def _offsets(self, length: int, mask: npt.NDArray[Any]) -> npt.NDArray[Any]:
        longest = int(self._pick([1, 3, 8, 40])) if length < 20_000 else 1
        lengths = self._rng.integers(0, longest + 1, length)
        lengths[self._rng.random(length) < float(self._pick([0.0, 0.3, 1.0], [0.6, 0.3, 0.1]))] = 0
        lengths[mask] = 0
        return np.concatenate(([0], np.cumsum(lengths)))

    def _keys(self, type: pa.DataType, offsets: npt.NDArray[Any]) -> pa.Array:
        numbers = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
        return (
            pa.array(numbers, pa.int32()) if type == pa.int32() else pa.array([f"key{n}" for n in numbers], pa.string())
        )

    def _leaf(self, type: pa.DataType, length: int, mask: npt.NDArray[Any]) -> pa.Array:
        rng = self._rng
        if pa.types.is_boolean(type):
            return pa.array(rng.random(length) < 0.5, mask=mask)
        if pa.types.is_floating(type):
            values = rng.normal(size=length).astype(type.to_pandas_dtype())
            values[rng.random(length) < 0.05] = np.nan
            return pa.array(values, type, mask=mask, from_pandas=False)
        if pa.types.is_integer(type):
            top = int(self._pick([1, 50, np.iinfo(type.to_pandas_dtype()).max]))
            low = 0 if self._pick([True, False]) or type.to_pandas_dtype()(0).dtype.kind == "u" else -min(top, 100)
            values = rng.integers(low, top, length, endpoint=True, dtype=type.to_pandas_dtype())
            return pa.array(values, type, mask=mask)
        if pa.types.is_decimal(type):
            return pa.array(rng.integers(-1000, 1000, length), mask=mask).cast(pa.decimal128(21, 2)).cast(type)
        kinds = int(self._pick([1, 5, 10_000]))
        size = int(self._pick([3, 20, 400]))
        words = [f"{n:x}" * (1 + n % size) for n in rng.integers(0, kinds, length)]
        return pa.array(words, mask=mask).cast(type)

    def _member(self, depth: int) -> pa.Field:
        self._field += 1
        return pa.field(f"f{self._field}", self.type(depth))

    def _pick(self, choices: Sequence[_T], weights: list[float] | None = None) -> _T:
        return choices[int(self._rng.choice(len(choices), p=weights))]


_LEAVES = [
    pa.bool_(),
    pa.int8(),
    pa.int32(),
    pa.int64(),
    pa.uint16(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.decimal128(21, 2),
]
_FIXED_SIZE_ITEMS = [pa.int32(), pa.float32(), pa.bool_(), pa.float64()]
