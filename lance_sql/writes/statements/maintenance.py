"""Changes that do not rewrite rows: restores, tags, branches, and the table's config."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

from lance_sql.errors import InvalidArgument, VersionNotFound
from lance_sql.format.schema import Field, primary_key
from lance_sql.format.schema.from_arrow import BLOB_KEY, STORED_EXTENSIONS
from lance_sql.table import identity, location, refs, versions
from lance_sql.table.commit_summary import check_properties
from lance_sql.table.manifest import COMMENT
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import VersionFile, VersionLike
from lance_sql.values.arguments import check_texts
from lance_sql.writes.commit import clones, recovery
from lance_sql.writes.commit.operations import Restore, UpdateConfig, UpdateMap
from lance_sql.writes.statements.session import RowCounts, WriteSession, on_latest, summarize, while_there


def restore(
    snapshot: Snapshot, version: VersionLike, properties: Mapping[str, str] | None = None, *, drop_indices: bool = False
) -> Snapshot:
    """Makes an earlier version of the branch the newest one again, even if the newest one is damaged.

    drop_indices: restores without indices, whose list need not be readable then
    raises: VersionNotFound, CommitConflict; CorruptFile for a damaged version; TableNotFound if the table is removed
        concurrently
    """
    checked, started = check_properties(properties), time.time()
    with while_there(snapshot):
        number = _named(snapshot, version)[0].version
        # changes of the row count are not computed
        summary = summarize("restore", RowCounts(None, None, None), (), started, checked)
        return recovery.restore(snapshot, Restore(number, drop_indices), summary.to_properties())


def create_tag(snapshot: Snapshot, name: str, version: VersionLike) -> None:
    """Creates a tag of a version of the snapshot's branch.

    raises: VersionNotFound; TagExists; InvalidArgument for invalid names
    """
    with while_there(snapshot):
        named, size = _named(snapshot, version)
        check = partial(identity.check, named)
        refs.create_tag(snapshot.main, name, named.version, branch=snapshot.branch, manifest_size=size, check=check)


def move_tag(snapshot: Snapshot, name: str, version: VersionLike) -> None:
    """Moves a tag to another version of the snapshot's branch.

    raises: VersionNotFound
    """
    with while_there(snapshot):
        named, size = _named(snapshot, version)
        refs.move_tag(
            snapshot.main,
            name,
            named.version,
            branch=snapshot.branch,
            manifest_size=size,
            check=partial(identity.check, named),
            table=snapshot.name,
        )


def delete_tag(snapshot: Snapshot, name: str) -> None:
    """Removes a tag.

    raises: VersionNotFound
    """
    refs.delete_tag(snapshot.main, name, table=snapshot.name)


def create_branch(snapshot: Snapshot, name: str) -> Snapshot:
    """Creates a branch; see `clones.create_branch`.

    raises: as there; TableNotFound if the table is removed concurrently
    """
    with while_there(snapshot):
        return clones.create_branch(snapshot, name)


_TEXTS: Final = {
    "config": "Config values are text",
    "table_metadata": "Metadata of a table is text",
    "schema_metadata": "Metadata of a schema is text",
}


def update_config(
    snapshot: Snapshot,
    values: Mapping[str, str | None],
    properties: Mapping[str, str] | None = None,
    *,
    of: Literal["config", "table_metadata", "schema_metadata"] = "config",
) -> Snapshot:
    """Sets keys of the config of the newest version, or of other metadata; removes those whose value is None.

    raises: InvalidArgument for no value, and for values that are not text; CommitConflict
    """
    check_texts(values, _TEXTS[of])
    if not values:
        raise InvalidArgument("No key to set: pass at least one")
    changes: dict[str, Any] = {of: UpdateMap(dict(values))}
    return _update(snapshot, UpdateConfig(**changes), properties)


def set_comment(snapshot: Snapshot, text: str | None, properties: Mapping[str, str] | None = None) -> Snapshot:
    """Sets the comment of the table, which is a key of its metadata; None removes it. One in the config, where CREATE
    TABLE puts it, is removed."""
    of_config = UpdateMap({COMMENT: None}) if COMMENT in snapshot.latest().manifest.config else None
    return _update(snapshot, UpdateConfig(of_config, UpdateMap({COMMENT: text})), properties)


def _update(snapshot: Snapshot, operation: UpdateConfig, properties: Mapping[str, str] | None) -> Snapshot:
    return on_latest(
        snapshot,
        "update_config",
        lambda session: session.commit(operation, RowCounts()),
        properties,
        max_attempts=1,
    )


def _named(snapshot: Snapshot, version: VersionLike) -> tuple[Snapshot, int]:
    """Returns an existing version of the snapshot's branch, and the size of its manifest. For the version of the
    snapshot, checks that it is still the commit that was read.

    raises: as `_file`
    """
    file = _file(snapshot, version)
    named = snapshot if file.version == snapshot.version else snapshot.sibling(file)
    identity.check(named)
    size = file.size
    return named, snapshot.store.tail(file.path, 0)[0] if size is None else size


def _file(snapshot: Snapshot, version: VersionLike) -> VersionFile:
    """Returns the manifest file of a version of the snapshot's branch.

    raises: VersionNotFound, TableNotFound; InvalidArgument for an invalid version
    """
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        located = location.locate(snapshot.uri, version=version, branch=snapshot.branch, access=snapshot.access)
        if located.branch != snapshot.branch:
            raise InvalidArgument(f"version={version!r} is of branch {located.branch or 'main'!r}")
        return located.file
    file = versions.find_version(snapshot.store, version)
    if file is None:
        # raises an error if the whole table is gone
        snapshot.latest()
        available = versions.describe(versions.list_versions(snapshot.store), whole_history=snapshot.branch is None)
        raise VersionNotFound(f"Version {version} does not exist in {snapshot.name}: {available}")
    return file


def update_field_metadata(
    snapshot: Snapshot, column: str, values: Mapping[str, str | None], properties: Mapping[str, str] | None = None
) -> Snapshot:
    """Sets keys of the metadata of a column of the newest version, or removes those whose value is None.

    column: `a.b` is a member of a struct
    raises: ColumnNotFound; InvalidArgument for values that are not text, and for keys that determine how values are
        stored; CommitConflict
    """
    check_texts(values, "Metadata of columns is text")

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        field = latest.manifest.schema.resolve(column, table=latest.label)[-1]
        for key, value in values.items():
            if _stored_form(field) != _stored_form(_with_metadata(field, key, value)):
                raise InvalidArgument(
                    f"{key!r} determines how the values of column {column!r} are stored: add a column with it instead"
                )
        return session.commit(UpdateConfig(field_metadata={field.id: UpdateMap(dict(values))}), RowCounts())

    return on_latest(snapshot, "update_config", change, properties, max_attempts=1)


def set_primary_key(
    snapshot: Snapshot, columns: Sequence[str], properties: Mapping[str, str] | None = None
) -> Snapshot:
    """Declares the primary key of the newest version, in this order. Its uniqueness is not checked.

    columns: `a.b` is a member of a struct
    raises: ColumnNotFound; InvalidArgument for a table that has a key, a column that is named twice, and a column that
        may be NULL or is nested; CommitConflict
    """
    if len(set(columns)) < len(columns):
        raise InvalidArgument(f"The key names a column twice: {', '.join(columns)}")

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        schema = latest.manifest.schema
        if key := primary_key.primary_key(schema):
            raise InvalidArgument(f"{latest.label} has the primary key {', '.join(key)}, which cannot be changed")
        updates = {}
        for number, column in enumerate(columns, 1):
            path = schema.resolve(column, table=latest.label)
            primary_key.check_path(path)
            updates[path[-1].id] = UpdateMap({primary_key.KEY: "true", primary_key.POSITION: str(number)})
        return session.commit(UpdateConfig(field_metadata=updates), RowCounts())

    return on_latest(snapshot, "update_config", change, properties, max_attempts=1)


def _with_metadata(field: Field, key: str, value: str | None) -> Field:
    metadata = {name: content for name, content in field.metadata.items() if name != key}
    return field._replace(metadata=metadata if value is None else {**metadata, key: value.encode()})


def _stored_form(field: Field) -> tuple[object, ...]:
    """Returns the facts in the metadata of a field that readers of its data files need."""
    extension = field.extension_name
    return field.is_packed, BLOB_KEY in field.metadata, extension if extension in STORED_EXTENSIONS else None
