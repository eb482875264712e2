"""Columns of file versions 0.1 and 2.0, in which every list is a separate column that points into the next one.

    list<struct<a, b>>      rows -> column of the list -> items -> column of a
                                                               `-> column of b

A leaf is read along its path: from the outermost list, each list maps rows to rows of the next column.
Structs are never NULL, so they only shape the result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import TypeVar

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.encodings.tree import Constant, Encoding, title
from lance_sql.format.file import ahead, open_pages
from lance_sql.format.file.column import Opening, value_bytes
from lance_sql.format.file.located_rows import InPages
from lance_sql.format.file.metadata_v2 import ColumnMetadata
from lance_sql.format.file.open_column import OpenRows
from lance_sql.format.file.reader import FileReader
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.layouts import blob
from lance_sql.format.layouts.nest import Chain, Slots, nest
from lance_sql.format.layouts.page import concat
from lance_sql.format.layouts.reading import Reading, Shared, interleaved, run
from lance_sql.format.old_files import wire
from lance_sql.format.old_files.array_page import ArrayPage, ListRows, head_ranges
from lance_sql.format.old_files.ends import Bounds
from lance_sql.format.old_files.stored import bitmap
from lance_sql.format.old_files.tree import ArrayTree, Dictionary, List, OffsetList, Stored
from lance_sql.runtime.cached_property import cached_property
from lance_sql.store import ByteRange
from lance_sql.values import kinds, row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges

T = TypeVar("T")

_MAX_NARROW = 2**31 - 1


@dataclass(frozen=True)
class StoredColumn:
    """One column of an open file: the values of a leaf, or the positions of the items of lists.

    key: identifies the column in the file
    has_null_key: dictionaries of its pages have an index for NULL; see `ArrayPage`
    name: of the table's column, for errors
    """

    file: FileReader
    key: int
    metadata: ColumnMetadata
    has_null_key: bool
    name: str

    @property
    def is_blob(self) -> bool:
        """Whether the values are descriptors of bytes elsewhere in the file."""
        with self.file.at(self.name):
            return wire.is_blob(self.metadata.encoding)

    @cached_property
    def item_starts(self) -> I64:
        """For lists, the first item of each page, then the number of items: int64[pages + 1].

        raises: CorruptFile if a page does not contain lists
        """
        counts = []
        for number in range(len(self.metadata.pages)):
            with at(page=number):
                encoding = self.encoding(number)
                if not isinstance(encoding, (List, OffsetList)):
                    raise CorruptFile(f"a page of {type(encoding).__name__} cannot hold lists")
                counts.append(encoding.num_items)
        return np.array([0, *accumulate(counts)], np.int64)

    def encoding(self, page: int) -> Encoding:
        """Returns the encoding tree of a page."""
        layout = self.metadata.pages[page].layout
        if not isinstance(layout, ArrayTree):
            raise UnsupportedFeature(f"a page layout {type(layout).__name__} among others without levels")
        return layout.encoding

    def values(self, rows: RowRanges, chain: Chain) -> Reading[pa.Array]:
        """Reads the leaf of the chain at `rows`."""
        if len(rows) == 0:
            return pa.nulls(0, chain.leaf)
        arrays = yield from self._read(rows, lambda page, part: page.decode(part, chain, self.file.bytes.gap))
        return concat([array for _, array in arrays])

    def lists(self, rows: RowRanges) -> Reading[ListRows]:
        """Reads the positions of the items of the lists at `rows`, among the rows of the next column."""
        if len(rows) == 0:
            return ListRows(Bounds(np.empty(0, np.int64), row_ranges.EMPTY), None)
        parts = yield from self._read(rows, lambda page, part: page.lists(part, self.file.bytes.gap))
        lengths = np.concatenate([part.bounds.lengths for _, part in parts])
        items = np.concatenate([part.bounds.items + self.item_starts[number] for number, part in parts])
        valid = None
        if any(part.valid is not None for _, part in parts):
            valid = np.concatenate(
                [np.ones(len(p.bounds.lengths), np.bool_) if p.valid is None else p.valid for _, p in parts]
            )
        return ListRows(Bounds(lengths, row_ranges.coalesce(items, 0)), valid)

    def open_pages(self, numbers: Sequence[int]) -> Sequence[ArrayPage]:
        pages = open_pages.open_pages(self.file, self.key, numbers, self.at, self.head_ranges, self._open)
        return run(pages, self.file.bytes.fetch)

    def at(self, page: int) -> at:
        """Returns the context that adds the page to errors."""
        return self.file.at(self.name, page)

    def _read(
        self, rows: RowRanges, read: Callable[[ArrayPage, RowRanges], Reading[T]]
    ) -> Reading[list[tuple[int, T]]]:
        """Calls `read` for each page with some of the rows, and returns the results by page number."""
        parts = row_ranges.split(self.metadata.row_starts, rows)
        numbers = [number for number, _ in parts]
        pages = yield from open_pages.open_pages(self.file, self.key, numbers, self.at, self.head_ranges, self._open)
        readings = [self._located(number, read(page, part)) for (number, part), page in zip(parts, pages, strict=True)]
        return list(zip(numbers, (yield from interleaved(readings)), strict=True))

    def _located(self, number: int, reading: Reading[T]) -> Reading[T]:
        with self.at(number):
            return (yield from reading)

    def head_ranges(self, number: int) -> list[ByteRange]:
        """Returns the bytes that opening a page needs."""
        return head_ranges(self.encoding(number), self.metadata.pages[number].buffers)

    def _open(self, number: int, head: Sequence[pa.Buffer]) -> ArrayPage:
        page = self.metadata.pages[number]
        return ArrayPage(self.encoding(number), page.buffers, page.num_rows, head, has_null_key=self.has_null_key)


@dataclass(frozen=True)
class PathColumn:
    """A leaf, with the columns of the lists around it.

    lists: from the outside
    characters: the column of the bytes of strings, if these are stored as lists of bytes (releases up to 0.13)
    stored_statistics: reads those of the leaf's pages, if the file can have any
    """

    lists: tuple[StoredColumn, ...]
    leaf: StoredColumn
    chain: Chain
    characters: StoredColumn | None = None
    stored_statistics: Callable[[], PageStatistics | None] | None = None

    @property
    def file(self) -> FileReader:
        return self.leaf.file

    @property
    def is_flat(self) -> bool:
        return not self.lists

    @cached_property
    def row_starts(self) -> I64:
        """See `Column`; the rows of the outermost column."""
        with self.file.at(self.leaf.name):
            columns = [*self.lists, self.leaf, *([self.characters] if self.characters else [])]
            num_rows = self.file.num_rows
            for column in columns:
                if column.metadata.num_rows != num_rows:
                    raise CorruptFile(f"the pages of the column hold {column.metadata.num_rows} rows, not {num_rows}")
                if column is not columns[-1]:
                    num_rows = int(column.item_starts[-1])
        return columns[0].metadata.row_starts

    def page_bytes(self, page: int) -> int:
        """See `Column`; if columns have their own pages, the share of its rows."""
        columns = [*self.lists, self.leaf, *([self.characters] if self.characters else [])]
        if len(columns) == 1:
            return self.leaf.metadata.pages[page].num_bytes
        stored = sum(column.metadata.num_bytes for column in columns)
        num_rows = int(self.row_starts[page + 1] - self.row_starts[page])
        return stored * num_rows // max(self.file.num_rows, 1)

    def ahead(self, rows: RowRanges, short: int | None, *, opened: bool) -> list[ByteRange]:
        """See `Column`; nothing for lists, whose items are known after the lists were read."""
        if self.lists or self.characters is not None or opened:
            return []
        leaf, starts = self.leaf, self.row_starts
        return [
            each
            for number, inside in row_ranges.split(starts, rows)
            if not open_pages.is_open(self.file, leaf.key, number)
            for each in ahead.of_page(
                leaf.metadata.pages[number].buffers,
                leaf.head_ranges(number),
                None,
                int(starts[number + 1] - starts[number]),
                inside,
                short,
            )
        ]

    @cached_property
    def row_bytes(self) -> float:
        num_rows = max(self.file.num_rows, 1)
        if self.leaf.is_blob:
            return self.file.bytes.size / num_rows
        stored = self.leaf.metadata.num_bytes + (self.characters.metadata.num_bytes if self.characters else 0)
        values_per_row = self.leaf.metadata.num_rows / num_rows
        stored_per_value = stored / max(self.leaf.metadata.num_rows, 1)
        return max(value_bytes(self.chain.leaf, stored_per_value), stored_per_value) * values_per_row + 8 * len(
            self.lists
        )

    def num_dictionary_items(self) -> int | None:
        """See `Column`; None, because finding it would need the pages."""
        return None

    def has_dictionaries(self, most_items: int) -> bool | None:
        has_dictionary = False
        for number in range(len(self.leaf.metadata.pages)):
            with self.leaf.at(number):
                match self.leaf.encoding(number):
                    case Dictionary(num_items=count) if count <= most_items:
                        has_dictionary = True
                    case Constant():
                        pass
                    case _:
                        return None
        return has_dictionary

    def statistics(self) -> PageStatistics | None:
        if self.stored_statistics is None or self.lists or self.chain.finish is not None:
            return None
        with self.file.at(self.leaf.name):
            return self.stored_statistics()

    def open(self, rows: RowRanges, *, is_nested: bool = False, opening: Opening | None = None) -> OpenRows | None:
        """See `Column`; only inside structs."""
        leaf, chain = self.leaf, self.chain.in_kernels
        if self.why_python is not None or not (is_nested or chain.is_in_structs):
            return None
        if self.chain.is_json and chain.outer and not is_nested:
            # tests see documents without bytes, which are NULL
            return None
        return open_pages.open_rows(
            self.file,
            leaf.key,
            lambda: self.row_starts,
            chain,
            InPages(self.file.path, leaf.name, self.file.bytes.table),
            rows,
            leaf.open_pages,
            is_nested=is_nested and bool(chain.outer),
            texts=self.chain.type if self.chain.is_json else None,
        )

    @cached_property
    def why_python(self) -> str | None:
        if self.lists or self.characters is not None:
            return "lists without levels"
        if self.leaf.is_blob:
            return "blobs"
        if self.is_converted:
            return "values that become another type"
        return "structs without members" if self.chain.is_empty_struct else None

    @property
    def is_converted(self) -> bool:
        return (self.chain.stored is not None or self.chain.finish is not None) and not self.chain.is_json

    def described(self, page: int) -> str:
        return title(self.leaf.encoding(page))

    def are_null(self, page: int, depth: int) -> bool | None:
        """See `Column`; structs never are NULL in these file versions."""
        leaf, chain = self.leaf, self.chain
        is_leaf = depth == len(chain.outer) + 1
        if self.lists or depth > len(chain.outer) + 1:
            return None
        if not is_leaf:
            return False
        if chain.stored is not None or chain.finish is not None or leaf.is_blob:
            return None
        if pa.types.is_dictionary(chain.leaf) or self.characters is not None:
            return None
        with leaf.at(page):
            match leaf.encoding(page):
                case Constant(None):
                    return True
                case Stored():
                    return False
        return None

    def decode(self, rows: RowRanges, shared: Shared) -> Reading[pa.Array]:
        # checking the counts of the file limits what the pages may claim
        assert len(self.row_starts)
        num_slots = row_ranges.count(rows)
        slots: list[Slots] = []
        lists = iter(self.lists)
        for type in reversed(self.chain.outer):
            if pa.types.is_struct(type):
                slots.append(Slots(num_slots, None, 0))
                continue
            column = next(lists)
            list_rows = yield from shared.once((self.file, column.key), partial(column.lists, rows))
            slots.append(_slots(list_rows, pa.types.is_large_list(type)))
            rows = list_rows.bounds.items
            num_slots = row_ranges.count(rows)
        values = yield from self._values(rows)
        if len(values) != num_slots:
            raise CorruptFile(f"{num_slots} values became {len(values)}")
        return nest(values, slots[::-1], self.chain)

    def _values(self, rows: RowRanges) -> Reading[pa.Array]:
        leaf, chain = self.leaf, self.chain
        if leaf.is_blob:
            with self.file.at(leaf.name):
                blob.check_type(chain)
            if len(rows) == 0:
                return pa.nulls(0, chain.leaf)
            descriptors = yield from leaf.values(rows, replace(chain, stored=blob.DESCRIPTOR, finish=None))
            with self.file.at(leaf.name):
                return (yield from self._blobs(descriptors))
        if self.characters is None:
            return (yield from leaf.values(rows, chain))
        list_rows = yield from leaf.lists(rows)
        data = yield from self.characters.values(list_rows.bounds.items, Chain(pa.uint8()))
        strings = _slots(list_rows, kinds.offset_bits(chain.leaf) == 64)
        buffers = [strings.validity, strings.offsets, data.buffers()[1]]
        return pa.Array.from_buffers(chain.leaf, strings.num_slots, buffers, strings.null_count)

    def _blobs(self, descriptors: pa.StructArray) -> Reading[pa.Array]:
        """Reads the bytes of descriptors (position, size); (1, 0) is NULL, any other of size 0 is empty."""
        positions, sizes = blob.places(descriptors)
        valid = (positions != 1) | (sizes != 0)
        array = yield from blob.read_blobs(positions, sizes, bitmap(valid), int((~valid).sum()))
        return self.chain.finish(array) if self.chain.finish else array


def _slots(list_rows: ListRows, large: bool) -> Slots:
    """Converts the layer of the lists to Arrow's form."""
    lengths, valid = list_rows.bounds.lengths, list_rows.valid
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if not large:
        if offsets[-1] > _MAX_NARROW:
            raise CorruptFile(f"lists of {int(offsets[-1])} items together are more than their type can hold")
        offsets = offsets.astype(np.int32)
    nulls = 0 if valid is None else int(np.count_nonzero(~valid))
    return Slots(len(lengths), bitmap(valid) if valid is not None and nulls else None, nulls, pa.py_buffer(offsets))
