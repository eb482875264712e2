"""Pages of values inside lists and structs, in the form for the kernels.

A reader of values gets the layers around them, and the place of the page's levels: in its chunks, in memory for a
constant page, or none, if all layers are structs that are never NULL. Rows become a chain of
arrays with one child each, as in `nest`. The kernels join chains of sibling leaves.
"""

from collections.abc import Sequence

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.layouts.composites import Tree, shape_of
from lance_sql.format.layouts.levels import LevelEncoding
from lance_sql.format.layouts.native import Form, NativePage
from lance_sql.format.layouts.nest import Chain, Levels
from lance_sql.format.layouts.tree import Layer, Layers
from lance_sql.values import kinds
from lance_sql.values.arrays import I64


def plain(values: NativePage, num_rows: int, layers: Layers, chain: Chain) -> NativePage:
    """Returns the page of a chain without levels: no struct is NULL.

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
    tested: _kernels.PageReader | None = None,
) -> NativePage:
    """Returns the page of values with levels in the chunks of a mini-block page.

    tested: tests which values are NULL, if nothing is around them
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
        tested=tested,
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


def in_entries(
    form: Form,
    values: Tree,
    num_rows: int,
    layers: Layers,
    chain: Chain,
    entry: tuple[int, int, int, int],
    num_bytes: int,
    row_starts: I64 | None,
    tested: _kernels.PageReader | None,
) -> NativePage:
    """Returns the page of values between the levels of a full-zip page.

    form, values: arrays and encoding of the values; see `composites`
    entry: bits of the repetition and definition levels, bytes of a value, bytes of its length
    num_bytes: of the page
    tested: as for `in_chunks`
    """
    reader = _kernels.PageReader.nested_zip(
        shape_of(form.type),
        values,
        _described(layers, chain),
        num_rows=num_rows,
        entry=entry,
        num_bytes=num_bytes,
        row_starts=row_starts,
        tested=tested,
    )
    return NativePage(reader, form)


def _described(layers: Layers, chain: Chain) -> Sequence[tuple[int, int, bool, int]]:
    """Returns for each layer from the inside the bits of a list's offsets or 0, its levels, whether lists can be empty,
    and the items of a fixed-size list, otherwise 1."""
    around = [(0, 1)]
    for type in chain.outer:
        list_size = type.list_size if pa.types.is_fixed_size_list(type) else 1
        around.append((kinds.offset_bits(type), list_size))
    return [
        (bits, layer.num_levels, layer in (Layer.EMPTYABLE_LIST, Layer.NULL_AND_EMPTY_LIST), list_size)
        for (bits, list_size), layer in zip(around, layers, strict=True)
    ]


def _codec(levels: LevelEncoding | None) -> tuple[_kernels.LevelCodec, int] | None:
    return (levels.codec, levels.num_bits) if levels is not None else None
