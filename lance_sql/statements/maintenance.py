"""Changes that touch no row by themselves: going back to a version, tags, and the table's config."""

from __future__ import annotations

from collections.abc import Mapping

from lance_sql.commit.committer import commit
from lance_sql.commit.operations import Restore, UpdateConfig, UpdateMap
from lance_sql.errors import InvalidArgument, VersionNotFound
from lance_sql.table import refs, versions
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import VersionFile


def restore(snapshot: Snapshot, version: int) -> Snapshot:
    """Makes an earlier version of the branch the newest one again.

    raises: VersionNotFound, CommitConflict
    """
    latest = snapshot.latest()
    _file(latest, version)
    return commit(latest, Restore(version))


def create_tag(snapshot: Snapshot, name: str, version: int) -> None:
    """Gives a version of the snapshot's branch a name.

    raises: VersionNotFound; InvalidArgument for names that are taken, or that no tag can have
    """
    size, _ = snapshot.store.tail(_file(snapshot, version).path, 0)
    refs.create_tag(snapshot.main, name, version, branch=snapshot.branch, manifest_size=size)


def move_tag(snapshot: Snapshot, name: str, version: int) -> None:
    """Makes a tag name another version of the snapshot's branch.

    raises: VersionNotFound
    """
    size, _ = snapshot.store.tail(_file(snapshot, version).path, 0)
    refs.move_tag(snapshot.main, name, version, branch=snapshot.branch, manifest_size=size)


def delete_tag(snapshot: Snapshot, name: str) -> None:
    """Removes a tag.

    raises: VersionNotFound
    """
    refs.delete_tag(snapshot.main, name)


def update_config(snapshot: Snapshot, values: Mapping[str, str | None]) -> Snapshot:
    """Sets keys of the config of the newest version, or removes those whose value is None.

    raises: InvalidArgument for values that are no text; CommitConflict
    """
    if not values:
        raise InvalidArgument("No key is set")
    for key, value in values.items():
        if not isinstance(key, str) or not (value is None or isinstance(value, str)):
            raise InvalidArgument(f"Config values are text: {key!r} is {value!r}")
    return commit(snapshot.latest(), UpdateConfig(config=UpdateMap(dict(values))))


def _file(snapshot: Snapshot, version: int) -> VersionFile:
    """The manifest of a version of the snapshot's branch.

    raises: VersionNotFound, TableNotFound; InvalidArgument for what is no version
    """
    if not isinstance(version, int) or isinstance(version, bool):
        raise InvalidArgument(f"version={version!r} is no whole number")
    file = versions.find_version(snapshot.store, version)
    if file is None:
        # says so when the whole table is gone
        snapshot.latest()
        available = versions.describe(versions.list_versions(snapshot.store), whole_history=snapshot.branch is None)
        raise VersionNotFound(f"Version {version} does not exist in {snapshot.name}: {available}.")
    return file
