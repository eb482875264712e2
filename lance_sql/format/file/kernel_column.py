"""Columns of files 2.1 and 2.2: one for each leaf of a field, with the levels of its nesting."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, at
from lance_sql.format.encodings.tree import Variable, title
from lance_sql.format.file import ahead, blob_v2, open_pages
from lance_sql.format.file.column import Opening, value_bytes
from lance_sql.format.file.located_rows import InPages
from lance_sql.format.file.metadata_v2 import ColumnMetadata, PageMetadata
from lance_sql.format.file.open_column import OpenColumn, OpenRows
from lance_sql.format.file.reader import FileReader
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.layouts.blob import BlobPage
from lance_sql.format.layouts.column_type import column_type
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.page import concat
from lance_sql.format.layouts.reading import Reading, Shared, interleaved, run
from lance_sql.format.layouts.stored_page import StoredPage, head_ranges
from lance_sql.format.layouts.tree import Blob, ConstantLayout, FullZip, Layer, MiniBlock
from lance_sql.runtime.cached_property import cached_property
from lance_sql.store import ByteRange
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges

BLOB_BYTES = 256 * 1024
"""Assumed size of a blob that may be outside the data file."""

SHORT_BYTES = 2.5
"""Strings up to this average size, with levels and gaps between chunks, may become dictionary indices."""

_NEVER_NULL = (Layer.ALL_VALID_ITEM, Layer.ALL_VALID_LIST, Layer.EMPTYABLE_LIST)


@dataclass(frozen=True)
class KernelColumn:
    """A leaf of file versions 2.1 and 2.2: one column of an open file, and the type that its pages become.

    name: the column's name in the table, for errors
    """

    file: FileReader
    index: int
    chain: Chain
    name: str

    @cached_property
    def metadata(self) -> ColumnMetadata:
        """The pages; parsed on first use, because columns that the kernels open need none of it.

        raises: CorruptFile if the file has no such column
        """
        with self.file.at(self.name):
            return self.file.column(self.index)

    @cached_property
    def row_starts(self) -> I64:
        with self.file.at(self.name):
            starts, per_row = self.metadata.row_starts, self.chain.items_per_row
            num_rows, rest = divmod(int(starts[-1]), per_row)
            if rest or num_rows != self.file.num_rows:
                raise CorruptFile(f"the pages of the column hold {num_rows} rows, the file {self.file.num_rows}")
            if per_row == 1:
                return starts
            if (starts % per_row).any():
                raise CorruptFile("a page that ends inside a row")
            return starts // per_row

    @property
    def is_flat(self) -> bool:
        return self.chain.is_flat

    def page_bytes(self, page: int) -> int:
        return self.metadata.pages[page].num_bytes

    def ahead(self, rows: RowRanges, short: int | None, *, opened: bool) -> list[ByteRange]:
        ranges: list[ByteRange] = []
        for number, inside in row_ranges.split(self.row_starts, rows):
            if open_pages.is_open(self.file, self.index, number) != opened:
                continue
            page = self.metadata.pages[number]
            num_rows = int(self.row_starts[number + 1] - self.row_starts[number])
            data = page.buffers[1] if isinstance(page.layout, MiniBlock) and len(page.buffers) > 1 else None
            if opened:
                ranges += ahead.of_open_page(data, num_rows, inside)
            else:
                ranges += ahead.of_page(page.buffers, self._head_ranges(number), data, num_rows, inside, short)
        return ranges

    @cached_property
    def row_bytes(self) -> float:
        file, chain = self.file, self.chain
        if chain.stored == blob_v2.DESCRIPTOR:
            return max(file.bytes.size / max(file.num_rows, 1), BLOB_BYTES)
        with file.at(self.name):
            stored = self.metadata.row_bytes
            # many equal items take little space in a file
            num_values = 1.0 if chain.is_flat else max(self.metadata.items_per_row, 1.0)
        if stored is None:
            return file.bytes.size / max(file.num_rows, 1)
        return max(num_values * value_bytes(chain.leaf, stored / num_values), stored)

    def num_dictionary_items(self) -> int | None:
        most = 0
        for number, page in enumerate(self.metadata.pages):
            with self.at(number):
                match page.layout:
                    case MiniBlock(dictionary=dictionary, num_dictionary_items=count) if dictionary is not None:
                        most = max(most, count)
                    case ConstantLayout():
                        most = max(most, 1)
                    case _:
                        return None
        return most

    def has_dictionaries(self, most_items: int) -> bool | None:
        has_dictionary = False
        for number, page in enumerate(self.metadata.pages):
            with self.at(number):
                match page.layout:
                    case MiniBlock(dictionary=dictionary, num_dictionary_items=count):
                        if count > most_items or (dictionary is None and not _are_short(page)):
                            return None
                        has_dictionary = True
                    case ConstantLayout():
                        pass
                    case _:
                        return None
        return has_dictionary

    def statistics(self) -> PageStatistics | None:
        """See `Column`; these file versions have none."""
        return None

    def are_null(self, page: int, depth: int) -> bool | None:
        chain = self.chain
        # inside structs and lists, a document without bytes is NULL as well
        is_changed = (chain.stored is not None or chain.finish is not None) and not self._are_documents
        # an empty struct is stored like NULLs
        if is_changed or chain.is_empty_struct or depth > len(chain.outer) + 1:
            return None
        with self.at(page):
            metadata = self.metadata.pages[page]
            layout = metadata.layout
        # an empty struct has no layers for the structs around it
        if not isinstance(layout, (ConstantLayout, FullZip, MiniBlock)) or len(layout.layers) != len(chain.outer) + 1:
            return None
        if isinstance(layout, ConstantLayout) and layout.inline_value is None and len(metadata.buffers) not in (1, 3):
            return True if layout.layers == (Layer.NULLABLE_ITEM,) and not metadata.buffers else None
        # layers are listed from the inside
        around = layout.layers[-depth:]
        return False if all(layer in _NEVER_NULL for layer in around) else None

    def open(self, rows: RowRanges, *, is_nested: bool = False, opening: Opening | None = None) -> OpenRows | None:
        is_whole = self.is_whole(is_nested=is_nested)
        if is_whole is None:
            return None
        found = open_pages.open_rows(
            self.file,
            self.index,
            lambda: self.row_starts,
            self.chain.in_kernels,
            self._where,
            rows,
            self._open_pages,
            is_nested=is_whole,
            opening=opening,
            texts=self.chain.type if self.chain.is_json else None,
        )
        return replace(found, finished=self.chain) if self.is_converted else found

    @property
    def is_converted(self) -> bool:
        return self.chain.finish is not None and not self.chain.is_json

    @property
    def why_python(self) -> str | None:
        return None

    def described(self, page: int) -> str:
        return title(self.metadata.pages[page].layout)

    @property
    def _where(self) -> InPages:
        return InPages(self.file.path, self.name, self.file.bytes.table)

    def is_whole(self, *, is_nested: bool) -> bool | None:
        """Whether the kernels read arrays of the whole chain, instead of the values alone; None if they read neither.

        is_nested: as for `open`
        """
        chain = self.chain.in_kernels
        if is_nested:
            return bool(chain.outer) or chain.is_empty_struct
        # tests see documents without bytes, which are NULL
        is_read = chain.is_in_structs and not self.is_converted and not (self.chain.is_json and chain.outer)
        return False if is_read else None

    @property
    def _are_documents(self) -> bool:
        return self.chain.is_json and not self.chain.outer

    def kernel_type(self, *, is_whole: bool) -> _kernels.ColumnType:
        """Returns the type that the kernels read."""
        return column_type(self.chain.in_kernels, is_nested=is_whole)

    def is_open(self, rows: RowRanges, *, is_whole: bool) -> bool:
        """Whether the pages with the rows are open for the kernels."""
        column = open_pages.cached(self.file, self._key(is_whole=is_whole))
        return column is not None and column.are_open(rows)

    def adopt(self, reader: _kernels.ColumnReader, *, is_whole: bool) -> None:
        """Caches the pages that the kernels have opened.

        raises: CorruptFile for items that cannot be those of the type
        """
        file, key = self.file, self._key(is_whole=is_whole)
        column = open_pages.cached(file, key)
        if column is None or column.reader is not reader:
            starts, chain = reader.row_starts(), self.chain.in_kernels
            column = OpenColumn(file.bytes, starts, chain, self._where, key=key, is_nested=is_whole, reader=reader)
            file.page_cache.keep(key, column, replaces=lambda _: True)
        column.adopt()

    def _key(self, *, is_whole: bool) -> Hashable:
        return open_pages.key_of(self.file, self.index, self.chain.in_kernels, is_nested=is_whole)

    def _open_pages(self, numbers: Sequence[int]) -> Sequence[StoredPage]:
        return run(self._reading(numbers), self.file.bytes.fetch)

    def decode(self, rows: RowRanges, shared: Shared) -> Reading[pa.Array]:
        """See `Column`; blobs, whose places are known after their descriptors were read."""
        parts = row_ranges.split(self.row_starts, rows)
        pages = yield from self._reading([number for number, _ in parts])
        readings = [self._blobs(number, inside, page) for (number, inside), page in zip(parts, pages, strict=True)]
        return concat((yield from interleaved(readings)))

    def _blobs(self, number: int, rows: RowRanges, page: StoredPage) -> Reading[pa.Array]:
        with self.at(number):
            metadata = self.metadata.pages[number]
            assert isinstance(metadata.layout, Blob)
            blobs = BlobPage(metadata.layout, page, metadata.num_rows)
            return (yield from blobs.decode(rows, self.chain, self.file.bytes.gap))

    def at(self, page: int) -> at:
        """Returns the context that adds the page to errors."""
        return self.file.at(self.name, page)

    def _reading(self, numbers: Sequence[int]) -> Reading[list[StoredPage]]:
        return open_pages.open_pages(self.file, self.index, numbers, self.at, self._head_ranges, self._open)

    def _head_ranges(self, page: int) -> list[ByteRange]:
        metadata = self.metadata.pages[page]
        return head_ranges(metadata.message, metadata.buffers)

    def _open(self, page: int, head: Sequence[pa.Buffer]) -> StoredPage:
        metadata = self.metadata.pages[page]
        return StoredPage(metadata.message, metadata.buffers, metadata.num_rows, head)


def _are_short(page: PageMetadata) -> bool:
    """Whether the strings of a page are repeated codes of a letter or two."""
    match page.layout:
        case MiniBlock(values=Variable(offset_bits=bits)):
            return page.row_bytes <= bits / 8 + SHORT_BYTES
    return False
