"""Config and metadata of a table: applies an `UpdateConfig`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from lance_sql.errors import CommitConflict, InvalidArgument
from lance_sql.format.schema import Field, Schema, primary_key
from lance_sql.table.manifest import Manifest
from lance_sql.writes.commit.operations import UpdateConfig, UpdateMap


def changed(manifest: Manifest, operation: UpdateConfig) -> Manifest:
    """Returns the manifest with changed config and metadata.

    raises: CommitConflict for a missing field; InvalidArgument if the primary key would change, and for a new one that
        is not possible
    """
    schema = manifest.schema
    unknown = set(operation.field_metadata) - set(schema.by_id)
    if unknown:
        raise CommitConflict(f"the field with the id {min(unknown)} is missing from the latest schema")
    if operation.field_metadata or operation.schema_metadata is not None:
        fields = tuple(_with_metadata(field, operation.field_metadata) for field in schema.fields)
        schema = Schema(fields, _changed_bytes(schema.metadata, operation.schema_metadata))
        before = _primary_key(manifest.schema)
        if _primary_key(schema) != before:
            if before:
                raise InvalidArgument("the primary key of a table cannot change once it is set")
            primary_key.check(schema)
    return dataclasses.replace(
        manifest,
        schema=schema,
        config=_changed(manifest.config, operation.config),
        table_metadata=_changed(manifest.table_metadata, operation.table_metadata),
    )


def _primary_key(schema: Schema) -> dict[int, dict[str, bytes]]:
    """Returns the primary key metadata of the fields that have any, by field id."""
    of_fields = {
        field.id: {key: value for key, value in field.metadata.items() if key.startswith(primary_key.KEY)}
        for field in schema.by_id.values()
    }
    return {id: metadata for id, metadata in of_fields.items() if metadata}


def _with_metadata(field: Field, changes: Mapping[int, UpdateMap]) -> Field:
    return field._replace(
        children=tuple(_with_metadata(child, changes) for child in field.children),
        metadata=_changed_bytes(field.metadata, changes.get(field.id)),
    )


def _changed(values: Mapping[str, str], change: UpdateMap | None) -> dict[str, str]:
    if change is None:
        return dict(values)
    unchanged = {} if change.replace else {key: value for key, value in values.items() if key not in change.entries}
    return {**unchanged, **{key: value for key, value in change.entries.items() if value is not None}}


def _changed_bytes(values: Mapping[str, bytes], change: UpdateMap | None) -> dict[str, bytes]:
    if change is None:
        return dict(values)
    unchanged = {} if change.replace else {key: value for key, value in values.items() if key not in change.entries}
    return {**unchanged, **{key: value.encode() for key, value in change.entries.items() if value is not None}}
