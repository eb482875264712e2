"""Distributed changes of rows: many processes write, and one commits. For engines that join and compute on their own.

    change_rows(dataset, "merge", run)
        run(job)                 by the engine: passes the job to its workers, and returns their results
            job.write(batches)   in a worker: rows that replace others, new rows, deleted rows
        one commit               files are durable before; on top of what others committed, and from the newest version
                                 once more where they changed the same rows

A worker returns a list of files with the ids of their rows, as in a manifest, and bitmaps of the replaced or deleted
rows. Jobs and their results are picklable. The names of a job's files begin with its id, so that files of tasks that
failed or ran twice are found and removed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, LanceError
from lance_sql.format.casts.table import TableCast
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.runtime.progress import Work
from lance_sql.table.fragment import MAX_ROWS_PER_FILE, Fragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U64
from lance_sql.values.bitmaps import U64Set
from lance_sql.values.selection import matching
from lance_sql.writes.commit.committer import Expected
from lance_sql.writes.commit.operations import Delete, Rewrite, Update, UpdateConfig, UpdateMap
from lance_sql.writes.statements import compact
from lance_sql.writes.statements.compact import Group, IndexChoice
from lance_sql.writes.statements.equal_rows import differing
from lance_sql.writes.statements.fragments import FileLimits, FragmentWriter
from lance_sql.writes.statements.moved_rows import MovedRows
from lance_sql.writes.statements.removed_rows import carrying, delete_offsets
from lance_sql.writes.statements.session import RowCounts, WriteSession, file_version, on_latest

__all__ = [
    "CHANGE",
    "DELETE",
    "WRITE",
    "ChangeJob",
    "CompactionJob",
    "IndexChoice",
    "Written",
    "change_rows",
    "compact_groups",
]

CHANGE: Final = "__lance_change"
"""Column of a batch with the action for each row."""
WRITE: Final = "write"
DELETE: Final = "delete"


@dataclass(frozen=True, slots=True)
class Written:
    """Result of one worker.

    carried: fragments with new copies of rows, and the ids of these
    new: fragments with new rows
    replaced: addresses of the rows that the copies replace
    deleted: addresses of the deleted rows
    equal: addresses of rows that already had the new values
    num_replaced, num_deleted, num_equal: their numbers, including duplicates
    """

    carried: tuple[Fragment, ...]
    new: tuple[Fragment, ...]
    replaced: U64Set
    deleted: U64Set
    num_replaced: int
    num_deleted: int
    equal: U64Set
    num_equal: int


@dataclass(frozen=True, slots=True)
class ChangeJob:
    """Job of a change, based on one version of a table. Picklable.

    id: the prefix of the names of its data files
    skips_equal: rows that already have the new values are not written
    """

    snapshot: Snapshot
    limits: FileLimits
    skips_equal: bool = False
    id: str = dataclasses.field(default_factory=lambda: uuid4().hex)

    @property
    def dataset(self) -> Dataset:
        """Version that the change is based on."""
        return Dataset(self.snapshot)

    def write(self, batches: Iterable[pa.RecordBatch]) -> Written:
        """Writes rows to new data files; all of them or none.

        batches: the columns of the table, `_rowid` and `_rowaddr` of the row that each row replaces, which are NULL for
            new rows, and `CHANGE`: "write", or "delete" for rows of which only the address counts
        raises: InvalidArgument for rows that do not fit the table
        """
        table, version = self.snapshot.manifest.schema, file_version(self.snapshot)
        writers = [FragmentWriter(self.snapshot.store, table, version, self.limits, f"{self.id}_") for _ in range(2)]
        replaced, deleted, equal = MovedRows(), MovedRows(), MovedRows()
        cast: TableCast | None = None
        try:
            for batch in Work(None).over(batches):
                kind = batch.column(CHANGE)
                deleted_rows = matching(batch, pc.equal(kind, DELETE))
                deleted.add(_numbers(deleted_rows, ROW_ADDRESS))
                rows = matching(batch, pc.equal(kind, WRITE))
                values = rows.select(table.names)
                if cast is None:
                    cast = TableCast(values.schema, table, self.snapshot.name)
                is_new = pc.is_null(rows.column(ROW_ADDRESS))
                is_old = pc.invert(is_new)
                old, new_values = matching(rows, is_old), cast(matching(values, is_old))
                if self.skips_equal and old.num_rows:
                    addresses = _numbers(old, ROW_ADDRESS)
                    differ = differing(self.snapshot, table.names, addresses, pa.Table.from_batches([new_values]))
                    equal.add(addresses[~differ])
                    old, new_values = (matching(each, pa.array(differ)) for each in (old, new_values))
                writers[0].write(new_values)
                writers[1].write(cast(matching(values, is_new)))
                replaced.add(_numbers(old, ROW_ADDRESS), _numbers(old, ROW_ID))
            carried, new = (writer.finish() for writer in writers)
        except BaseException:
            for writer in writers:
                writer.abort()
            raise
        return Written(
            carrying(self.snapshot, carried, replaced.row_ids),
            new,
            replaced.addresses,
            deleted.addresses,
            replaced.num_rows,
            deleted.num_rows,
            equal.addresses,
            equal.num_rows,
        )

    def delete(self, batches: Iterable[pa.RecordBatch]) -> Written:
        """Returns the same as `write` for deleted rows. Writes no file.

        batches: `_rowaddr` of each row, which is not NULL; other columns are ignored
        """
        deleted = MovedRows()
        for batch in Work(None).over(batches):
            deleted.add(_numbers(batch, ROW_ADDRESS))
        nothing = U64Set.union(())
        return Written((), (), nothing, deleted.addresses, 0, deleted.num_rows, nothing, 0)

    def remove_files(self) -> None:
        """Removes the files that its workers wrote."""
        _remove(self.snapshot, self.id)


def change_rows(
    dataset: Dataset,
    operation: str,
    run: Callable[[ChangeJob], Iterable[Written]],
    *,
    inserts_by_key: bool = False,
    skips_equal: bool = False,
    max_rows_per_file: int = MAX_ROWS_PER_FILE,
    properties: Mapping[str, str] | None = None,
    config: Callable[[], Mapping[str, Expected]] | None = None,
) -> Dataset:
    """Changes rows of the newest version, in one commit; makes no commit if no row changes.

    operation: the user's operation, such as "merge"
    run: lets workers write for a job; called again with another job if other writers changed the same rows first
    inserts_by_key: rows are inserted because no row had their keys
    skips_equal: rows that already have the new values are not written; the summary of the commit counts them
    config: called after `run`; returns config entries for the commit, which is also made for these alone
    raises: InvalidArgument when a row is replaced or deleted twice; CommitConflict; errors of `run`
    """
    limits = FileLimits(max_rows=max_rows_per_file)

    def change(session: WriteSession) -> Snapshot:
        job = ChangeJob(session.snapshot, limits, skips_equal)
        session.on_failure(job.remove_files)
        parts = list(run(job))
        used = {file.path for part in parts for each in (*part.carried, *part.new) for file in each.files}
        values = {} if config is None else config()
        committed = _commit(session, parts, values, inserts_by_key=inserts_by_key, counts_equal=skips_equal)
        _tidy(session, job.id, used)
        return committed

    committed = on_latest(dataset.snapshot, operation, change, properties)
    return dataset if committed is dataset.snapshot else Dataset(committed)


def _commit(
    session: WriteSession,
    parts: list[Written],
    config: Mapping[str, Expected],
    *,
    inserts_by_key: bool,
    counts_equal: bool,
) -> Snapshot:
    snapshot = session.snapshot
    num_replaced, num_deleted = sum(part.num_replaced for part in parts), sum(part.num_deleted for part in parts)
    removed = U64Set.union(each for part in parts for each in (part.replaced, part.deleted))
    num_equal = sum(part.num_equal for part in parts)
    if len(U64Set.union([removed, *(part.equal for part in parts)])) < num_replaced + num_deleted + num_equal:
        raise InvalidArgument("Two rows of the source match one row of the table")
    carried = tuple(fragment for part in parts for fragment in part.carried)
    new = tuple(fragment for part in parts for fragment in part.new)
    parts.clear()
    tombstones = delete_offsets(snapshot, removed.halves)
    if not carried and not new and not tombstones.affected:
        if all(each.value == each.before for each in config.values()):
            return session.unchanged(RowCounts(equal=num_equal)) if counts_equal else snapshot
        entries = {key: each.value for key, each in config.items()}
        return session.commit(UpdateConfig(UpdateMap(entries)), RowCounts(), config=config)
    counts = RowCounts(
        inserted=sum(fragment.physical_rows for fragment in new),
        updated=num_replaced,
        deleted=num_deleted,
        equal=num_equal if counts_equal else None,
    )
    if not carried and not new:
        return session.commit(
            Delete(tombstones.updated, tombstones.removed), counts, affected_rows=tombstones.affected, config=config
        )
    operation = Update(
        removed_fragment_ids=tombstones.removed,
        updated_fragments=tombstones.updated,
        new_fragments=(*carried, *new),
        fields_for_preserving_frag_bitmap=tuple(sorted(snapshot.manifest.schema.by_id)),
    )
    return session.commit(
        operation,
        counts,
        affected_rows=tombstones.affected,
        inserts_by_key=inserts_by_key and bool(new),
        written=(*carried, *new),
        config=config,
    )


@dataclass(frozen=True, slots=True)
class CompactionJob:
    """Job of a compaction. Picklable.

    groups: fragments to rewrite together; each group can be rewritten in any process
    """

    snapshot: Snapshot
    limits: FileLimits
    groups: tuple[Group, ...]
    id: str = dataclasses.field(default_factory=lambda: uuid4().hex)

    def write(self, number: int) -> tuple[Fragment, ...]:
        """Writes the rows of one group to new data files."""
        version = file_version(self.snapshot)
        schema = self.snapshot.manifest.schema
        writer = FragmentWriter(self.snapshot.store, schema, version, self.limits, f"{self.id}_")
        try:
            return writer.write_all(compact.rows(self.snapshot, self.groups[number]))
        except BaseException:
            writer.abort()
            raise


def compact_groups(
    dataset: Dataset,
    run: Callable[[CompactionJob], Iterable[tuple[Fragment, ...]]],
    *,
    target_rows: int = MAX_ROWS_PER_FILE,
    max_deleted_share: float = 0.1,
    indices: IndexChoice = "update",
    properties: Mapping[str, str] | None = None,
) -> Dataset:
    """Compacts like `Dataset.compact`, with other processes rewriting the groups.

    run: lets workers write each of the job's groups, and returns their fragments in the order of the groups
    raises: as `Dataset.compact`; errors of `run`
    """

    compact.check_choice(indices)
    before: list[Snapshot] = []

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        groups = compact.plan(latest, target_rows=target_rows, max_deleted_share=max_deleted_share)
        if not groups:
            return latest
        before.append(latest)
        job = CompactionJob(latest, FileLimits(max_rows=target_rows), tuple(groups))
        session.on_failure(lambda: _remove(latest, job.id))
        written = [tuple(fragments) for fragments in run(job)]
        operation: Rewrite = compact.rewrite(session, groups, written)
        fragments = [fragment for each in written for fragment in each]
        compacted = session.commit(operation, RowCounts(), written=fragments)
        _tidy(session, job.id, {file.path for fragment in fragments for file in fragment.files})
        return compacted

    compacted = on_latest(dataset.snapshot, "compact", change, properties, max_attempts=1)
    if before:
        compacted = compact.settled(before[0], compacted, indices, properties)
    return dataset if compacted is dataset.snapshot else Dataset(compacted)


def _tidy(session: WriteSession, job_id: str, used: Collection[str]) -> None:
    """Removes files of tasks that failed or ran twice. Files that cannot be removed now are left to a cleanup.

    used: names of the files of the version
    """
    with suppress(OSError, LanceError):
        _remove(session.snapshot, job_id, used)


def _remove(snapshot: Snapshot, prefix: str, keep: Collection[str] = ()) -> None:
    for info in list(snapshot.store.files("data")):
        name = info.path.removeprefix("data/")
        if name.startswith(prefix) and name not in keep:
            snapshot.store.delete(info.path)


def _numbers(batch: pa.RecordBatch, name: str) -> U64:
    column = batch.column(name)
    if column.null_count:
        raise InvalidArgument(f"{name} is NULL where a row is to be replaced or deleted")
    # copied, because a view would keep the other columns in memory
    values: U64 = np.array(column.cast(pa.uint64()).to_numpy())
    return values
