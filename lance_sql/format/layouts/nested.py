"""Pages of values inside lists and structs, in the form for the kernels.

A reader of values gets the layers around them, and the place of the page's levels: in its chunks, in memory for a
constant page, or none, if all layers are structs that are never NULL. Rows become a chain of
arrays with one child each, as in `nest`. The kernels join chains of sibling leaves.
"""

from collections.abc import Sequence

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.layouts.levels import LevelEncoding
from lance_sql.format.layouts.native import NativePage
from lance_sql.format.layouts.nest import Chain, Levels
from lance_sql.format.layouts.tree import Layer, Layers
from lance_sql.values import kinds
from lance_sql.values.arrays import I64


def why_python(chain: Chain) -> str | None:
    """Returns the reason why the types of a chain need Python; None if the kernels can read it."""
    if chain.stored is not None or chain.finish is not None:
        return "values that become another type"
    if chain.is_empty_struct:
        return "structs without members"
    # they have levels for each item
    is_list = any(pa.types.is_fixed_size_list(type) for type in chain.outer)
    return "structs in fixed-size lists" if is_list else None


def plain(values: NativePage, num_rows: int, layers: Layers, chain: Chain) -> NativePage:
    """Returns the page of a chain of structs that are never NULL.

    values: includes the NULLs of the values
    """
    around = _described(layers, chain)
    return NativePage(_kernels.PageReader.nested_plain(values.reader, around, num_rows=num_rows), values.form)


def in_chunks(
    values: NativePage,
    num_rows: int,
    layers: Layers,
    chain: Chain,
    table: _kernels.ChunkTable,
    repetition: LevelEncoding | None,
    definition: LevelEncoding | None,
    rows_through: tuple[I64, I64] | None,
) -> NativePage:
    """Returns the page of values with levels in the chunks of a mini-block page.

    rows_through: the number of rows that start, and end, in the chunks up to each; for lists
    """
    starts, ends = rows_through if rows_through is not None else (None, None)
    reader = _kernels.PageReader.nested_chunks(
        values.reader,
        _described(layers, chain),
        num_rows=num_rows,
        table=table,
        repetition=_codec(repetition),
        definition=_codec(definition),
        starts_through=starts,
        ends_through=ends,
    )
    return NativePage(reader, values.form)


def in_memory(
    values: NativePage,
    num_rows: int,
    layers: Layers,
    chain: Chain,
    repetition: Levels | None,
    definition: Levels | None,
    *,
    are_null: bool,
) -> NativePage:
    """Returns the page of one value, with levels for all of its rows.

    are_null: no item has a value
    """
    reader = _kernels.PageReader.nested_stored(
        values.reader,
        _described(layers, chain),
        num_rows=num_rows,
        repetition=repetition,
        definition=definition,
        are_null=are_null,
    )
    return NativePage(reader, values.form)


def _described(layers: Layers, chain: Chain) -> Sequence[tuple[int, int, bool]]:
    """Returns for each layer from the inside the bits of a list's offsets or 0, its levels, and whether lists can be
    empty."""
    bits = [0, *map(kinds.offset_bits, chain.outer)]
    return [
        (width, layer.num_levels, layer in (Layer.EMPTYABLE_LIST, Layer.NULL_AND_EMPTY_LIST))
        for width, layer in zip(bits, layers, strict=True)
    ]


def _codec(levels: LevelEncoding | None) -> tuple[_kernels.LevelCodec, int] | None:
    return (levels.codec, levels.num_bits) if levels is not None else None
