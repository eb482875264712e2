"""The chain of types around one leaf, and nested Arrow arrays of it.

A leaf column has the shape of everything around it. A page of it therefore becomes an array of the whole chain, in
which every struct has only the child that leads to the leaf. Chains of sibling leaves are joined afterwards
(`join`). Maps take the form of lists of entries here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.errors import CorruptFile
from lance_sql.format.layouts.tree import Layer, Layers
from lance_sql.values import kinds

Levels: TypeAlias = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Slots:
    """One layer of a page: a slot for each of its values, null or not.

    offsets: for a list layer, num_slots + 1 offsets into the layer below; None for an item layer
    """

    num_slots: int
    validity: pa.Buffer | None
    null_count: int
    offsets: pa.Buffer | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The Arrow types from a leaf outwards.

    leaf: the type that the leaf's values become
    outer: from the inside; each a struct, list, large_list or fixed_size_list with the previous type as its only child
    stored: the type in the page, if it differs (blob descriptors, binary JSON)
    finish: converts stored values to the leaf's type
    is_json: whether stored values are JSON documents, whose text the kernels write
    """

    leaf: pa.DataType
    outer: tuple[pa.DataType, ...] = ()
    stored: pa.DataType | None = None
    finish: Callable[[pa.Array], pa.Array] | None = None
    is_json: bool = False

    @property
    def type(self) -> pa.DataType:
        return self.outer[-1] if self.outer else self.leaf

    @property
    def in_kernels(self) -> Chain:
        """The chain of the values that pages have: descriptors of blobs, documents of JSON."""
        return with_leaves(self, self.stored) if self.stored is not None else self

    @property
    def items_per_row(self) -> int:
        """Number of page rows in one table row: fixed-size lists of structs count their items."""
        num_items = 1
        for type in self.outer:
            if pa.types.is_fixed_size_list(type):
                num_items *= type.list_size
        return num_items

    @property
    def is_flat(self) -> bool:
        """Whether every table row is one item of the page."""
        return all(pa.types.is_struct(type) for type in self.outer)

    @property
    def is_empty_struct(self) -> bool:
        """Whether the leaf is a struct without members, which has nothing to store."""
        return pa.types.is_struct(self.leaf) and self.leaf.num_fields == 0 and self.is_flat

    @property
    def is_in_structs(self) -> bool:
        """Whether only structs are around the leaf, so that every table row has one of its values, or NULL."""
        return self.is_flat and not self.is_empty_struct

    def check(self, layers: Layers) -> None:
        """Raises CorruptFile unless a page with `layers` can hold the chain."""
        if self.is_empty_struct and layers == (Layer.NULLABLE_ITEM,):
            # writers leave out the structs around it, none of which may be NULL
            return
        lists = [False, *(kinds.is_list(type) for type in self.outer)]
        if lists != [layer.is_list for layer in layers]:
            raise CorruptFile(f"a page with layers {[layer.name for layer in layers]} cannot hold {self.type}")


@lru_cache(maxsize=1024)
def with_leaves(chain: Chain, leaf: pa.DataType) -> Chain:
    """Returns the chain with leaves of another type: the documents of JSON instead of their text, or indices."""
    type = leaf
    outer = []
    for around in chain.outer:
        type = kinds.with_members(around, [around.field(0).with_type(type)])
        outer.append(type)
    return Chain(leaf, tuple(outer))


def nest(leaf: pa.Array, slots: Sequence[Slots], chain: Chain) -> pa.Array:
    """Nests `leaf` in its chain: slots are those of the layers outside the leaf's own, from the inside.

    raises: CorruptFile if a layer has another number of slots than the one around it refers to
    """
    array = leaf
    for type, layer in zip(chain.outer, slots, strict=True):
        if layer.offsets is not None:
            # the kernel's offsets ascend and end at the number of entries that own an element
            width = kinds.offset_bits(type) // 8
            end = int.from_bytes(memoryview(layer.offsets)[-width:], "little")
            if end != len(array):
                raise CorruptFile(f"lists over {end} values, found {len(array)}")
            buffers = [layer.validity, layer.offsets]
        else:
            per_slot = type.list_size if pa.types.is_fixed_size_list(type) else 1
            if layer.num_slots * per_slot != len(array):
                raise CorruptFile(f"{layer.num_slots} slots of {type} over {len(array)} values")
            buffers = [layer.validity]
        array = pa.Array.from_buffers(type, layer.num_slots, buffers, layer.null_count, children=[array])
    return array
