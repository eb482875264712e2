"""A change of a table from its beginning to its commit: one snapshot is read, files are written, one commit is made.

    for each attempt
        snapshot     the newest version of the branch, found once
        files        new data files; they are removed when the change fails before its commit, or is refused
        commit       on top of what others committed meanwhile, with a summary of what was done
    again, when another writer changed the same rows first

Source: table format, transactions, retry policy.
"""

from __future__ import annotations

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
"""What a commit raises when nothing was committed. After anything else it may have happened all the same, so that the
files that it names have to stay."""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows a change concerns; None where that is not known.

    equal: had the values already that they were to be given; None where nobody has looked
    """

    inserted: int | None = 0
    updated: int | None = 0
    deleted: int | None = 0
    equal: int | None = None


@dataclass
class WriteSession:
    """One attempt at a change. Ends with one `commit`, or with none; use it as a context manager.

    snapshot: the version that is read, and that the change is committed on top of
    operation: what the user asked for, such as "update"
    properties: the caller's, kept with the transaction
    started: when the first attempt began, as `time.time` had it
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
        """What writes rows to new data files.

        schema: of the files; that of the table without it
        raises: UnsupportedFeature for a table whose data files are read only
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
        """The version in which the operation is done.

        written: fragments that others wrote for it
        affected_rows, inserts_by_key, config, raises: as `committer.commit`
        """
        fragments = [*written, *(fragment for writer in self._writers for fragment in writer.fragments)]
        files = [*self._files, *(file for fragment in fragments for file in fragment.files)]
        summary = summarize(self.operation, rows, files, self.started, self.properties)
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
        """The version that was read, of a change that found nothing to do."""
        summary = summarize(self.operation, rows, (), self.started, self.properties)
        return self.snapshot.with_commit(summary.to_properties())

    def reserve_fragments(self, count: int) -> int:
        """Reserves ids for `count` fragments in a version of its own, and returns the first one."""
        summary = summarize("reserve_fragments", RowCounts(), (), time.time(), self.properties)
        reserved = committer.commit(self.snapshot, ReserveFragments(count), properties=summary.to_properties())
        return (reserved.manifest.max_fragment_id or 0) - count + 1

    def file_writer(self, schema: Schema, copied: Collection[Field] = ()) -> FileWriter:
        """What writes a data file with columns of rows that are in the table already.

        copied: as for `FileWriter`
        """
        writer = FileWriter(self.snapshot.store, f"data/{new_file_name()}", schema, file_version(self.snapshot), copied)
        self._file_writers.append(writer)
        return writer

    def finished(self, writer: FileWriter, file: DataFile) -> None:
        """What the writer has made."""
        self._file_writers.remove(writer)
        self._files.append(file)

    def track(self, paths: Iterable[str]) -> None:
        """Files of other kinds that were written for the change, which are removed when it fails."""
        self._others.extend(paths)

    def on_failure(self, remove: Callable[[], None]) -> None:
        """What removes files that others write for this attempt, when it fails before its commit, or is refused."""
        self._removers.append(remove)

    def __enter__(self) -> WriteSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # what may have been committed stays
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
                # the error says more than what became of the files
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
    """What a commit did.

    files: new data files
    started: as `time.time` had it
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
    """The newest version of the snapshot's branch, which can be written after.

    raises: UnsupportedFeature, before anything is written
    """
    latest = snapshot.latest()
    check_writable(latest)
    return latest


def check_writable(snapshot: Snapshot) -> None:
    """Makes sure that versions can be made after this one.

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
    """`change` of the newest version of the snapshot's branch; once more with what is then the newest one, when the
    commit finds that another writer has changed the same rows.

    raises: RetryableConflict after `max_attempts` attempts or 30 seconds; UnsupportedFeature; what `change` raises
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
        except RetryableConflict:
            if attempt >= max_attempts or time.monotonic() > end:
                raise
            time.sleep(random.uniform(0, _FIRST_WAIT * 2 ** min(attempt, 6)))


@contextmanager
def while_there(snapshot: Snapshot | None) -> Iterator[None]:
    """Says of files that are missing in the block that their table is gone, where it is, and leaves no folder there.

    snapshot: of the table; None of one that is still to be made
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
        if isinstance(error, TableNotFound | VersionNotFound):
            raise
        raise identity.ended(snapshot, " while it was written: nothing was committed") from error


def file_version(snapshot: Snapshot) -> str:
    """The version of new data files of a table: a table keeps its own.

    raises: UnsupportedFeature for versions that are read only
    """
    version = snapshot.manifest.data_format
    if version not in file_versions.WRITTEN:
        way_out = f" Copy it: lance_sql.write(lance_sql.open({snapshot.uri!r}), ...)"
        raise UnsupportedFeature(
            f"New data files of {snapshot.name} have version {version}, which this release does not write."
            + (way_out if file_versions.by_name(version) is not None else "")
        )
    return version
