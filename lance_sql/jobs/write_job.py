"""Write in two steps: data files from any process, then one commit of all of them."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID, uuid4

from lance_sql.dataset import Dataset
from lance_sql.errors import CommitConflict, CorruptFile, InvalidArgument, LanceError, TableExists, TableNotFound
from lance_sql.store.requests import concurrently
from lance_sql.table import commit_origin
from lance_sql.table.commit_summary import CommitSummary
from lance_sql.table.fragment import Fragment
from lance_sql.table.location import table_name
from lance_sql.table.open_snapshot import list_snapshots, open_snapshot
from lance_sql.table.paths import DATA
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.keywords import class_suggests_keywords
from lance_sql.writes.statements import insert, once
from lance_sql.writes.statements.fragments import FileLimits
from lance_sql.writes.statements.insert import Target
from lance_sql.writes.statements.once import Turn
from lance_sql.writes.statements.session import REFUSALS, RowCounts, summarize, while_there
from lance_sql.writes.statements.source import to_reader

__all__ = ["NewFragments", "Turn", "WriteJob"]

_SECONDS_UNASKED: Final = 24 * 3600.0
"""Age of a write in one process before it asks for its own files."""

_MOST_ASKED: Final = 16
"""Maximum number of files to ask for one by one; the folder is listed for more."""

_aborted: Final[set[str]] = set()
"""Ids of the jobs that this process has aborted."""

_ABORTED: Final = "this job was aborted, and its files are gone: start another one"

NewFragments: TypeAlias = tuple[Fragment, ...]
"""Fragments with data files that belong to no version yet."""


@class_suggests_keywords
@dataclass(frozen=True, slots=True, repr=False)
class WriteJob:
    """Job of a write. Picklable.

    Any process writes data files, then one process commits all of them. Before, nothing belongs to the table.

    id: the prefix of the names of the job's data files
    turn: the application and number of an idempotent write; None for a write that is repeated on every call
    job: name of the job that its commit records; None for that of the committing process

    >>> job = lance_sql.begin_write(orders.schema, orders.uri, mode="append")
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
    job: str | None = None

    def __repr__(self) -> str:
        return f"WriteJob({self.target.uri!r}, mode={self.target.mode!r}, id={self.id!r})"

    def write_fragments(self, data: object) -> NewFragments:
        """Writes rows to new data files; all of them or none. The result is picklable; pass it to `commit`.

        data: as for `write`
        raises: InvalidArgument for rows that do not fit the table, and for an aborted job
        """
        if self.id in _aborted:
            raise InvalidArgument(f"{table_name(self.target.uri)}: {_ABORTED}")
        batches = to_reader(data, table=self.target.schema.arrow)
        return insert.write_fragments(self.target, batches, self.limits, f"{self.id}_")

    def commit(self, fragments: Iterable[Fragment]) -> Dataset:
        """Commits the fragments as one version, and removes other files of the job, such as those of tasks that failed
        or ran twice. A job can be committed once; if the commit failed, the job may be aborted. If another job already
        made the same turn, nothing is committed, and the version of that turn is returned.

        raises: CommitConflict, also for a job whose files are gone, or that was aborted; TableExists; InvalidArgument
            for fragments of another job, or for a second commit; CorruptFile for a version whose files were removed
            meanwhile
        """
        fragments = tuple(fragments)
        names = [file.path for fragment in fragments for file in fragment.files]
        for name in names:
            if not name.startswith(self.id):
                raise InvalidArgument(f"The data file {name!r} was not written by this job")
        if len(set(names)) < len(names):
            raise InvalidArgument("A fragment is committed twice: pass it once")
        with while_there(self.target.snapshot):
            committed, is_ours = self._commit_once(fragments, is_here=False)
        there = set(names)
        # the version exists: files that cannot be removed now are left to a cleanup
        with suppress(OSError, LanceError):
            there = self._remove_files(keep=names if is_ours else ())
        if is_ours and not there.issuperset(names):
            removed = sorted(set(names) - there)
            raise CorruptFile(
                f"{committed.label}: {len(removed)} of its {len(names)} new files were removed during the commit, such"
                f" as data/{removed[0]}: run 'lance-sql repair' to return to the version before"
            )
        return self._handle(committed, is_ours)

    def committed(self) -> Dataset | None:
        """Returns the version that the job has made, also if the process that committed it has died; None if there is
        none.

        raises: CorruptFile, UnsupportedFeature for a version that cannot be read
        """
        name = f"-{self._transaction}.txn"
        made = (each for each in self._later() if each.manifest.transaction_file.endswith(name))
        return next(map(Dataset, made), None)

    def abort(self) -> None:
        """Removes the data files of the job, wherever its tasks ran. No files are no error.

        Files that belong to a version are kept: a commit may have succeeded although it seemed to fail. All files are
        kept if a commit ended without a response and no version has them yet, because its request may still succeed. A
        cleanup removes them if it did not.

        raises: CorruptFile, UnsupportedFeature for a version that cannot be read
        """
        committed_files = self._committed_files()
        if not committed_files and self.target.was_tried(self._transaction):
            # The request may have succeeded between both responses.
            committed_files = self._committed_files()
            if not committed_files:
                return
        if not committed_files:
            _aborted.add(self.id)
        self._remove_files(keep=committed_files)
        folder = self.target.store().local_path(DATA)
        if self.target.snapshot is None and folder is not None:
            insert.remove_folders([folder, os.path.dirname(folder)])

    def write(self, data: object) -> Dataset:
        """Runs both steps; a failed write leaves no files.

        raises: as `write_fragments` and `commit`; errors of the data
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

    def _commit_once(self, fragments: NewFragments, *, is_here: bool = True) -> tuple[Snapshot, bool]:
        """Returns the version of the write, and whether this job created it.

        is_here: the same call wrote the fragments
        """
        earlier = self._of_turn()
        if earlier is not None:
            return earlier, False
        try:
            return self._commit(fragments, is_here), True
        except (*REFUSALS, TableExists):
            # another attempt of the same turn may have been first
            earlier = self._of_turn()
            if earlier is None:
                raise
            return earlier, False

    def _of_turn(self) -> Snapshot | None:
        """Returns the version of the job's turn; None if there is none yet, or the job has no turn."""
        if self.turn is None:
            return None
        branch = None if self.target.snapshot is None else self.target.snapshot.branch
        try:
            newest = open_snapshot(self.target.uri, branch=branch, access=self.target.access)
        except TableNotFound:
            return None
        return once.committed(newest, self.turn)

    def _commit(self, fragments: NewFragments, is_here: bool) -> Snapshot:
        rows = RowCounts(
            inserted=sum(fragment.physical_rows for fragment in fragments), deleted=self.target.num_replaced_rows()
        )
        files = [file for fragment in fragments for file in fragment.files]
        if not is_here or time.time() - self.started > _SECONDS_UNASKED:
            self._check_files([f"data/{file.path}" for file in files])
        with commit_origin.of(job=self.job):
            summary = summarize(self.target.operation, rows, files, self.started, self.properties, self.id)
        if self.turn is not None:
            turn = self.turn
            summary = dataclasses.replace(
                summary, txn_app_id=turn.app_id, txn_version=turn.version, txn_query=turn.query
            )
        try:
            with while_there(self.target.snapshot):
                return self.target.commit(fragments, summary.to_properties(), self._transaction)
        except TableExists:
            self._check_not_committed()
            if self.target.mode != "append":
                raise
            # another writer created it first
            summary = dataclasses.replace(summary, operation="insert")
            return self.target.beside().commit(fragments, summary.to_properties(), self._transaction)

    def _check_files(self, paths: Sequence[str]) -> None:
        """Checks that files still exist: an abort in another process may have removed them, or a cleanup, which treats
        them as leftovers after a week.

        raises: CommitConflict; InvalidArgument for a job that was committed
        """
        missing = self._missing(paths)
        if not missing and self.id not in _aborted:
            return
        self._check_not_committed()
        if self.id in _aborted:
            raise CommitConflict(f"{table_name(self.target.uri)}: {_ABORTED}")
        days = (time.time() - self.started) / 86400
        reason = "an abort or another program removed them"
        if days > 7:
            reason = f"it started {days:.1f} days ago, and a cleanup removes uncommitted files after a week"
        raise CommitConflict(
            f"{table_name(self.target.uri)}: {len(missing)} of {len(paths)} files of this job are missing, such as"
            f" {missing[0]}: {reason}. Write them again"
        )

    def _missing(self, paths: Sequence[str]) -> list[str]:
        store = self.target.store()
        if len(paths) > _MOST_ASKED:
            there = {info.path for info in store.files("data")}
            return [path for path in paths if path not in there]

        def is_gone(path: str) -> bool:
            try:
                store.tail(path, 0)
            except FileNotFoundError:
                return True
            return False

        are_gone = concurrently([partial(is_gone, path) for path in paths], store.concurrency)
        return [path for path, is_missing in zip(paths, are_gone, strict=True) if is_missing]

    def _check_not_committed(self) -> None:
        if self._committed_files():
            name = table_name(self.target.uri)
            raise InvalidArgument(f"This job was committed to {name} already: start another one")

    @property
    def _transaction(self) -> str:
        """Id of the transaction, by which another process checks whether the commit was tried."""
        return str(UUID(self.id))

    def _committed_files(self) -> set[str]:
        """Returns the names of the job's files that belong to a version.

        raises: CorruptFile, UnsupportedFeature for a version that cannot be read
        """
        names = (file.path for each in self._later() for fragment in each.manifest.fragments for file in fragment.files)
        return {name for name in names if name.startswith(self.id)}

    def _later(self) -> list[Snapshot]:
        """Returns the versions since the job began."""
        snapshot = self.target.snapshot
        since, branch = (0, None) if snapshot is None else (snapshot.version, snapshot.branch)
        try:
            versions = list_snapshots(self.target.uri, branch=branch, access=self.target.access)
        except TableNotFound:
            return []
        return [each for each in versions if each.version > since]

    def _remove_files(self, keep: Collection[str]) -> set[str]:
        """Removes the job's other files, and returns the names of the kept ones that exist."""
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
