"""Changes that touch no row by themselves: going back to a version, and the table's config."""

from __future__ import annotations

from collections.abc import Mapping

from lance_sql.commit.committer import commit
from lance_sql.commit.operations import Restore, UpdateConfig, UpdateMap
from lance_sql.errors import InvalidArgument, VersionNotFound
from lance_sql.table import versions
from lance_sql.table.snapshot import Snapshot


def restore(snapshot: Snapshot, version: int) -> Snapshot:
    """Makes an earlier version of the branch the newest one again.

    raises: VersionNotFound, CommitConflict
    """
    latest = snapshot.latest()
    if versions.find_version(latest.store, version) is None:
        available = versions.describe(versions.list_versions(latest.store), whole_history=latest.branch is None)
        raise VersionNotFound(f"Version {version} does not exist in {latest.name}: {available}.")
    return commit(latest, Restore(version))


def update_config(snapshot: Snapshot, values: Mapping[str, str | None]) -> Snapshot:
    """Sets keys of the config of the newest version, or removes those whose value is None.

    raises: InvalidArgument for values that are no text; CommitConflict
    """
    for key, value in values.items():
        if not isinstance(key, str) or not (value is None or isinstance(value, str)):
            raise InvalidArgument(f"Config values are text: {key!r} is {value!r}")
    return commit(snapshot.latest(), UpdateConfig(config=UpdateMap(dict(values))))
