"""Rows -> levels and values, the way a writer does it: one entry at a time. And random rows to shred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.tree import Layer, Layers, max_repetition, max_visible

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Shredded:
    """The entries of a page: their levels, and which of them own an item."""

    rep: Array | None
    def_: Array | None
    visible: Array
    items: list[int | None]

    @property
    def num_entries(self) -> int:
        return len(self.visible)


def shred(rows: list[Any], layers: Layers) -> Shredded:
    """Levels of rows in Python form: lists, {"f": member} for structs, None."""
    bases = np.cumsum([0, *(layer.num_levels for layer in layers)]).tolist()
    visible_to, max_rep = max_visible(layers), max_repetition(layers)
    levels: list[tuple[int, int]] = []
    items: list[int | None] = []

    def append(rep: int, level: int, item: int | None) -> None:
        levels.append((rep, level))
        if level <= visible_to:
            items.append(item)

    def emit(value: Any, at: int, rep: int, lists: int) -> None:
        layer = layers[at]
        if value is None:
            append(rep, bases[at] + 1, None)
        elif at == 0:
            append(rep, 0, value)
        elif not layer.is_list:
            emit(value["f"], at - 1, rep, lists)
        elif not value:
            append(rep, bases[at] + (2 if layer is Layer.NULL_AND_EMPTY_LIST else 1), None)
        else:
            for i, element in enumerate(value):
                emit(element, at - 1, rep if i == 0 else lists - 1, lists - 1)

    for row in rows:
        emit(row, len(layers) - 1, max_rep, max_rep)
    rep, def_ = (np.array([pair[i] for pair in levels], np.uint16) for i in (0, 1))
    return Shredded(rep if max_rep else None, def_ if bases[-1] else None, def_ <= visible_to, items)


def chain_of(layers: Layers, leaf: pa.DataType) -> Chain:
    """The types that the layers stand for."""
    outer: list[pa.DataType] = []
    for layer in layers[1:]:
        inner = outer[-1] if outer else leaf
        outer.append(pa.list_(inner) if layer.is_list else pa.struct([("f", inner)]))
    return Chain(leaf, tuple(outer))


def random_rows(rng: np.random.Generator, layers: Layers, num_rows: int) -> list[Any]:
    """Rows that use everything that the layers allow."""

    def value(at: int) -> Any:
        layer = layers[at]
        kinds = {
            Layer.NULLABLE_ITEM: ["null"],
            Layer.NULLABLE_LIST: ["null"],
            Layer.EMPTYABLE_LIST: ["empty"],
            Layer.NULL_AND_EMPTY_LIST: ["null", "empty"],
        }.get(layer, [])
        if kinds and rng.random() < 0.3:
            return None if kinds[int(rng.integers(len(kinds)))] == "null" else []
        if at == 0:
            return int(rng.integers(0, 100))
        if layer.is_list:
            return [value(at - 1) for _ in range(int(rng.integers(1, 5)))]
        return {"f": value(at - 1)}

    return [value(len(layers) - 1) for _ in range(num_rows)]
