"""Data files with additional columns of existing fragments: one each, with a row for each physical row.

Values come as one stream over the live rows of all fragments, so that they are computed in large batches,
regardless of fragments. The end of one file is encoded and written while the next values are computed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.format.file.writer import FileWriter, WrittenFile
from lance_sql.format.schema import Schema
from lance_sql.runtime import threads
from lance_sql.table.fragment import DataFile
from lance_sql.values import row_ranges, selection
from lance_sql.values.row_ranges import RowRanges
from lance_sql.writes.statements.fragments import data_file
from lance_sql.writes.statements.session import WriteSession

MOST_WAITING: Final = 2
"""Maximum number of files that are complete except for their ends."""


def write(
    session: WriteSession,
    schema: Schema,
    computed: Iterable[pa.RecordBatch],
    fragments: Iterable[tuple[RowRanges, int]],
) -> Iterator[DataFile]:
    """Yields the file of each fragment, in their order. The files are removed if the session fails.

    computed: the columns of the schema, for the live rows of all fragments
    fragments: the live rows of each, at least one, and its number of rows
    """
    rows = _Rows(computed)
    waiting: deque[tuple[FileWriter, Future[WrittenFile]]] = deque()
    with ThreadPoolExecutor(1, "lance-columns") as pool:
        try:
            for live, num_rows in fragments:
                writer = session.file_writer(schema)
                for batch in _with_gaps(rows.next(row_ranges.count(live)), live, num_rows):
                    writer.write(batch)
                waiting.append((writer, threads.submit(pool, writer.finish)))
                while len(waiting) > MOST_WAITING:
                    yield _finished(session, *waiting.popleft())
            while waiting:
                yield _finished(session, *waiting.popleft())
        finally:
            # on failure the session removes all known files, so unfinished ones must be registered and no longer
            # written
            for writer, file in waiting:
                if not file.cancel() and file.exception() is None:
                    _finished(session, writer, file)


def _finished(session: WriteSession, writer: FileWriter, file: Future[WrittenFile]) -> DataFile:
    finished = data_file(file.result())
    session.finished(writer, finished)
    return finished


class _Rows:
    """A stream of rows, taken in consecutive parts."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._left: pa.RecordBatch | None = None

    def next(self, num_rows: int) -> Iterator[pa.RecordBatch]:
        """Yields the next rows."""
        while num_rows:
            batch = self._left if self._left is not None else next(self._batches)
            self._left = batch.slice(num_rows) if batch.num_rows > num_rows else None
            head = batch.slice(0, num_rows)
            num_rows -= head.num_rows
            yield head


def _with_gaps(batches: Iterable[pa.RecordBatch], live: RowRanges, num_rows: int) -> Iterator[pa.RecordBatch]:
    """Yields rows for every physical offset of a fragment, from those of the live rows.

    A deleted row gets the values of the next live row, or of the last one: readers skip it, and it need not be NULL.
    """
    taken = start = 0
    num_live = row_ranges.count(live)
    if num_live == num_rows:
        yield from batches
        return
    for batch in batches:
        rows = row_ranges.expand(row_ranges.compose(live, row_ranges.single(taken, taken + batch.num_rows)))
        taken += batch.num_rows
        end = num_rows if taken == num_live else int(rows[-1]) + 1
        if end - start == batch.num_rows:
            yield batch
        else:
            source = np.searchsorted(rows, np.arange(start, end))
            yield selection.take(batch, pa.array(np.minimum(source, batch.num_rows - 1)))
        start = end
