"""Writing of one data file: it takes record batches, and writes pages as soon as they are full.

    buffers of pages      each at a multiple of 64
    descriptor            schema and number of rows (global buffer 0)
    column metadata       the pages of each column, and the positions of their buffers
    tables, footer

A small pool of threads encodes pages. They are written in the order in which they were filled, so that the same
batches always produce the same file.

Source: data file 2.x.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, pairwise

import pyarrow as pa

from lance_sql.errors import CorruptFile, InvalidArgument
from lance_sql.format import file_versions
from lance_sql.format.casts.storage import check_batch
from lance_sql.format.file.aligned_sink import AlignedSink
from lance_sql.format.file.blob_v2 import as_filed
from lance_sql.format.file.copied_pages import PageBytes
from lance_sql.format.file.footer import serialize_footer
from lance_sql.format.file.leaf_writer import LeafWriter
from lance_sql.format.file.metadata_v2 import WrittenPage, serialize_column, serialize_descriptor
from lance_sql.format.file.old_files import old_files
from lance_sql.format.file.pages_to_write import ColumnsWriter, PageJob, with_numbers
from lance_sql.format.file.storable import check_storable
from lance_sql.format.layouts.shredded import EncodedPage
from lance_sql.format.schema import Field, Schema
from lance_sql.runtime import threads
from lance_sql.store import ByteRange, Store
from lance_sql.store.checksums import Checksum
from lance_sql.values import dictionaries
from lance_sql.values.coalesce import joined

PAGE_BYTES = 8 << 20
_PENDING_BYTES = 256 << 20
_LEAST_PAGE_BYTES = 256 << 10
_NUM_THREADS = 2
_MAX_JOBS = 2 * _NUM_THREADS
# Encoding smaller pages takes less time than passing them to a thread.
_INLINE_BYTES = 64 << 10
# Columns that are less than 1/n of a batch are copied.
_LARGEST_SHARE = 32
# Splitting batches has a cost for each of them, so that smaller ones wait for others.
_LEAST_ROWS = 4096


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """Properties of a new data file for the table.

    fields: the ids of the fields with a column, and `column_indices` their columns
    file_version: major and minor in the table's spelling
    checksum: of all its bytes
    """

    path: str
    size_bytes: int
    num_rows: int
    fields: tuple[int, ...]
    column_indices: tuple[int, ...]
    file_version: tuple[int, int]
    checksum: Checksum


class FileWriter:
    """One data file that is being written. Not thread-safe; ends with `finish` or `abort`."""

    def __init__(
        self,
        store: Store,
        path: str,
        schema: Schema,
        file_version: str = file_versions.DEFAULT.name,
        copied: Collection[Field] = (),
    ) -> None:
        """
        schema: of the columns in the file, which may be part of the table's
        copied: top-level fields whose pages are copied from other files, see `copy_page`; batches do not have them
        raises: UnsupportedFeature for a version that cannot be written, and for types that it does not support
        """
        version = file_versions.by_name(file_version)
        if version is None or not version.is_written:
            known = ", ".join(file_versions.WRITTEN)
            raise InvalidArgument(f"file_version={file_version!r} cannot be written: pass {known}")
        check_storable(schema, version)
        self._path = path
        self._schema = schema
        self._version = version
        self._checked: pa.Schema | None = None
        self._columns: list[ColumnsWriter] = []
        self._encoded: list[ColumnsWriter] = []
        self._written = Schema(tuple(field for field in schema.fields if field not in copied), schema.metadata)
        num_columns = 0
        page_bytes = max(min(PAGE_BYTES, _PENDING_BYTES // max(len(schema.by_id), 1)), _LEAST_PAGE_BYTES)
        self._sink = AlignedSink(store, path)
        # not of the writer: columns with a reference to it would form a cycle
        put = self._sink.put
        try:
            for field in schema.fields:
                self._columns.append(self._columns_writer(field, num_columns, page_bytes, put))
                if field not in copied:
                    self._encoded.append(self._columns[-1])
                num_columns += len(self._columns[-1].fields)
        except BaseException:
            # the caller has no writer to abort yet
            self._sink.abort()
            raise
        self._pages: list[list[WrittenPage]] = [[] for _ in range(num_columns)]
        self._next_rows = [0] * num_columns
        self._buffers: list[ByteRange] = []
        self._jobs: deque[tuple[PageJob, EncodedPage | Future[EncodedPage]]] = deque()
        self._pool: ThreadPoolExecutor | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._held_rows = 0
        self._items: dictionaries.Items | None = None
        self.num_rows = 0

    @property
    def num_bytes(self) -> int:
        """Bytes of the file so far, and those of the input that waits to be encoded."""
        waiting = sum(column.num_bytes for column in self._columns)
        return self._sink.tell() + self._held_bytes + waiting + sum(job.num_bytes for job, _ in self._jobs)

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows.

        batch: the columns of the schema in order, without the copied ones, as users see them: JSON as text,
            blobs as bytes
        raises: InvalidArgument for other columns, NULLs in fields that are not nullable, and text that is not JSON, in
            this batch or in small ones before it
        """
        if self._checked is None or not batch.schema.equals(self._checked, check_metadata=True):
            self._take_apart()
            check_batch(self._written, batch.schema)
            self._checked = batch.schema
            if self._items is None and any(map(dictionaries.narrow, batch.schema.types)):
                self._items = dictionaries.Items(batch.schema)
        if batch.num_rows == 0:
            return
        excess = self.excess(batch)
        if excess is not None:
            raise InvalidArgument(f"Rows do not fit one file: {excess}. Use wider keys, or write plain values")
        if self._items is not None:
            self._items.add(batch)
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        self.num_rows += batch.num_rows
        self._held_rows += batch.num_rows
        if self._held_rows >= _LEAST_ROWS or self._held_bytes >= _LEAST_PAGE_BYTES:
            self._take_apart()

    def excess(self, batch: pa.RecordBatch) -> str | None:
        """Returns the error for rows of the checked schema that do not fit into this file, or None if they fit."""
        return None if self._items is None else self._items.excess(batch)

    def copy_page(self, column: int, page: PageBytes) -> None:
        """Adds a page of another file of the same version to a column of a copied field.

        column: index among those of the file, which are the leaves of its schema
        """
        buffers = tuple(map(self._sink.write_aligned, page.buffers))
        self._pages[column].append(WrittenPage(page.num_rows, buffers, page.encoding, self._next_rows[column]))
        self._next_rows[column] += page.num_rows

    def add_buffer(self, data: bytes) -> int:
        """Writes bytes beside the pages, and returns the number of their global buffer."""
        self._buffers.append(self._sink.write_aligned(data))
        return len(self._buffers)

    def finish(self) -> WrittenFile:
        """Writes the remaining pages and the metadata. Afterwards the file is durable and complete.

        raises: as `write`
        """
        self._take_apart(is_end=True)
        last = (job for column in self._columns for job in column.finish())
        for job, page in with_numbers(last, self._version.pages):
            if page is None:
                self._encode((job,))
            else:
                self._jobs.append((job, page))
                self._put_out(_MAX_JOBS)
        self._put_out(0)
        self._close_pool()
        self.num_rows = self._next_rows[0] if self._next_rows and not self._encoded else self.num_rows
        if len(self._encoded) < len(self._columns) and any(rows != self.num_rows for rows in self._next_rows):
            raise CorruptFile(f"pages of {min(self._next_rows)} to {max(self._next_rows)} rows do not make one file")
        fields = [field for column in self._columns for field in column.fields]
        filed = self._schema
        if any(field.is_blob_v2 for field in filed.by_id.values()):
            filed = Schema(tuple(as_filed(field) for field in filed.fields), filed.metadata)
        descriptor = self._sink.write_aligned(serialize_descriptor(filed, self.num_rows))
        described = [
            # in other versions, the pages mark blobs
            serialize_column(pages, is_blob=self._version.pages is None and field.is_blob_v1)
            for field, pages in zip(fields, self._pages, strict=True)
        ]
        ends = accumulate(map(len, described), initial=self._sink.tell())
        columns = [ByteRange(start, end) for start, end in pairwise(ends)]
        self._sink.write(b"".join(described))
        self._sink.write(serialize_footer(self._version, columns, [descriptor, *self._buffers], self._sink.tell()))
        size = self._sink.tell()
        checksum = self._sink.close()
        ids, indices = tuple(field.id for field in fields), tuple(range(len(fields)))
        assert self._version.in_manifests is not None
        return WrittenFile(self._path, size, self.num_rows, ids, indices, self._version.in_manifests, checksum)

    def abort(self) -> None:
        """Removes the written bytes."""
        for _, made in self._jobs:
            if isinstance(made, Future):
                made.cancel()
        self._jobs.clear()
        self._close_pool()
        self._sink.abort()

    def _take_apart(self, *, is_end: bool = False) -> None:
        """Passes the held batches to the columns.

        is_end: pages are made of all values right after this
        """
        first_row = self.num_rows - self._held_rows
        held, self._held, self._held_rows, self._held_bytes = self._held, [], 0, 0
        for rows in joined(held):
            num_bytes = rows.nbytes
            for column, array in zip(self._encoded, rows.columns, strict=True):
                self._encode(column.add(array if is_end else _own(array, num_bytes), first_row))
            first_row += rows.num_rows

    def _encode(self, jobs: Iterable[PageJob]) -> None:
        for job in jobs:
            if job.num_bytes < _INLINE_BYTES:
                self._jobs.append((job, job.encode()))
            else:
                self._pool = self._pool or ThreadPoolExecutor(_NUM_THREADS, "lance-encode")
                self._jobs.append((job, threads.submit(self._pool, job.encode)))
            self._put_out(_MAX_JOBS)

    def _put_out(self, most_waiting: int) -> None:
        """Writes encoded pages until at most this many wait."""
        while len(self._jobs) > most_waiting:
            job, made = self._jobs.popleft()
            page = made.result() if isinstance(made, Future) else made
            buffers = tuple(self._sink.write_aligned(buffer) for buffer in page.buffers)
            first_row = self._next_rows[job.column]
            self._pages[job.column].append(WrittenPage(page.num_rows, buffers, page.layout, first_row))
            self._next_rows[job.column] += job.num_rows

    def _close_pool(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _columns_writer(
        self, field: Field, first_column: int, page_bytes: int, put: Callable[[pa.Buffer], int]
    ) -> ColumnsWriter:
        if self._version.pages is None:
            return old_files().columns_writer(field, first_column, page_bytes, put)
        return LeafWriter(field, first_column, page_bytes, put, self._version.pages)


def _own(array: pa.Array, batch_bytes: int) -> pa.Array:
    """Returns the array, or a copy if it is a small part of its batch.

    Batches from the C interface are freed as a whole: a column that takes many rows to fill a page would
    hold the values of the other columns until then.
    """
    if array.nbytes * _LARGEST_SHARE >= batch_bytes:
        return array
    return pa.concat_arrays([array, array.slice(0, 0)])
