"""Recovery of the readable rows of a damaged version.

    fragment     a column whose file is missing, cut or cannot be opened is lost in all of its rows
    batch        all columns at once; where that fails, column by column and page by page: see `fragment_rows`
    rows         with every column; or, if NULL may replace lost values, with any

Rows stream to a new table as they are read. Indices, row ids and row versions are not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Unpack

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.errors import TABLE_ERRORS, CorruptFile, InvalidArgument
from lance_sql.format import file_versions
from lance_sql.format.schema.primary_key import nullable
from lance_sql.format.schema.types import declared_field
from lance_sql.health.repairs.fragment_rows import FragmentReader, ReadableRows, nulls
from lance_sql.health.repairs.losses import Losses, Salvage
from lance_sql.health.verification import Problem, verify
from lance_sql.jobs.writing import write
from lance_sql.reads.scan.batches import rows_per_batch
from lance_sql.reads.scan.projection import OutputColumn, resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.runtime.progress import Progress
from lance_sql.store.access import Access, AccessOptions, within
from lance_sql.table.fragment import Fragment
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import VersionLike
from lance_sql.values import row_ranges
from lance_sql.values.keywords import suggests_keywords
from lance_sql.values.local_paths import place_text
from lance_sql.values.row_ranges import RowRanges

_NO_FILES: Final = "the manifest names no data file"


@suggests_keywords
def salvage(
    uri: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    version: VersionLike | None = None,
    tag: str | None = None,
    branch: str | None = None,
    columns: Sequence[str] | None = None,
    null_cells: bool = False,
    intact_only: bool = False,
    progress: Progress | None = None,
    **access: Unpack[AccessOptions],
) -> Salvage:
    """Writes every readable row of a damaged version to a new table. The damaged table is unchanged.

    target: the path or URI of the new table, with the same storage options
    version, tag, branch: the version; by default the newest one of main. Its manifest must be readable
    columns: only these: fewer columns may recover more rows, such as without a column whose file is missing
    null_cells: keep rows with some readable columns, with NULL for lost values; by default they are omitted
    intact_only: pages with bytes that differ from their checksum count as lost, though they can be decoded. A checksum
        covers 1 MiB of a file, so pages next to a damaged one may count as well
    progress: called with the number of fragments done, and the total
    access: keywords of `lance_sql.open` that say where the files of both tables are and how they are reached
    returns: the new table, and the losses by fragment, column and rows
    raises: TableNotFound, VersionNotFound, ColumnNotFound, TableExists; InvalidArgument for the table itself as target;
        CorruptFile for a manifest that cannot be read; errors of writing

    >>> lance_sql.salvage(orders.uri, orders.uri + ".saved").num_lost_rows
    0
    """
    reading_access = Access.of(**access).without_checksums()
    snapshot = open_snapshot(uri, version=version, tag=tag, branch=branch, access=reading_access, use_indices=False)
    if place_text(target).rstrip("/") == place_text(uri).rstrip("/"):
        raise InvalidArgument("The target of a salvage must be a new table, not the table itself")
    with within(access):
        changed = verify(uri, version=snapshot.version, branch=snapshot.branch, checksums=True).problems
    reading = _Reading(snapshot, resolve(snapshot, columns), null_cells, intact_only, changed)
    written = snapshot.manifest.data_format
    new_table = write(
        pa.RecordBatchReader.from_batches(reading.schema, reading.batches(progress or (lambda done, total: None))),
        target,
        file_version=written if written in file_versions.WRITTEN else None,
        stable_row_ids=snapshot.manifest.has_stable_row_ids,
        properties={"salvaged_from": snapshot.label},
        **access,
    )
    return reading.result(new_table)


@dataclass
class _Reading:
    """Reader of the readable rows; records losses.

    changed: bytes of files that differ from their checksums
    """

    snapshot: Snapshot
    columns: tuple[OutputColumn, ...]
    null_cells: bool
    intact_only: bool
    changed: Sequence[Problem]
    losses: Losses = field(default_factory=Losses)
    doubtful: Losses = field(default_factory=Losses)
    num_rows: int = 0
    num_lost_rows: int = 0
    num_lost_cells: int = 0
    num_deleted: dict[int, int] = field(default_factory=dict)
    _scans: dict[tuple[OutputColumn, ...], Scan] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows; every column is nullable if NULL may replace lost values."""
        fields = [
            declared_field(column.field) if column.field is not None and not column.path else column.arrow
            for column in self.columns
        ]
        if self.null_cells:
            fields = list(map(nullable, fields))
        return pa.schema(fields, self.snapshot.manifest.schema.arrow.metadata)

    def result(self, new_table: Dataset) -> Salvage:
        return Salvage(
            self.snapshot.label,
            new_table,
            self.num_rows,
            self.num_lost_rows,
            self.num_lost_cells,
            self.losses.as_tuple(),
            self.doubtful.as_tuple(),
            self.num_deleted,
        )

    def batches(self, progress: Progress) -> Iterator[pa.RecordBatch]:
        """Yields the rows, fragment by fragment."""
        fragments = self.snapshot.manifest.fragments
        for fragment_index in range(len(fragments)):
            try:
                fragment = fragments[fragment_index]
            except TABLE_ERRORS as error:
                self.losses.add(fragment_index, None, None, error)
            else:
                for batch in self._of_fragment(fragment):
                    self.num_rows += batch.num_rows
                    yield batch
            progress(fragment_index + 1, len(fragments))

    def _of_fragment(self, fragment: Fragment) -> Iterator[pa.RecordBatch]:
        try:
            opened, live = self._live(fragment)
        except TABLE_ERRORS as error:
            self.losses.add(fragment.id, None, None, error)
            return
        num_live = row_ranges.count(live)
        readable = [column for column in self.columns if self._opens(opened, column)]
        stored = [column for column in readable if column.field is not None and opened.columns_of(column.field)]
        if not stored or (len(readable) < len(self.columns) and not self.null_cells):
            self.num_lost_rows += num_live
            if not fragment.files:
                self.losses.add(fragment.id, None, live, CorruptFile(_NO_FILES))
            return
        rows = FragmentReader(self.scan_of, opened, readable, stored, self.losses, null_cells=self.null_cells)
        rows.lost.update(self._doubtful(opened))
        for readable_rows in rows.batches(live, _batch_rows(opened, readable)):
            yield from self._as_batch(readable_rows)
        self.num_lost_rows += rows.num_lost

    def _as_batch(self, rows: ReadableRows) -> Iterator[pa.RecordBatch]:
        """Yields the rows with all columns of the new table."""
        num_rows = rows.num_rows
        arrays = []
        for column in self.columns:
            array = rows.arrays.get(column.name)
            if array is None:
                array = nulls(column.arrow.type, num_rows)
            arrays.append(array)
            self.num_lost_cells += rows.num_lost.get(column.name, num_rows)
        yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def scan_of(self, columns: tuple[OutputColumn, ...]) -> Scan:
        """Returns a scan of some columns that can read any rows of any fragment."""
        scan = self._scans.get(columns)
        if scan is None:
            scan = self._scans[columns] = Scan(self.snapshot, columns, None, None, None)
        return scan

    def _live(self, fragment: Fragment) -> tuple[OpenFragment, RowRanges]:
        """Opens the fragment, and returns its live rows; all rows if the deletions cannot be read.

        raises: LanceError if the number of rows is unknown
        """
        opened = self.snapshot.open(fragment)
        _ = opened.num_rows
        try:
            return opened, opened.live_rows()
        except TABLE_ERRORS:
            deletions = fragment.deletion_file
            self.num_deleted[fragment.id] = deletions.num_deleted_rows if deletions is not None else 0
            opened = OpenFragment(self.snapshot.open_fragments.files, fragment.without_deletions)
            return opened, opened.live_rows()

    def _opens(self, opened: OpenFragment, column: OutputColumn) -> bool:
        """Whether the files of a column can be opened."""
        assert column.field is not None
        try:
            for each in opened.columns_of(column.field):
                _ = each.row_starts
        except TABLE_ERRORS as error:
            self.losses.add(opened.id, column.name, row_ranges.single(0, opened.num_rows), error)
            return False
        return True

    def _doubtful(self, opened: OpenFragment) -> dict[str, RowRanges]:
        """Finds pages that differ from their checksums; returns their rows by column if these count as lost."""
        wrong: dict[str, RowRanges] = {}
        columns = {column.name: column for column in self.columns}
        paths = set[str | None]()
        for file in opened.fragment.files:
            # columns of a file outside the table are lost already
            with suppress(*TABLE_ERRORS):
                paths.add(self.snapshot.open_fragments.files.resolve(file)[1])
        for problem in self.changed:
            column = columns.get(problem.column or "")
            if problem.file not in paths or problem.page is None or column is None:
                continue
            rows = _rows_of_page(opened, column, problem.page)
            if rows is None:
                continue
            if self.intact_only:
                wrong[column.name] = row_ranges.union(wrong.get(column.name, row_ranges.EMPTY), rows)
            error = CorruptFile(problem.message).located(problem.file, column.name, problem.page)
            (self.losses if self.intact_only else self.doubtful).add(opened.id, column.name, rows, error)
        return wrong


def _rows_of_page(opened: OpenFragment, column: OutputColumn, page: int) -> RowRanges | None:
    """Returns the rows of a page of a column; all rows if several stored columns have a page of that number. None if
    unknown."""
    assert column.field is not None
    try:
        columns = list(opened.columns_of(column.field))
        starts = columns[0].row_starts
    except TABLE_ERRORS:
        return None
    if len(columns) > 1:
        return row_ranges.single(0, opened.num_rows)
    return row_ranges.single(int(starts[page]), int(starts[page + 1])) if page + 1 < len(starts) else None


def _batch_rows(opened: OpenFragment, columns: Sequence[OutputColumn]) -> int:
    """Returns the number of rows to read at once."""
    row_bytes = 0.0
    for column in columns:
        assert column.field is not None
        for each in opened.columns_of(column.field):
            try:
                row_bytes += each.row_bytes
            except TABLE_ERRORS:
                # reading its pages reports the error
                continue
    return rows_per_batch(row_bytes)
