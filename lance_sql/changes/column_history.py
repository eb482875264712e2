"""Columns of the last version of a range in earlier versions, found by following the schemas commit by commit."""

from __future__ import annotations

import itertools

from lance_sql.changes import earlier_columns
from lance_sql.changes.earlier_columns import Identities, Sources
from lance_sql.changes.history import BranchHistory
from lance_sql.format.schema import Schema


def sources(history: BranchHistory, first: int, last: int) -> dict[int, Sources]:
    """Returns the columns of version `last` as each version from `first` on stores them.

    first: may be the version before the table began
    """
    began = _where_columns_begin(history, first, last)
    fresh = itertools.count()
    schema: Schema = Schema(())
    identities: Identities = {}
    identities_by_version: dict[int, Identities] = {}
    versions: list[tuple[int, Schema, Identities]] = []
    for version in range(began, last + 1):
        before, schema = schema, _schema(history, version)
        restored = history.commit(version).restored if version > began else None
        if restored in identities_by_version:
            identities = identities_by_version[restored]
        else:
            by_name = version > began and history.commit(version).operation in ("overwrite", "restore")
            identities = earlier_columns.follow(identities, before, schema, fresh, by_name=by_name)
        identities_by_version[version] = identities
        if version >= first:
            versions.append((version, schema, identities))
    return earlier_columns.sources(versions)


def _where_columns_begin(history: BranchHistory, first: int, last: int) -> int:
    """Returns the version from which columns must be followed. It is earlier than `first` if a commit restored an
    earlier version with other columns."""
    began = first
    version = last
    while version > began:
        commit = history.commit(version)
        restored = commit.restored
        if restored is not None and restored < began and commit.earlier is not None:
            differs = commit.earlier.manifest.schema.fields != commit.later.manifest.schema.fields
            if differs and all(each in history.files for each in range(restored, began)):
                # versions from here on down to it may have restored earlier ones
                began = restored
        version -= 1
    return began


def _schema(history: BranchHistory, version: int) -> Schema:
    return history.snapshot_at(version).manifest.schema if version in history.files else Schema(())
