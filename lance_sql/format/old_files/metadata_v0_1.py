"""The metadata of a data file 0.1: batches of rows, and a table of the page of each field in each batch.

    pages | page table | [statistics] | [dictionaries] | schema, as its own manifest | metadata | footer

The page table is dense: an entry (position, length) for every field id, from the smallest of the file's schema on, and
every batch, fields first. Lengths count values, or offsets if the field is a list.
Source: message lance.file.Metadata.
"""

import struct
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile
from lance_sql.format.file.footer import LegacyFooter
from lance_sql.format.file.metadata_v2 import ColumnMetadata, PageMetadata
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.reading import run
from lance_sql.format.old_files.array_page import ArrayPage
from lance_sql.format.old_files.pages_v0_1 import PlainPage, lists_page, values_page
from lance_sql.format.old_files.statistics import of_written
from lance_sql.format.old_files.tree import ArrayTree
from lance_sql.format.proto import file_pb2, table_pb2
from lance_sql.format.schema import Field, Schema, storage_type
from lance_sql.format.schema.wire import from_messages
from lance_sql.runtime.cached_property import cached_property
from lance_sql.store import ByteRange
from lance_sql.values import kinds, row_ranges
from lance_sql.values.arrays import I64, ascend

_LENGTH = struct.Struct("<I")
_ENTRY_BYTES = 16
_STATISTICS = ("null_count", "min_value", "max_value")


class LegacyMetadata:
    """Metadata of the rows and pages of a file of version 0.1. Thread-safe."""

    def __init__(self, footer: LegacyFooter, read: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]) -> None:
        """
        read: reads ranges of the file
        """
        self._footer = footer
        self._read = read
        message = file_pb2.Metadata.FromString(self._frame(footer.metadata_position))
        self._message = message
        self._columns: dict[tuple[Field, int], tuple[ColumnMetadata, ColumnMetadata | None]] = {}
        self.row_starts = np.array(message.batch_offsets, np.int64) if message.batch_offsets else np.zeros(1, np.int64)
        if self.row_starts[0] != 0 or not ascend(self.row_starts):
            raise CorruptFile("batches whose rows do not add up")

    @property
    def num_rows(self) -> int:
        return int(self.row_starts[-1])

    @property
    def num_batches(self) -> int:
        return len(self.row_starts) - 1

    @property
    def num_columns(self) -> int:
        """Number of fields in the page table."""
        return len(self._ids)

    def own_ids(self, listed: Sequence[int]) -> dict[int, int]:
        """Maps the field ids that the table lists for the file to those in the file, if they differ.

        Releases up to 0.10 gave one id to two columns. The next commit of a later release assigns new ids to the fields
        of such files in the table, one for one, and leaves the files unchanged.

        listed: in the order of the fields in the file; negative for dropped fields
        """
        own = sorted(self._ids)
        if len(listed) != len(own) or {number for number in listed if number >= 0} <= set(own):
            return {}
        return {number: own[index] for index, number in enumerate(listed) if number >= 0}

    def values(self, field: Field, *, is_top_level: bool) -> ColumnMetadata:
        """Returns the pages of a field without children, one for each batch."""
        type = storage_type(field)

        def page(position: int, length: int, batch: int) -> PlainPage:
            return values_page(type, position, length, self._footer.file_size, empty_is_null=field.nullable)

        return self._column(field, page, None, is_top_level)

    def lists(self, field: Field, items: ColumnMetadata, *, is_top_level: bool) -> ColumnMetadata:
        """Returns the pages of a list field.

        items: the column of its items, whose pages belong to the same batches
        """
        type = storage_type(field)

        def page(position: int, length: int, batch: int) -> PlainPage:
            return lists_page(type, position, length, self._footer.file_size, items.pages[batch].num_rows)

        return self._column(field, page, items, is_top_level)

    def statistics(self, field: Field) -> PageStatistics | None:
        """Returns the file's statistics of the pages of a field, or None without any. Reads the statistics pages.

        Each covered field has a struct of null_count, min_value and max_value, named after its id, in a small table
        of one batch and one row for each of the file's batches, whose own ids begin with 0.
        """
        schema = self._message.statistics.schema
        top = [entry.id for entry in schema if entry.parent_id == -1 and entry.name == str(field.id)]
        members = {entry.name: entry for entry in schema if top and entry.parent_id == top[0] and entry.id != top[0]}
        if not all(name in members for name in _STATISTICS):
            return None
        if any(members[name].logical_type != field.logical_type for name in _STATISTICS[1:]):
            return None
        type = storage_type(field)
        null_counts = self._statistics_page(members["null_count"].id, pa.int64())
        mins, maxs = (self._statistics_page(members[name].id, type) for name in _STATISTICS[1:])
        keeps_nulls = field.nullable and kinds.has_offsets(type)
        return of_written(np.diff(self.row_starts), null_counts, mins, maxs, nulls_are_kept=keeps_nulls)

    def _statistics_page(self, entry_id: int, type: pa.DataType) -> pa.Array:
        """Reads a column of the statistics; an empty string means no bound."""
        start = self._message.statistics.page_table_position + entry_id * _ENTRY_BYTES
        if entry_id < 0 or start + _ENTRY_BYTES > self._footer.file_size:
            raise CorruptFile(f"statistics at byte {start} of a file of {self._footer.file_size} bytes")
        (entry,) = self._read([ByteRange(start, start + _ENTRY_BYTES)])
        position, length = np.frombuffer(entry, "<i8").tolist()
        if length != self.num_batches:
            raise CorruptFile(f"statistics of {length} pages for {self.num_batches} batches")
        page = values_page(type, position, length, self._footer.file_size, empty_is_null=True)
        opened = ArrayPage(page.encoding, page.buffers, length, (), has_null_key=False)
        return run(opened.decode(row_ranges.single(0, length), Chain(type), 0), self._read)

    def _column(
        self,
        field: Field,
        make: Callable[[int, int, int], PlainPage],
        items: ColumnMetadata | None,
        is_top_level: bool,
    ) -> ColumnMetadata:
        """Returns the column of a field, made once. `items` distinguishes the leaves for which a list is read."""
        key = (field, id(items))
        known = self._columns.get(key)
        if known is None:
            # the cache holds the items too, so that their identity is not reused
            known = self._columns[key] = (self._make_column(field, make), items)
        column = known[0]
        if is_top_level and not np.array_equal(column.row_starts, self.row_starts):
            raise CorruptFile("the pages of the column hold other rows than the batches of the file")
        return column

    def _make_column(self, field: Field, make: Callable[[int, int, int], PlainPage]) -> ColumnMetadata:
        entries = self._entries(field.id)
        # strings precede their offsets: they begin at another page, or after it
        page_indices = np.maximum(np.searchsorted(self._positions, entries[:, 0]) - 1, 0)
        before = np.maximum(entries[:, 0] - self._positions[page_indices], 0).tolist()
        pages = []
        for batch, (position, length) in enumerate(entries.tolist()):
            page = make(position, length, batch)
            own = page.buffers[0].end - position if page.buffers else 0
            pages.append(PageMetadata(page.num_rows, page.buffers, ArrayTree((), page.encoding), before[batch] + own))
        return ColumnMetadata(tuple(pages))

    def _entries(self, field_id: int) -> I64:
        """Returns (position, length) of each page of a field: int64[batches, 2]."""
        first = (field_id - self._base) * self.num_batches
        entries = self._page_table[max(first, 0) : first + self.num_batches]
        if first < 0 or len(entries) < self.num_batches:
            raise CorruptFile(f"the page table has no entries for field {field_id}")
        return entries

    @cached_property
    def _page_table(self) -> I64:
        """Every entry of the file: int64[n, 2]."""
        start = self._message.page_table_position
        wanted = start + (max(self._ids, default=-1) + 1 - self._base) * self.num_batches * _ENTRY_BYTES
        end = min(wanted, self._footer.metadata_position)
        if end < start:
            raise CorruptFile(f"a page table at byte {start} of a file of {self._footer.file_size} bytes")
        (data,) = self._read([ByteRange(start, end - (end - start) % _ENTRY_BYTES)])
        return np.frombuffer(data, "<i8").reshape(-1, 2)

    @cached_property
    def _positions(self) -> I64:
        return np.unique(self._page_table[:, 0])

    @cached_property
    def _ids(self) -> list[int]:
        """The ids of the fields of the file, structs included."""
        return [field.id for field in self._manifest.fields if field.id >= 0]

    @cached_property
    def schema(self) -> Schema:
        """The file's own schema; a table's files are read by the table's schema.

        raises: ValueError for bytes that are not a message; CorruptFile
        """
        return from_messages(self._manifest.fields, dict(self._manifest.schema_metadata))

    @cached_property
    def _manifest(self) -> table_pb2.Manifest:
        """The manifest with the file's schema."""
        if not self._message.manifest_position:
            raise CorruptFile("a file of version 0.1 without a schema")
        manifest: table_pb2.Manifest = table_pb2.Manifest.FromString(self._frame(self._message.manifest_position))
        return manifest

    @cached_property
    def _base(self) -> int:
        """The first field id of the page table."""
        least, most = min(self._ids, default=0), max(self._ids, default=0)
        # releases before 0.8 began with 0 for all ids
        size_from_zero = (most + 1) * self.num_batches * _ENTRY_BYTES
        begins_with_zero = (
            self._footer.minor < 2
            and not self._message.HasField("statistics")
            and self._message.manifest_position - self._message.page_table_position == size_from_zero
        )
        return 0 if begins_with_zero else least

    def _frame(self, position: int) -> bytes:
        """Returns the message after a length word."""
        size = self._footer.file_size
        if position + _LENGTH.size > size:
            raise CorruptFile(f"a message at byte {position} of a file of {size} bytes")
        (length,) = _LENGTH.unpack(self._read([ByteRange(position, position + _LENGTH.size)])[0])
        start = position + _LENGTH.size
        if start + length > size:
            raise CorruptFile(f"a message at bytes {start} to {start + length} of a file of {size} bytes")
        return bytes(self._read([ByteRange(start, start + length)])[0])
