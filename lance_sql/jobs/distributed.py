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
from uuid import uuid4

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.errors import LanceError
from lance_sql.runtime.progress import Work
from lance_sql.table.fragment import MAX_ROWS_PER_FILE, Fragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.committer import Expected
from lance_sql.writes.commit.operations import Rewrite
from lance_sql.writes.statements import compact
from lance_sql.writes.statements.compact import Group, IndexChoice
from lance_sql.writes.statements.fragments import FileLimits, FragmentWriter
from lance_sql.writes.statements.row_changes import (
    CHANGE,
    DELETE,
    WRITE,
    Clauses,
    RowChange,
    Written,
    commit,
    from_batches,
    write,
)
from lance_sql.writes.statements.session import RowCounts, WriteSession, file_version, on_latest

__all__ = [
    "CHANGE",
    "DELETE",
    "WRITE",
    "ChangeJob",
    "Clauses",
    "CompactionJob",
    "IndexChoice",
    "Written",
    "change_rows",
    "compact_groups",
    "from_batches",
]


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

    def write(self, batches: Iterable[pa.RecordBatch], clauses: Clauses | None = None) -> Written:
        """Writes rows that an engine computed to new data files; all of them or none.

        batches, clauses, raises: as for `from_batches`
        """
        return self.apply(from_batches(self.snapshot, batches, clauses, skips_equal=self.skips_equal))

    def apply(self, changes: Iterable[RowChange]) -> Written:
        """Writes rows to new data files; all of them or none.

        raises: as `row_changes.write`
        """
        writers: list[FragmentWriter] = []

        def writer() -> FragmentWriter:
            table, version = self.snapshot.manifest.schema, file_version(self.snapshot)
            writers.append(FragmentWriter(self.snapshot.store, table, version, self.limits, f"{self.id}_"))
            return writers[-1]

        try:
            return write(self.snapshot, Work(None).over(changes), writer)
        except BaseException:
            for each in writers:
                each.abort()
            raise

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
        committed = commit(session, parts, inserts_by_key=inserts_by_key, counts_equal=skips_equal, config=values)
        _tidy(session, job.id, used)
        return committed

    committed = on_latest(dataset.snapshot, operation, change, properties)
    return dataset if committed is dataset.snapshot else Dataset(committed)


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
    """Compacts like `Dataset.maintenance.compact`, with other processes rewriting the groups.

    run: lets workers write each of the job's groups, and returns their fragments in the order of the groups
    raises: as `Dataset.maintenance.compact`; errors of `run`
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
