"""The kinds of indices: what manifests call them, what their files hold, and how these are opened.

One record a kind, and everybody asks it. What needs more than the files of an index is a line in another table, which
has the record as its key: how filters search (`reads.scan.pruning.index_search`), how segments are built
(`writes.statements.index_building`).

Source: indices; the section of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.index_files import bitmap, bloom, btree, label_list, ngram, vector_index, zone_map
from lance_sql.format.index_files.bitmap import Bitmaps
from lance_sql.format.index_files.bloom import BloomFilters
from lance_sql.format.index_files.btree import BTree
from lance_sql.format.index_files.full_text import FullTextIndex
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.format.index_files.label_list import Labels
from lance_sql.format.index_files.ngram import Postings
from lance_sql.format.index_files.vector_index import VectorIndex
from lance_sql.format.index_files.zone_map import ZoneMap

Opened: TypeAlias = ZoneMap | BTree | Bitmaps | BloomFilters | Labels | Postings | VectorIndex | FullTextIndex
OpenFile: TypeAlias = Callable[[str], IndexFile]
"""From the name of a file of a segment to the file."""


@dataclass(frozen=True, slots=True)
class IndexKind:
    """A kind of index.

    details: the type of its details in a manifest
    name: as `explain` and the tables of metadata have it
    max_version: of its format, that is known
    last_with_row_ids: the last version whose files have stable row ids where a table has these; later ones have
        addresses, as all files have on other tables. None for what knows stretches of rows, always by addresses
    files: that every segment has, by name
    read: what the files of a segment of a version say
    filters: whether it rules out rows of a filter; others rank them
    package: of the type of the details
    """

    details: str
    name: str
    max_version: int
    last_with_row_ids: int | None
    files: tuple[str, ...]
    read: Callable[[OpenFile, int], Opened]
    filters: bool = True
    package: str = "lance.table"

    @property
    def is_of_zones(self) -> bool:
        """Whether it knows something of stretches of rows, by their addresses."""
        return self.last_with_row_ids is None

    def has_row_ids(self, version: int) -> bool:
        """Whether files of a version have stable row ids on tables that have these."""
        return self.last_with_row_ids is not None and version <= self.last_with_row_ids


def _vectors(open: OpenFile, version: int) -> VectorIndex:
    try:
        return vector_index.open_index(open(vector_index.INDEX), open(vector_index.AUXILIARY))
    except CorruptFile as error:
        if version > 0:
            raise
        # early releases had files of another form, and say no version by which to tell them
        raise UnsupportedFeature(f"a vector index of an early release: {error}") from error


LABEL_LIST: Final = IndexKind(
    "LabelListIndexDetails",
    "labellist",
    max_version=1,
    last_with_row_ids=1,
    files=(label_list.FILE,),
    read=lambda open, _: label_list.read(open(label_list.FILE)),
)
BITMAP: Final = IndexKind(
    "BitmapIndexDetails",
    "bitmap",
    max_version=0,
    last_with_row_ids=0,
    files=(bitmap.FILE,),
    read=lambda open, _: bitmap.read(open(bitmap.FILE)),
)
BTREE: Final = IndexKind(
    "BTreeIndexDetails",
    "btree",
    max_version=1,
    last_with_row_ids=0,
    files=(btree.LOOKUP, btree.DATA),
    read=lambda open, _: btree.read(open(btree.LOOKUP), open(btree.DATA)),
)
N_GRAM: Final = IndexKind(
    "NGramIndexDetails",
    "ngram",
    max_version=0,
    last_with_row_ids=0,
    files=(ngram.FILE,),
    read=lambda open, _: ngram.read(open(ngram.FILE)),
)
ZONE_MAP: Final = IndexKind(
    "ZoneMapIndexDetails",
    "zonemap",
    max_version=0,
    last_with_row_ids=None,
    files=(zone_map.FILE,),
    read=lambda open, _: zone_map.read(open(zone_map.FILE)),
)
BLOOM_FILTER: Final = IndexKind(
    "BloomFilterIndexDetails",
    "bloomfilter",
    max_version=0,
    last_with_row_ids=None,
    files=(bloom.FILE,),
    read=lambda open, _: bloom.read(open(bloom.FILE)),
    package="lance.index.pb",
)
FULL_TEXT: Final = IndexKind(
    "InvertedIndexDetails",
    "fulltext",
    max_version=3,
    last_with_row_ids=3,
    # it has files as it has partitions
    files=(),
    read=lambda open, _: FullTextIndex(open),
    filters=False,
)
VECTOR: Final = IndexKind(
    "VectorIndexDetails",
    "vector",
    max_version=2,
    last_with_row_ids=2,
    files=(vector_index.INDEX, vector_index.AUXILIARY),
    read=_vectors,
    filters=False,
    package="lance.index.pb",
)

BY_DETAILS: Final[Mapping[str, IndexKind]] = {
    kind.details: kind for kind in (LABEL_LIST, BITMAP, BTREE, N_GRAM, ZONE_MAP, BLOOM_FILTER, FULL_TEXT, VECTOR)
}
"""All of them. Filters ask in this order: indices of rows before those of zones, for what they leave is hardly ever
narrowed further."""

FRAGMENT_REUSE: Final = "FragmentReuseIndexDetails"
"""Not an index of values: where a compaction moved rows that indices know by their old addresses."""

MEM_WAL: Final = "MemWalIndexDetails"
"""Not an index of values: how much of the table's write-ahead log a version has."""

SYSTEM: Final = frozenset({FRAGMENT_REUSE, MEM_WAL})
"""What is listed among indices, and is none that a query asks."""
