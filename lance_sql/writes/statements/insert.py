"""Writes rows to an existing or new table: data files first, then one commit that appends or replaces.

Source: messages Transaction.Append and Transaction.Overwrite.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import pyarrow as pa

from lance_sql.errors import InvalidArgument, RetryableConflict, TableExists, TableNotFound, UnsupportedFeature
from lance_sql.format import file_versions
from lance_sql.format.casts.null_columns import with_types_of
from lance_sql.format.casts.table import TableCast
from lance_sql.format.schema import Schema, primary_key
from lance_sql.format.schema.from_arrow import extend, from_arrow
from lance_sql.runtime.progress import Work
from lance_sql.store import Store, open_store
from lance_sql.store.access import Access
from lance_sql.store.open import local_path
from lance_sql.table import versions
from lance_sql.table.fragment import Fragment
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.paths import DATA
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.version_names import split_name
from lance_sql.values.arguments import check_texts
from lance_sql.values.local_paths import shown
from lance_sql.writes.commit import committer
from lance_sql.writes.commit.operations import Append, Merge, Operation, Overwrite
from lance_sql.writes.commit.put_version import was_tried
from lance_sql.writes.statements import column_changes
from lance_sql.writes.statements.fragments import FileLimits, FragmentWriter
from lance_sql.writes.statements.session import check_writable, file_version

Mode: TypeAlias = Literal["create", "append", "overwrite"]


@dataclass(frozen=True, slots=True)
class Target:
    """Destination and settings of a write. Picklable.

    snapshot: the newest version when it was opened; None for a new table
    schema: of the table after the write
    file_version: of the new data files
    config: keys of the table's config that the same version sets
    """

    uri: str
    mode: Mode
    snapshot: Snapshot | None
    schema: Schema
    file_version: str
    stable_row_ids: bool
    access: Access
    config: Mapping[str, str] = field(default_factory=dict)

    def store(self) -> Store:
        """Opens the store of the data files."""
        return open_store(self.uri, self.access) if self.snapshot is None else self.snapshot.store

    @property
    def operation(self) -> str:
        """Operation of the user, for the summary of the commit."""
        if self.snapshot is None:
            return "create"
        return "insert" if self.mode == "append" else "overwrite"

    def num_replaced_rows(self) -> int | None:
        """Returns the number of rows that an overwrite replaces; None if not recorded."""
        if self.mode == "append" or self.snapshot is None:
            return 0
        fragments = self.snapshot.manifest.fragments
        total = 0
        for fragment in fragments:
            deleted = 0 if fragment.deletion_file is None else fragment.deletion_file.num_deleted_rows
            if not fragment.physical_rows or (fragment.deletion_file is not None and not deleted):
                return None
            total += fragment.physical_rows - deleted
        return total

    def commit(self, fragments: tuple[Fragment, ...], properties: Mapping[str, str], uuid: str) -> Snapshot:
        """Commits new fragments, and returns the new version.

        uuid: of the transaction
        raises: as `committer.commit` and `committer.create`
        """
        if self.mode == "append" and self.snapshot is not None:
            appended: Operation = Append(fragments)
            manifest = self.snapshot.manifest
            # an unpickled target has another schema object than its snapshot, with the same fields
            if self.schema.fields != manifest.schema.fields:
                appended = Merge(
                    tuple(manifest.fragments), self.schema, preserves_nullability=True, new_fragments=fragments
                )
            return committer.commit(self.snapshot, appended, properties=properties, uuid=uuid)
        operation = Overwrite(fragments, self.schema, self.config, file_version=self.file_version)
        if self.snapshot is not None:
            return committer.commit(self.snapshot, operation, properties=properties, uuid=uuid)
        return committer.create(
            self.uri,
            operation,
            access=self.access,
            stable_row_ids=self.stable_row_ids,
            file_version=self.file_version,
            properties=properties,
            uuid=uuid,
        )

    def beside(self) -> Target:
        """Returns the destination of an append to a table that another writer has created meanwhile.

        raises: RetryableConflict if its columns or settings differ from those that the rows were written with
        """
        snapshot = open_snapshot(self.uri, access=self.access)
        manifest = snapshot.manifest
        check_writable(snapshot)
        same = manifest.schema.fields == self.schema.fields and manifest.has_stable_row_ids == self.stable_row_ids
        same &= self.config.items() <= manifest.config.items()
        if not same or _appended_version(snapshot, None) != self.file_version:
            raise RetryableConflict(
                f"{snapshot.name} was created by another writer meanwhile, with other columns or settings: write the"
                " rows again"
            )
        return replace(self, snapshot=snapshot, schema=manifest.schema)

    def was_tried(self, uuid: str) -> bool:
        """Whether the commit of a transaction may have succeeded, or may still succeed.

        raises: errors of the store
        """
        return was_tried(self.store(), 0 if self.snapshot is None else self.snapshot.version, uuid)


def existing(uri: str, mode: Mode, *, create: bool, branch: str | None, access: Access) -> Snapshot | None:
    """Returns the newest version of the table to be written, None for a new table.

    create: whether the table may be missing
    raises: TableNotFound for a table that must exist; TableExists for a table to be created; InvalidArgument;
        UnsupportedFeature for a table with unsupported writer features
    """
    if mode not in ("create", "append", "overwrite"):
        raise InvalidArgument(f"mode={mode!r} is not one of 'create', 'append' and 'overwrite'")
    if mode == "create" and not create:
        raise InvalidArgument("create=False contradicts mode='create': pass mode='append' or mode='overwrite'")
    try:
        snapshot = open_snapshot(uri, branch=branch, access=access)
    except TableNotFound:
        _check_new(uri, access)
        if not create or branch is not None:
            raise
        return None
    if mode == "create":
        raise TableExists(
            f"Table {shown(uri)!r} exists already, at version {snapshot.version}: pass mode='append' or"
            " mode='overwrite' (--mode), or another path"
        )
    check_writable(snapshot)
    return snapshot


def _check_new(uri: str, access: Access) -> None:
    """Makes sure that the path of a new table does not name a version or branch of another one.

    raises: InvalidArgument
    """
    table, _, name = uri.partition("/tree/") if "/tree/" in uri else split_name(uri)
    if table != uri and versions.newest(open_store(table, access)) is not None:
        what = f"a branch {name!r}" if "/tree/" in uri else "a version or branch"
        raise InvalidArgument(f"{shown(uri)!r} is the name of {what} of {table}: pass branch=, or another path")
    path = local_path(uri)
    while path is not None and not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    if path and os.path.exists(path) and not os.path.isdir(path):
        raise InvalidArgument(f"Cannot write a table to {shown(uri)!r}: {shown(path)} is a file; choose another path")


def target(
    uri: str,
    mode: Mode,
    snapshot: Snapshot | None,
    schema: pa.Schema,
    *,
    wanted_version: str | None,
    stable_row_ids: bool | None,
    access: Access,
    merge_schema: bool = False,
    config: Mapping[str, str] | None = None,
) -> Target:
    """Returns the destination of rows with a schema.

    snapshot: see `existing`
    wanted_version: of the data files; a table that exists keeps its own unless it is overwritten or mixes versions
    stable_row_ids: fixed at creation, on unless False
    merge_schema: an append adds missing columns to the table
    config: of a table that is created or overwritten
    raises: InvalidArgument for rows that do not fit; UnsupportedFeature
    """
    if wanted_version is not None and wanted_version not in file_versions.WRITTEN:
        raise UnsupportedFeature(
            f"Data files of version {wanted_version!r} cannot be written: pass {', '.join(file_versions.WRITTEN)}"
        )
    if snapshot is not None and stable_row_ids is not None:
        _check_row_ids(snapshot, stable_row_ids)
    if config:
        check_texts(config, "Config values are text", may_be_none=False)
    if mode == "append" and snapshot is not None:
        if config:
            raise InvalidArgument("Appended rows set no config: leave config= out, and call config.update")
        chosen = _appended_version(snapshot, wanted_version)
        fields = snapshot.manifest.schema
        if merge_schema:
            fields = _with_new_columns(snapshot, schema, chosen)
        TableCast(schema, fields, snapshot.name)
    else:
        chosen = wanted_version or (
            file_versions.DEFAULT.name if snapshot is None else _version_of_overwritten(snapshot)
        )
        if not schema.names:
            raise InvalidArgument("The rows have no columns: pass schema=, or rows with columns")
        if snapshot is not None:
            schema = with_types_of(schema, snapshot.manifest.schema.arrow)
        fields = from_arrow(schema, file_version=chosen)
        primary_key.check(fields)
    return Target(uri, mode, snapshot, fields, chosen, stable_row_ids is not False, access, config or {})


def write_fragments(
    into: Target, batches: Iterable[pa.RecordBatch] | pa.RecordBatchReader, limits: FileLimits, prefix: str
) -> tuple[Fragment, ...]:
    """Writes rows to new data files that no version has yet; all of them or none.

    batches: columns by name; nullable ones may be missing
    prefix: prefix of the file names
    raises: InvalidArgument for rows that do not fit the table
    """
    writer: FragmentWriter | None = None
    store = into.store()
    made = [] if into.snapshot is not None else missing_folders(store)
    to_table: TableCast | None = None
    seen: pa.Schema | None = None
    try:
        for batch in Work(None).over(batches):
            if to_table is None or batch.schema != seen:
                seen, to_table = batch.schema, TableCast(batch.schema, into.schema, shown(into.uri))
                if writer is not None and writer.schema.names != to_table.schema.names:
                    raise InvalidArgument("Batches of one write have different columns")
            if writer is None:
                writer = FragmentWriter(store, to_table.schema, into.file_version, limits, prefix)
            writer.write(to_table(batch))
        return writer.finish() if writer is not None else ()
    except BaseException:
        if writer is not None:
            writer.abort()
        remove_folders(made)
        raise


def missing_folders(store: Store) -> list[str]:
    """Returns the local folders that the first data file of a table creates, the innermost first."""
    path = store.local_path(DATA)
    folders = [] if path is None else [path, os.path.dirname(path)]
    return [each for each in folders if not os.path.isdir(each)]


def remove_folders(folders: Sequence[str]) -> None:
    """Removes folders, the innermost first, as long as they are empty."""
    for folder in folders:
        with suppress(OSError):
            os.rmdir(folder)


def _with_new_columns(snapshot: Snapshot, rows: pa.Schema, file_version: str) -> Schema:
    """Returns the table's schema, followed by the columns that only the rows have, which become nullable."""
    current = snapshot.manifest.schema
    new = [primary_key.nullable(field) for field in rows if field.name not in current.names]
    if not new:
        return current
    return extend(current, new, column_changes.next_field_id(snapshot), file_version=file_version)


def _check_row_ids(snapshot: Snapshot, wanted: bool) -> None:
    if snapshot.manifest.has_stable_row_ids != wanted:
        has = "has" if not wanted else "does not have"
        way_out = "or write to another place" if not wanted else "or call maintenance.enable_stable_row_ids() first"
        raise InvalidArgument(
            f"{snapshot.name} {has} stable row ids, which is fixed when a table is created: leave stable_row_ids out,"
            f" {way_out}"
        )


def _appended_version(snapshot: Snapshot, wanted: str | None) -> str:
    if wanted is not None and snapshot.manifest.mixes_file_versions:
        return wanted
    current = file_version(snapshot)
    if wanted is not None and wanted != current:
        raise InvalidArgument(
            f"{snapshot.name} has data files of version {current}: leave file_version={wanted!r} out, or overwrite it"
        )
    return current


def _version_of_overwritten(snapshot: Snapshot) -> str:
    current = snapshot.manifest.data_format
    return current if current in file_versions.WRITTEN else file_versions.DEFAULT.name
