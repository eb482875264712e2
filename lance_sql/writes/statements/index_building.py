"""Builders of index segments by kind: the row numbers in their files, and the function that takes the values.

    values of live rows, and their addresses or row ids  -->  a builder of the kind  -->  the files of a segment

Source: indices, writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

import pyarrow as pa

from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.index_files import bloom_values, order
from lance_sql.format.index_files.write_bitmap import BitmapBuilder
from lance_sql.format.index_files.write_bloom import BloomBuilder
from lance_sql.format.index_files.write_btree import BTreeBuilder
from lance_sql.format.index_files.write_zone_map import ROWS_PER_ZONE, ZoneMapBuilder
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.store import Store
from lance_sql.table import index_kinds
from lance_sql.table.index_kinds import IndexKind
from lance_sql.table.indices import zone_map_details
from lance_sql.values.arrays import U64
from lance_sql.writes.statements import search_indices

Rows: TypeAlias = Iterable[tuple[pa.Array, U64]]


@dataclass(frozen=True, slots=True)
class Destination:
    """Destination of the files of a segment.

    num_rows: live rows of each fragment that the segment covers
    """

    store: Store
    folder: str
    file_version: str
    num_rows: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class BuiltKind:
    """A kind of index that can be built.

    kind: the kind as readers use it
    numbered: the system column of the numbers in its files: addresses or row ids
    check: raises UnsupportedFeature for a type that the kind does not support
    write: takes the type of the column, its values with their numbers, and the destination of the files; None for
        kinds that are made by a recipe (`search_indices`)
    versions: of the format, on tables without and with stable row ids; a recipe has its own
    names_rows: whether pylance uses hits of the index for rows of any fragment, even one that only another segment
        covers
    details: what the manifest records of the index
    """

    kind: IndexKind
    numbered: str
    check: Callable[[pa.DataType], object]
    write: Callable[[pa.DataType, Rows, Destination], tuple[WrittenFile, ...]] | None
    versions: tuple[int, int] = (0, 0)
    names_rows: bool = False
    details: bytes = b""


def _write_zones(
    builder: type[ZoneMapBuilder | BloomBuilder], type: pa.DataType, rows: Rows, to: Destination
) -> tuple[WrittenFile, ...]:
    zones = builder(type)
    for values, addresses in rows:
        zones.add(values, addresses)
    return zones.write(to.store, to.folder, file_version=to.file_version, num_rows=to.num_rows)


def _write_btree(type: pa.DataType, rows: Rows, to: Destination) -> tuple[WrittenFile, ...]:
    with BTreeBuilder(type) as tree:
        for values, addresses in rows:
            tree.add(values, addresses)
        return tree.write(to.store, to.folder, file_version=to.file_version)


def _write_bitmap(type: pa.DataType, rows: Rows, to: Destination) -> tuple[WrittenFile, ...]:
    bitmaps = BitmapBuilder(type)
    for values, ids in rows:
        bitmaps.add(values, ids)
    return bitmaps.write(to.store, to.folder, file_version=to.file_version)


def _any_type(type: pa.DataType) -> None:
    """Checks nothing: the recipe of the kind has checked the type."""


BUILT: Final[Mapping[str, BuiltKind]] = {
    "zonemap": BuiltKind(
        index_kinds.ZONE_MAP,
        ROW_ADDRESS,
        order.check,
        partial(_write_zones, ZoneMapBuilder),
        details=zone_map_details(ROWS_PER_ZONE),
    ),
    # version 1 has addresses on tables with stable row ids
    "btree": BuiltKind(index_kinds.BTREE, ROW_ADDRESS, order.check, _write_btree, versions=(0, 1), names_rows=True),
    "bitmap": BuiltKind(index_kinds.BITMAP, ROW_ID, order.check, _write_bitmap, names_rows=True),
    "bloomfilter": BuiltKind(
        index_kinds.BLOOM_FILTER, ROW_ADDRESS, bloom_values.check, partial(_write_zones, BloomBuilder)
    ),
    **{name: BuiltKind(index_kinds.VECTOR, ROW_ID, _any_type, None) for name in search_indices.VECTOR_KINDS},
    search_indices.TEXT_KIND: BuiltKind(index_kinds.FULL_TEXT, ROW_ID, _any_type, None, names_rows=True),
}
"""The kinds that can be built, by their names in statements."""

OF_MEMBERS: Final[Mapping[str, BuiltKind]] = {
    # pylance 14 ignores those with addresses on tables with stable row ids
    "btree": replace(BUILT["btree"], numbered=ROW_ID, versions=(0, 0)),
    "bitmap": BUILT["bitmap"],
}
"""The kinds that can be built on members of JSON. pylance 14 takes addresses of zones there for stable row ids."""

ALIASES: Final[Mapping[str, str]] = {"fts": search_indices.TEXT_KIND}
"""Other names of kinds, of pylance and of DuckDB's Lance extension."""

READ_ONLY: Final = ("ivf_hnsw_flat", "ivf_hnsw_pq", "ivf_hnsw_sq", "label_list", "ngram")
"""Kinds that queries use, but that cannot be built."""
