"""Write sessions: a change of a table that reads one snapshot, writes files, and makes one commit.

    for each attempt
        snapshot     the newest version of the branch, found once
        files        new data files; they are removed if the change fails before its commit, or is refused
        commit       on top of concurrent commits, with a summary of the change
    again, if another writer changed the same rows first

Source: table format, transactions, retry policy.
"""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from lance_sql.errors import (
    CorruptFile,
    LanceError,
    RetryableConflict,
    TableNotFound,
    UnsupportedFeature,
    VersionNotFound,
)
from lance_sql.format import file_versions
from lance_sql.format.file.writer import FileWriter
from lance_sql.format.schema import Field, Schema
from lance_sql.runtime import observing
from lance_sql.store.local import remove_empty_folders
from lance_sql.table import commit_origin, features, identity, versions
from lance_sql.table.commit_summary import CommitSummary, check_properties
from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.paths import VERSIONS
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U32
from lance_sql.writes.commit import committer
from lance_sql.writes.commit.operations import Operation, ReserveFragments
from lance_sql.writes.statements.fragments import FileLimits, FragmentWriter, new_file_name

MAX_ATTEMPTS: Final = 10
MAX_SECONDS: Final = 30.0
_FIRST_WAIT: Final = 0.02

REFUSALS: Final = committer.REFUSALS
"""Errors after which nothing was committed. After any other error the commit may have succeeded, so that the files
it names must stay."""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Numbers of rows that a change affects; None for unknown numbers.

    equal: rows that already had their new values; None if not checked
    """

    inserted: int | None = 0
    updated: int | None = 0
    deleted: int | None = 0
    equal: int | None = None


@dataclass
class WriteSession:
    """One attempt at a change. Ends with at most one `commit`; use it as a context manager.

    snapshot: the version that is read, and that the change is committed on top of
    operation: of the user, such as "update"
    properties: of the caller, stored with the transaction
    started: start time of the first attempt, from `time.time`
    """

    snapshot: Snapshot
    operation: str
    properties: Mapping[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.time)
    _writers: list[FragmentWriter] = field(default_factory=list)
    _file_writers: list[FileWriter] = field(default_factory=list)
    _files: list[DataFile] = field(default_factory=list)
    _others: list[str] = field(default_factory=list)
    _removers: list[Callable[[], None]] = field(default_factory=list)
    _is_sent: bool = False

    def writer(self, schema: Schema | None = None, limits: FileLimits | None = None) -> FragmentWriter:
        """Returns a writer of rows to new data files.

        schema: of the files; that of the table without it
        raises: UnsupportedFeature for a table whose data files are read-only
        """
        writer = FragmentWriter(
            self.snapshot.store,
            schema or self.snapshot.manifest.schema,
            file_version(self.snapshot),
            limits or FileLimits(),
        )
        self._writers.append(writer)
        return writer

    def commit(
        self,
        operation: Operation,
        rows: RowCounts,
        *,
        affected_rows: Mapping[int, U32] | None = None,
        inserts_by_key: bool = False,
        written: Iterable[Fragment] = (),
        config: Mapping[str, committer.Expected] | None = None,
    ) -> Snapshot:
        """Commits the operation, and returns the new version.

        written: its fragments, which need not be given if they are from `writer`
        affected_rows, inserts_by_key, config, raises: as `committer.commit`
        """
        fragments = [*written, *(fragment for writer in self._writers for fragment in writer.fragments)]
        files = {file.path: file for fragment in fragments for file in fragment.files}
        summary = summarize(self.operation, rows, [*self._files, *files.values()], self.started, self.properties)
        try:
            self._is_sent = True
            with while_there(self.snapshot):
                return committer.commit(
                    self.snapshot,
                    operation,
                    affected_rows=affected_rows,
                    inserts_by_key=inserts_by_key,
                    properties=summary.to_properties(),
                    config=config,
                )
        except REFUSALS:
            self._is_sent = False
            raise

    def unchanged(self, rows: RowCounts) -> Snapshot:
        """Returns the version that was read, for a change that found nothing to do."""
        summary = summarize(self.operation, rows, (), self.started, self.properties)
        return self.snapshot.with_commit(summary.to_properties())

    def reserve_fragments(self, count: int) -> int:
        """Reserves ids for `count` fragments in its own version, and returns the first one."""
        summary = summarize("reserve_fragments", RowCounts(), (), time.time(), self.properties)
        reserved = committer.commit(self.snapshot, ReserveFragments(count), properties=summary.to_properties())
        return (reserved.manifest.max_fragment_id or 0) - count + 1

    def file_writer(self, schema: Schema, copied: Collection[Field] = ()) -> FileWriter:
        """Returns a writer of a data file with columns of existing rows.

        copied: as for `FileWriter`
        """
        writer = FileWriter(self.snapshot.store, f"data/{new_file_name()}", schema, file_version(self.snapshot), copied)
        self._file_writers.append(writer)
        return writer

    def finished(self, writer: FileWriter, file: DataFile) -> None:
        """Registers the data file that a writer has completed."""
        self._file_writers.remove(writer)
        self._files.append(file)

    def track(self, paths: Iterable[str]) -> None:
        """Registers other files that were written for the change, which are removed if it fails."""
        self._others.extend(paths)

    def on_failure(self, remove: Callable[[], None]) -> None:
        """Registers a function that removes files of others for this attempt, if it fails before its commit or is
        refused."""
        self._removers.append(remove)

    def __enter__(self) -> WriteSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # files that may have been committed stay
        if error is not None and not self._is_sent:
            for writer in self._writers:
                writer.abort()
            for unfinished in self._file_writers:
                unfinished.abort()
            for file in self._files:
                self.snapshot.store.delete(f"data/{file.path}")
            for path in self._others:
                self.snapshot.store.delete(path)
            for remove in self._removers:
                # the original error matters more than a failed removal
                with suppress(OSError, LanceError):
                    remove()


def summarize(
    operation: str,
    rows: RowCounts,
    files: Collection[DataFile],
    started: float,
    properties: Mapping[str, str],
    job: str | None = None,
) -> CommitSummary:
    """Returns the summary of a commit.

    files: new data files
    started: from `time.time`
    job: id of a write in two steps
    """
    origin = commit_origin.current()
    return CommitSummary(
        operation,
        rows_inserted=rows.inserted,
        rows_updated=rows.updated,
        rows_deleted=rows.deleted,
        rows_equal=rows.equal,
        files_written=len(files),
        bytes_written=sum(file.size_bytes for file in files),
        duration_ms=max(round(1000 * (time.time() - started)), 0),
        job=job,
        job_name=origin.job,
        user=origin.user,
        host=origin.host,
        statement=origin.statement,
        properties=properties,
    )


def newest(snapshot: Snapshot) -> Snapshot:
    """Returns the newest version of the snapshot's branch, after checking that it is writable.

    raises: UnsupportedFeature, before anything is written
    """
    latest = snapshot.latest()
    check_writable(latest)
    return latest


def check_writable(snapshot: Snapshot) -> None:
    """Makes sure that this release can write versions after this one.

    raises: UnsupportedFeature
    """
    features.check_writable(snapshot.manifest.reader_flags, snapshot.manifest.writer_flags, snapshot.label)


def on_latest(
    snapshot: Snapshot,
    operation: str,
    change: Callable[[WriteSession], Snapshot],
    properties: Mapping[str, str] | None = None,
    *,
    max_attempts: int = MAX_ATTEMPTS,
) -> Snapshot:
    """Applies `change` to the newest version of the snapshot's branch. Retries with the then newest version if
    another writer has changed the same rows.

    raises: RetryableConflict after `max_attempts` attempts or 30 seconds; UnsupportedFeature; errors of `change`
    """
    checked = check_properties(properties)
    started, end = time.time(), time.monotonic() + MAX_SECONDS
    attempt = 0
    while True:
        attempt += 1
        try:
            with while_there(snapshot):
                latest = committer.with_own_ids(newest(snapshot))
                with WriteSession(latest, operation, checked, started) as session:
                    return change(session)
        except RetryableConflict as conflict:
            if attempt >= max_attempts or time.monotonic() > end:
                raise
            with observing.recorded("retry", logging.INFO, table=snapshot.store.uri, change=operation) as watch:
                if watch is not None:
                    watch.note(attempt=attempt + 1, reason=conflict)
            time.sleep(random.uniform(0, _FIRST_WAIT * 2 ** min(attempt, 6)))


@contextmanager
def while_there(snapshot: Snapshot | None) -> Iterator[None]:
    """Converts errors of missing files in the block if the table is gone, and then removes its empty folders.

    snapshot: of the table; None for a new one
    raises: TableNotFound, or VersionNotFound for a branch
    """
    try:
        yield
    except (FileNotFoundError, CorruptFile, VersionNotFound) as error:
        if snapshot is None or versions.newest(snapshot.store) is not None:
            raise
        if versions.newest(snapshot.main) is None:
            path = snapshot.main.local_path(VERSIONS)
            if path is not None:
                remove_empty_folders(os.path.dirname(path))
        if isinstance(error, TableNotFound) or (isinstance(error, VersionNotFound) and snapshot.branch is not None):
            raise
        raise identity.ended(snapshot, " while it was written: nothing was committed") from error


def file_version(snapshot: Snapshot) -> str:
    """Returns the version of new data files of a table: that of its existing ones.

    raises: UnsupportedFeature for read-only versions
    """
    version = snapshot.manifest.data_format
    if version not in file_versions.WRITTEN:
        is_read = file_versions.by_name(version) is not None
        copy = f". Copy it: lance_sql.write(lance_sql.open({snapshot.uri!r}), ...)"
        raise UnsupportedFeature(
            f"New data files of {snapshot.name} have version {version}, which this release does not write"
            + (copy if is_read else file_versions.way_out(version))
        )
    return version
