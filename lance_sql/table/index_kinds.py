"""Kinds of indices: their names in manifests, their files, and functions that open these.

One record per kind, used everywhere. Code that needs more than the files of an index has its own table with the
record as key: searching for filters (`reads.scan.pruning.index_search`), building segments
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
"""Opens a file of a segment by name."""


@dataclass(frozen=True, slots=True)
class IndexKind:
    """A kind of index.

    details: the type of its details in a manifest
    name: in `explain` and the metadata tables
    max_version: the last supported version of its format
    last_with_row_ids: the last version whose files have stable row ids on a table with them; later ones have
        addresses, as all files do on other tables. None for zone-based kinds, which always use addresses
    files: names of the files of every segment
    read: opens the files of a segment of a version
    filters: whether it prunes rows of a filter; others rank them
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
        """Whether its entries describe zones of rows, by address."""
        return self.last_with_row_ids is None

    def has_row_ids(self, version: int) -> bool:
        """Whether files of a version have stable row ids on tables with them."""
        return self.last_with_row_ids is not None and version <= self.last_with_row_ids


def _vectors(open: OpenFile, version: int) -> VectorIndex:
    try:
        return VectorIndex(open(vector_index.INDEX), open(vector_index.AUXILIARY))
    except CorruptFile as error:
        if version > 0:
            raise
        # early releases wrote files of another form without a version number
        raise UnsupportedFeature(f"a vector index of an early release is not supported: {error}") from error


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
    # its number of files depends on its partitions
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
"""All kinds. Filters use them in this order: row indices before zone indices, which hardly ever narrow the result
further."""

FRAGMENT_REUSE: Final = "FragmentReuseIndexDetails"
"""Not an index of values: new addresses of rows that compactions moved and indices have at old addresses."""

MEM_WAL: Final = "MemWalIndexDetails"
"""Not an index of values: the part of the table's write-ahead log that a version includes."""

SYSTEM: Final = frozenset({FRAGMENT_REUSE, MEM_WAL})
"""Entries of the index section that no query uses."""
