"""Building of a BTREE: values are sorted, with runs on disk if there are many, and split into pages.

Source: indices, BTree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.index_files import order, writing
from lance_sql.format.index_files.btree import DATA, LOOKUP
from lance_sql.format.index_files.sorting import RUN_BYTES, Sorter
from lance_sql.runtime.progress import Work
from lance_sql.store import Store
from lance_sql.values.arrays import U64

ROWS_PER_PAGE: Final = 4096


class BTreeBuilder:
    """Takes the values of rows with their addresses, in any order. Use it as a context manager."""

    def __init__(self, type: pa.DataType, *, run_bytes: int = RUN_BYTES) -> None:
        """
        raises: UnsupportedFeature for types without an order
        """
        order.check(type)
        self._type = type
        self._sorter = Sorter(type, run_bytes=run_bytes)
        self._pages: list[pa.RecordBatch] = []
        self._num_rows = 0
        self._lookup = pa.schema([("min", type), ("max", type), ("null_count", pa.uint32()), ("page_idx", pa.uint32())])

    def __enter__(self) -> BTreeBuilder:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._sorter.__exit__(kind, error, trace)

    def add(self, values: pa.Array, addresses: U64) -> None:
        self._num_rows += len(values)
        self._sorter.add(values, addresses)

    def write(self, store: Store, folder: str, *, file_version: str) -> tuple[WrittenFile, ...]:
        """Writes the files of the index."""
        data = pa.schema([("values", self._type), ("ids", pa.uint64())])
        data_file = writing.write(
            store, f"{folder}/{DATA}", data, self._data(data), file_version=file_version, notes={}
        )
        notes = {"batch_size": str(ROWS_PER_PAGE)}
        try:
            lookup = writing.write(
                store, f"{folder}/{LOOKUP}", self._lookup, self._pages, file_version=file_version, notes=notes
            )
        except BaseException:
            store.delete(data_file.path)
            raise
        return lookup, data_file

    def _data(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for batch in Work(self._num_rows).over(_in_whole_pages(self._sorter.sorted())):
            self._note_pages(batch.column(0))
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def _note_pages(self, values: pa.Array) -> None:
        starts = np.arange(0, len(values), ROWS_PER_PAGE)
        ends = np.minimum(starts + ROWS_PER_PAGE, len(values))
        # NULLs come first
        nulls = np.minimum(ends, values.null_count) - np.minimum(starts, values.null_count)
        first = sum(batch.num_rows for batch in self._pages)
        columns = [
            values.take(pa.array(starts)),
            values.take(pa.array(ends - 1)),
            pa.array(nulls, pa.uint32()),
            pa.array(np.arange(first, first + len(starts)), pa.uint32()),
        ]
        self._pages.append(pa.RecordBatch.from_arrays(columns, schema=self._lookup))


def _in_whole_pages(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Regroups rows into batches of whole pages, except for the last one."""
    held: list[pa.RecordBatch] = []
    num_rows = 0
    for batch in batches:
        held.append(batch)
        num_rows += batch.num_rows
        whole = num_rows - num_rows % ROWS_PER_PAGE
        if whole:
            (together,) = pa.Table.from_batches(held).combine_chunks().to_batches()
            yield together.slice(0, whole)
            held = [together.slice(whole)]
            num_rows -= whole
    if num_rows:
        (together,) = pa.Table.from_batches(held).combine_chunks().to_batches()
        yield together
