"""Writing in two steps: data files anywhere and in any number of processes, then one commit.

    job = begin_write(uri, schema, mode="append")
    fragments = job.write_fragments(batches)     # here or in another process: jobs and fragments are picklable
    job.commit(fragments)                        # or job.abort()

Nothing that a job writes belongs to a version before its commit. The names of its files begin with its id, so that
whatever failed or repeated tasks leave behind is found and removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from uuid import uuid4

import pyarrow as pa

from lance_sql.commit import committer
from lance_sql.commit.operations import Append, Overwrite
from lance_sql.errors import CommitConflict, InvalidArgument, LanceError, TableExists, TableNotFound, UnsupportedFeature
from lance_sql.schema import Schema, primary_key
from lance_sql.schema.from_arrow import from_arrow
from lance_sql.statements.conform import Conform
from lance_sql.statements.files import WRITTEN_VERSIONS, file_version
from lance_sql.statements.fragments import FileLimits, FragmentWriter
from lance_sql.statements.retry import newest
from lance_sql.store import open_store
from lance_sql.table.fragments import Fragment
from lance_sql.table.location import table_name
from lance_sql.table.snapshot import Snapshot, list_snapshots, open_snapshot

Mode: TypeAlias = Literal["create", "append", "overwrite"]

DEFAULT_FILE_VERSION = "2.2"


@dataclass(frozen=True, slots=True)
class Job:
    """A write that has begun. Picklable; made by `begin_write`.

    snapshot: the version that was the newest one; None when there is no table yet
    schema: of the table after the write
    file_version: of the new data files
    id: the beginning of their names
    """

    uri: str
    mode: Mode
    snapshot: Snapshot | None
    schema: Schema
    file_version: str
    stable_row_ids: bool
    limits: FileLimits
    storage_options: Mapping[str, Any] | None
    properties: Mapping[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: uuid4().hex)

    def write_fragments(self, batches: Iterable[pa.RecordBatch] | pa.RecordBatchReader) -> tuple[Fragment, ...]:
        """Writes rows to new data files, which no version has yet; all of them or none.

        batches: columns by name; those that may be NULL may be missing
        raises: InvalidArgument for rows that do not fit the table
        """
        writer: FragmentWriter | None = None
        store = open_store(self.uri, self.storage_options) if self.snapshot is None else self.snapshot.store
        conform: Conform | None = None
        seen: pa.Schema | None = None
        try:
            for batch in batches:
                if conform is None or batch.schema != seen:
                    seen, conform = batch.schema, Conform(batch.schema, self.schema, self.uri)
                    if writer is not None and writer.schema.names != conform.schema.names:
                        raise InvalidArgument("Batches of one write have different columns")
                if writer is None:
                    writer = FragmentWriter(store, conform.schema, self.file_version, self.limits, f"{self.id}_")
                writer.write(conform(batch))
            return writer.finish() if writer is not None else ()
        except BaseException:
            if writer is not None:
                writer.abort()
            raise

    def commit(self, fragments: Iterable[Fragment]) -> Snapshot:
        """Makes one version of all fragments, then removes what else the job has written.

        fragments: what `write_fragments` returned, from everywhere
        raises: CommitConflict, TableExists; InvalidArgument for a job that was committed already. A job whose commit
            failed may be aborted
        """
        fragments = tuple(fragments)
        names = [file.path for fragment in fragments for file in fragment.files]
        for name in names:
            if not name.startswith(self.id):
                raise InvalidArgument(f"The data file {name!r} was not written by this job")
        if len(set(names)) < len(names):
            raise InvalidArgument("The same fragment is given twice")
        if self._committed():
            raise InvalidArgument(f"This job was committed to {table_name(self.uri)} already: begin another one")
        made = self._commit(fragments)
        # the version is there: what cannot be removed now is left to a cleanup
        with suppress(OSError, LanceError):
            self._remove_files(keep=set(names))
        return made

    def abort(self) -> None:
        """Removes the data files that the job has written, wherever its tasks ran. No error for none.

        Files that a version has stay: a commit may have succeeded although it seemed to fail.
        """
        self._remove_files(keep=self._committed())

    def _committed(self) -> set[str]:
        """The names of the files that a version has.

        raises: CorruptFile, UnsupportedFeature for a version that cannot be read
        """
        since, branch = (0, None) if self.snapshot is None else (self.snapshot.version, self.snapshot.branch)
        try:
            versions = list_snapshots(self.uri, branch=branch, storage_options=self.storage_options)
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

    def _commit(self, fragments: tuple[Fragment, ...]) -> Snapshot:
        if self.mode == "append":
            assert self.snapshot is not None
            return committer.commit(self.snapshot, Append(fragments), properties=self.properties)
        operation = Overwrite(fragments, self.schema, file_version=self.file_version)
        if self.snapshot is not None:
            return committer.commit(self.snapshot, operation, properties=self.properties)
        return committer.create(
            self.uri,
            operation,
            storage_options=self.storage_options,
            stable_row_ids=self.stable_row_ids,
            file_version=self.file_version,
            properties=self.properties,
        )

    def _remove_files(self, keep: set[str]) -> None:
        store = open_store(self.uri, self.storage_options) if self.snapshot is None else self.snapshot.store
        for info in list(store.files("data")):
            name = info.path.removeprefix("data/")
            if name.startswith(self.id) and name not in keep:
                store.delete(info.path)


def begin_write(
    uri: str,
    schema: pa.Schema,
    *,
    mode: Mode = "create",
    branch: str | None = None,
    file_version: str | None = None,
    stable_row_ids: bool | None = None,
    limits: FileLimits | None = None,
    properties: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Job:
    """Begins a write; nothing is written yet, but everything that can be refused is refused here.

    schema: of the rows to come
    mode: "create" a table that must not exist, "append" to one that must, or "overwrite" all rows and columns of a
        table, which is created when it does not exist
    file_version: of the data files, "2.0", "2.1" or "2.2"; a table that exists keeps its own unless it is overwritten
    stable_row_ids: rows keep their ids when they move, and have versions; on unless False. Fixed at creation
    raises: TableExists, TableNotFound, InvalidArgument, UnsupportedFeature
    """
    if mode not in ("create", "append", "overwrite"):
        raise InvalidArgument(f"mode={mode!r} is none of 'create', 'append' and 'overwrite'")
    if file_version is not None and file_version not in WRITTEN_VERSIONS:
        raise UnsupportedFeature(f"Data files of version {file_version!r}; {', '.join(WRITTEN_VERSIONS)} are written")
    snapshot = _existing(uri, mode, branch, storage_options)
    if snapshot is not None and stable_row_ids is not None:
        _check_row_ids(snapshot, stable_row_ids)
    if mode == "append":
        assert snapshot is not None
        chosen = _appended_version(snapshot, file_version)
        target = snapshot.manifest.schema
        Conform(schema, target, snapshot.name)
    else:
        chosen = file_version or (DEFAULT_FILE_VERSION if snapshot is None else _kept_version(snapshot))
        target = from_arrow(schema, file_version=chosen)
        primary_key.check(target)
    return Job(
        uri=uri,
        mode=mode,
        snapshot=snapshot,
        schema=target,
        file_version=chosen,
        stable_row_ids=stable_row_ids is not False,
        limits=limits or FileLimits(),
        storage_options=storage_options,
        properties=dict(properties or {}),
    )


def write(job: Job, batches: Iterable[pa.RecordBatch] | pa.RecordBatchReader) -> Snapshot:
    """Both steps at once; nothing stays of a write that fails.

    raises: as `Job.write_fragments` and `Job.commit`; what the batches raise
    """
    fragments = job.write_fragments(batches)
    try:
        return job.commit(fragments)
    except (CommitConflict, TableExists):
        job.abort()
        raise


def _existing(uri: str, mode: Mode, branch: str | None, storage_options: Mapping[str, Any] | None) -> Snapshot | None:
    try:
        snapshot = open_snapshot(uri, branch=branch, storage_options=storage_options)
    except TableNotFound:
        if mode == "append" or branch is not None:
            raise
        return None
    if mode == "create":
        raise TableExists(
            f"There is a table at {uri!r} already, version {snapshot.version}. "
            "Use mode='append' or mode='overwrite', or another place."
        )
    return newest(snapshot)


def _check_row_ids(snapshot: Snapshot, wanted: bool) -> None:
    if snapshot.manifest.has_stable_row_ids != wanted:
        has = "has" if not wanted else "does not have"
        raise InvalidArgument(
            f"{snapshot.name} {has} stable row ids, which is fixed when a table is created. "
            "Leave stable_row_ids out, or write to another place."
        )


def _appended_version(snapshot: Snapshot, wanted: str | None) -> str:
    kept = file_version(snapshot)
    if wanted is not None and wanted != kept:
        raise InvalidArgument(
            f"{snapshot.name} has data files of version {kept}: leave file_version={wanted!r} out, or overwrite it"
        )
    return kept


def _kept_version(snapshot: Snapshot) -> str:
    kept = snapshot.manifest.data_format
    return kept if kept in WRITTEN_VERSIONS else DEFAULT_FILE_VERSION
