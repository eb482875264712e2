"""Writing tables: in one call, or in two steps for writers that run in many processes.

    job = begin_write(uri, schema, mode="append")
    fragments = job.write_fragments(rows)        # here or in another process: jobs and fragments are picklable
    job.commit(fragments)                        # or job.abort()

Nothing that a job writes belongs to a version before its commit. The names of its files begin with its id, so that
whatever failed or repeated tasks leave behind is found and removed.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import UUID, uuid4

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.errors import CommitConflict, CorruptFile, InvalidArgument, LanceError, TableExists, TableNotFound
from lance_sql.format.schema.compression import compressed
from lance_sql.store.manifest_store import ManifestStore
from lance_sql.store.open import absolute, with_manifest_store
from lance_sql.store.requests import concurrently
from lance_sql.table.commit_summary import CommitSummary, check_properties
from lance_sql.table.fragment import MAX_ROWS_PER_FILE, Fragment
from lance_sql.table.location import table_name
from lance_sql.table.open_snapshot import list_snapshots, open_snapshot
from lance_sql.table.paths import DATA
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.statements import insert, once
from lance_sql.writes.statements.fragments import MAX_BYTES_PER_FILE, FileLimits
from lance_sql.writes.statements.insert import Target
from lance_sql.writes.statements.once import Turn
from lance_sql.writes.statements.session import REFUSALS, RowCounts, summarize, while_there
from lance_sql.writes.statements.source import to_reader

__all__ = [
    "MAX_BYTES_PER_FILE",
    "MAX_ROWS_PER_FILE",
    "Mode",
    "NewFragments",
    "Turn",
    "WriteJob",
    "begin_write",
    "write",
]

Mode: TypeAlias = insert.Mode

_SECONDS_UNASKED: Final = 24 * 3600.0

NewFragments: TypeAlias = tuple[Fragment, ...]
"""Data files that belong to no version yet."""


@dataclass(frozen=True, slots=True)
class WriteJob:
    """A write that has begun. Picklable.

    Data files are written anywhere, then one process commits all of them. Nothing belongs to the table before.

    id: what the names of the job's data files begin with
    turn: which write of which application this is; None for a write that is made as often as it is asked for

    >>> job = lance_sql.begin_write(orders.uri, orders.schema, mode="append")
    >>> fragments = job.write_fragments(orders.scan(limit=10))
    >>> job.commit(fragments).version
    2
    """

    target: Target
    limits: FileLimits
    properties: Mapping[str, str]
    id: str = dataclasses.field(default_factory=lambda: uuid4().hex)
    started: float = dataclasses.field(default_factory=time.time)
    turn: Turn | None = None

    def write_fragments(self, data: object) -> NewFragments:
        """Writes rows to new data files; all of them or none. What it returns is picklable, and goes to `commit`.

        data: as for `write`
        raises: InvalidArgument for rows that do not fit the table
        """
        batches = to_reader(data, table=self.target.schema.arrow)
        return insert.write_fragments(self.target, batches, self.limits, f"{self.id}_")

    def commit(self, fragments: Iterable[Fragment]) -> Dataset:
        """Makes one version of the fragments, and removes what else the job has written, such as files of tasks that
        failed or ran twice. A job is committed once; one whose commit failed may be aborted. Where another job has made
        the same turn already, nothing is committed, and the version is the one that has it.

        raises: CommitConflict, also for a job of more than a day whose files are gone; TableExists; InvalidArgument for
            fragments of another job, or for a second commit; CorruptFile for a version whose files were removed
            meanwhile
        """
        fragments = tuple(fragments)
        names = [file.path for fragment in fragments for file in fragment.files]
        for name in names:
            if not name.startswith(self.id):
                raise InvalidArgument(f"The data file {name!r} was not written by this job")
        if len(set(names)) < len(names):
            raise InvalidArgument("The same fragment is given twice")
        with while_there(self.target.snapshot):
            committed, is_ours = self._commit_once(fragments)
        there = set(names)
        # the version is there: what cannot be removed now is left to a cleanup
        with suppress(OSError, LanceError):
            there = self._remove_files(keep=names if is_ours else ())
        if is_ours and not there.issuperset(names):
            removed = sorted(set(names) - there)
            raise CorruptFile(
                f"{committed.label}: {len(removed)} of its {len(names)} new files were removed by somebody while they"
                f" were committed, data/{removed[0]} the first; 'lance-sql repair' returns to the version before"
            )
        return self._handle(committed, is_ours)

    def abort(self) -> None:
        """Removes the data files that the job has written, wherever its tasks ran. No error for none.

        Files that a version has stay: a commit may have succeeded although it seemed to fail. All of them stay when a
        commit ended without an answer and no version has them yet, for its request may still be carried out; a cleanup
        removes them when it was not.

        raises: CorruptFile, UnsupportedFeature for a version that cannot be read
        """
        committed_files = self._committed()
        if not committed_files and self.target.was_tried(self._transaction):
            # It may have been carried out between both answers.
            committed_files = self._committed()
            if not committed_files:
                return
        self._remove_files(keep=committed_files)
        folder = self.target.store().local_path(DATA)
        if self.target.snapshot is None and folder is not None:
            insert.remove_folders([folder, os.path.dirname(folder)])

    def write(self, data: object) -> Dataset:
        """Both steps at once; nothing stays of a write that fails.

        raises: as `write_fragments` and `commit`; what the data raises
        """
        with while_there(self.target.snapshot):
            return self._write(data)

    def _write(self, data: object) -> Dataset:
        made = [] if self.target.snapshot is not None else insert.missing_folders(self.target.store())
        fragments = self.write_fragments(data)
        try:
            committed, is_ours = self._commit_once(fragments)
        except (*REFUSALS, TableExists):
            self._delete(fragments)
            insert.remove_folders(made)
            raise
        if not is_ours:
            self._delete(fragments)
        return self._handle(committed, is_ours)

    def _handle(self, committed: Snapshot, is_ours: bool) -> Dataset:
        if not is_ours:
            # an earlier attempt has made the version
            committed = committed.with_commit(CommitSummary(self.target.operation, 0, 0, 0, 0, 0).to_properties())
        return Dataset(committed)

    def _delete(self, fragments: NewFragments) -> None:
        store = self.target.store()
        for fragment in fragments:
            for file in fragment.files:
                store.delete(f"data/{file.path}")

    def _commit_once(self, fragments: NewFragments) -> tuple[Snapshot, bool]:
        """The version that has the write, and whether this job has made it."""
        earlier = self._of_turn()
        if earlier is not None:
            return earlier, False
        try:
            return self._commit(fragments), True
        except (*REFUSALS, TableExists):
            # another attempt of the same turn may have been first
            earlier = self._of_turn()
            if earlier is None:
                raise
            return earlier, False

    def _of_turn(self) -> Snapshot | None:
        """The version that has the job's turn; None where there is none yet, or the job has none."""
        if self.turn is None:
            return None
        branch = None if self.target.snapshot is None else self.target.snapshot.branch
        try:
            newest = open_snapshot(self.target.uri, branch=branch, storage_options=self.target.storage_options)
        except TableNotFound:
            return None
        return once.committed(newest, self.turn)

    def _commit(self, fragments: NewFragments) -> Snapshot:
        rows = RowCounts(
            inserted=sum(fragment.physical_rows for fragment in fragments), deleted=self.target.num_replaced_rows()
        )
        files = [file for fragment in fragments for file in fragment.files]
        if time.time() - self.started > _SECONDS_UNASKED:
            self._check_files([f"data/{file.path}" for file in files])
        summary = summarize(self.target.operation, rows, files, self.started, self.properties, self.id)
        if self.turn is not None:
            turn = self.turn
            summary = dataclasses.replace(
                summary, txn_app_id=turn.app_id, txn_version=turn.version, txn_query=turn.query
            )
        try:
            return self.target.commit(fragments, summary.to_properties(), self._transaction)
        except TableExists:
            if self._committed():
                name = table_name(self.target.uri)
                raise InvalidArgument(f"This job was committed to {name} already: begin another one") from None
            raise

    def _check_files(self, paths: Sequence[str]) -> None:
        """Makes sure that files are still there, which a cleanup takes for leftovers after a week.

        raises: CommitConflict
        """
        store = self.target.store()

        def is_gone(path: str) -> bool:
            try:
                store.tail(path, 0)
            except FileNotFoundError:
                return True
            return False

        are_gone = concurrently([partial(is_gone, path) for path in paths], store.concurrency)
        if any(are_gone):
            missing = [path for path, is_missing in zip(paths, are_gone, strict=True) if is_missing]
            days = (time.time() - self.started) / 86400
            raise CommitConflict(
                f"{table_name(self.target.uri)}: {len(missing)} of {len(paths)} files of this job are gone, such as"
                f" {missing[0]}: it was begun {days:.1f} days ago, and a cleanup removes what no version names after a"
                " week. Write them again"
            )

    @property
    def _transaction(self) -> str:
        """The id of the transaction, by which another process finds out whether the commit was tried."""
        return str(UUID(self.id))

    def _committed(self) -> set[str]:
        """The names of the job's files that a version has.

        raises: CorruptFile, UnsupportedFeature for a version that cannot be read
        """
        snapshot = self.target.snapshot
        since, branch = (0, None) if snapshot is None else (snapshot.version, snapshot.branch)
        try:
            versions = list_snapshots(self.target.uri, branch=branch, storage_options=self.target.storage_options)
        except TableNotFound:
            return set()
        names = (
            file.path
            for each in versions
            if each.version > since
            for fragment in each.manifest.fragments
            for file in fragment.files
        )
        return {name for name in names if name.startswith(self.id)}

    def _remove_files(self, keep: Collection[str]) -> set[str]:
        """Removes the job's other files, and returns the names of those that stay."""
        store = self.target.store()
        wanted = set(keep)
        there: set[str] = set()
        for info in list(store.files("data")):
            name = info.path.removeprefix("data/")
            if name in wanted:
                there.add(name)
            elif name.startswith(self.id):
                store.delete(info.path)
        return there


def _resolved(
    uri: str | os.PathLike[str] | Dataset, branch: str | None, storage_options: Mapping[str, Any] | None
) -> tuple[str, str | None, Mapping[str, Any] | None]:
    """The path or URI of a table, its branch, and the options of its store.

    raises: InvalidArgument where a handle is of another branch
    """
    if not isinstance(uri, Dataset):
        return absolute(uri), branch, storage_options
    if branch is not None and branch != uri.branch:
        raise InvalidArgument(f"branch={branch!r}, and the handle is one on {uri.branch or 'main'!r}: give one of them")
    return uri.uri, uri.branch, storage_options or uri.snapshot.storage_options


def begin_write(
    uri: str | os.PathLike[str] | Dataset,
    schema: pa.Schema,
    *,
    mode: Mode = "create",
    branch: str | None = None,
    file_version: str | None = None,
    stable_row_ids: bool | None = None,
    merge_schema: bool = False,
    max_rows_per_file: int = MAX_ROWS_PER_FILE,
    max_bytes_per_file: int = MAX_BYTES_PER_FILE,
    compression: str | Mapping[str, str] | None = None,
    compression_level: int | None = None,
    properties: Mapping[str, str] | None = None,
    txn_app_id: str | None = None,
    txn_version: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    manifest_store: ManifestStore | None = None,
) -> WriteJob:
    """Begins a write in two steps; what can be refused is refused here.

    schema: of the rows to come
    others, raises: as for `write`
    """
    table_uri, branch, storage_options = _resolved(uri, branch, with_manifest_store(storage_options, manifest_store))
    _check_compression(mode, compression, compression_level)
    snapshot = insert.existing(table_uri, mode, branch=branch, storage_options=storage_options)
    target = insert.target(
        table_uri,
        mode,
        snapshot,
        compressed(schema, compression, compression_level),
        wanted_version=file_version,
        stable_row_ids=stable_row_ids,
        storage_options=storage_options,
        merge_schema=merge_schema,
    )
    limits, checked = FileLimits(max_rows_per_file, max_bytes_per_file), check_properties(properties)
    return WriteJob(target, limits, checked, turn=once.turn(txn_app_id, txn_version))


def _check_compression(mode: Mode, compression: str | Mapping[str, str] | None, level: int | None) -> None:
    if mode == "append" and (compression is not None or level is not None):
        raise InvalidArgument("A table keeps its compression when rows are appended: leave compression= out")


def write(
    data: object,
    uri: str | os.PathLike[str] | Dataset,
    *,
    mode: Mode = "create",
    schema: pa.Schema | None = None,
    branch: str | None = None,
    file_version: str | None = None,
    stable_row_ids: bool | None = None,
    merge_schema: bool = False,
    max_rows_per_file: int = MAX_ROWS_PER_FILE,
    max_bytes_per_file: int = MAX_BYTES_PER_FILE,
    compression: str | Mapping[str, str] | None = None,
    compression_level: int | None = None,
    properties: Mapping[str, str] | None = None,
    txn_app_id: str | None = None,
    txn_version: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    manifest_store: ManifestStore | None = None,
) -> Dataset:
    """Writes a table, or appends to one; nothing stays of a write that fails.

    uri: a path or URI; or a `Dataset`, whose branch it is then
    data: anything with `__arrow_c_stream__` (pyarrow, a DuckDB relation, Polars, a `Dataset`), a pandas DataFrame,
        whose index becomes columns where it has names, a frame of Spark or a lazy frame of Polars, which are collected,
        a dict of columns, a list of dicts, or record batches. Streams are written as they come
    mode: "create" a table that must not exist, "append" to one that must, or "overwrite" all rows and columns of a
        table, which is created when it does not exist
    schema: of dicts or of record batches, where their own does not say it
    branch: to append to, or to overwrite; main without it
    file_version: of the data files: "2.2" unless said otherwise, "2.1" or "2.0"; a table keeps its own when rows are
        appended, unless another writer has mixed versions in it already
    stable_row_ids: rows keep their ids when they move, and have versions, which change queries need. On unless False;
        fixed when a table is created; see `Dataset.enable_stable_row_ids`
    merge_schema: an append adds the columns that the table does not have, which are NULL in its rows, in the same
        version. Where another writer changes columns meanwhile, it is a retryable conflict
    max_rows_per_file, max_bytes_per_file: where a data file ends and the next one begins
    compression: "zstd" or "lz4" of all columns, or of some by their names; kept with the table, for rows that are
        appended, too
    compression_level: of "zstd", 3 without it
    properties: kept with the transaction, beside what `commit_summary` says of the write
    txn_app_id, txn_version: make the write once, however often it is tried: an application gives ascending numbers to
        its writes, and one whose number, or a later one, the table has already is not made again. The table's config
        has the last number: a cleanup keeps it, a branch has it, and a restore takes it back with the rows
    storage_options: for the store of the URI, by the names of object_store
    manifest_store: who keeps the manifests of the table's versions, where the URI's store cannot create a file that
        only one of several writers creates; every reader and writer of the table has to give it
    raises: TableExists, TableNotFound; InvalidArgument for rows that do not fit; UnsupportedFeature for types that the
        file version does not hold; CommitConflict

    >>> lance_sql.write({"id": [1, 2], "name": ["a", "b"]}, path).version
    1
    """
    table_uri, branch, storage_options = _resolved(uri, branch, with_manifest_store(storage_options, manifest_store))
    _check_compression(mode, compression, compression_level)
    limits, checked = FileLimits(max_rows_per_file, max_bytes_per_file), check_properties(properties)
    turn = once.turn(txn_app_id, txn_version)
    snapshot = insert.existing(table_uri, mode, branch=branch, storage_options=storage_options)
    table = snapshot.manifest.schema.arrow if mode == "append" and snapshot is not None else None
    reader = to_reader(data, schema, table=table)
    target = insert.target(
        table_uri,
        mode,
        snapshot,
        compressed(reader.schema, compression, compression_level),
        wanted_version=file_version,
        stable_row_ids=stable_row_ids,
        storage_options=storage_options,
        merge_schema=merge_schema,
    )
    return WriteJob(target, limits, checked, turn=turn).write(reader)
