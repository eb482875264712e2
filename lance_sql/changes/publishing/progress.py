"""Progress of the publication of a branch.

    property  lance_sql.published = load@7 5c1f.. 10          of the transaction: the branch, and its version
    config    lance_sql.published = {"5c1f..": [10, 8]}       of the table from then on: the published version of the
                                                              branch, and the version that it is based on

The config keeps the entries of existing branches and of the last removed ones, so that a second attempt to publish a
removed branch finds the version that published it. A restore also restores the config. An overwrite keeps the config,
so the later commits are examined.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lance_sql.changes.history import BranchHistory
from lance_sql.errors import VersionNotFound
from lance_sql.table.commit_summary import PUBLISHED
from lance_sql.table.refs import Ref
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.committer import Expected

_REMOVED: Final = 8
"""Number of removed branches whose progress is kept."""


@dataclass(frozen=True, slots=True)
class Published:
    """Publication of a branch.

    by: the version of the other branch that published it
    base, head: the version that the branch began with, and the published version of the branch
    """

    by: int
    base: int
    head: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Beginning of the unpublished part of a branch.

    since: the version of the branch that is published, or that it began with
    onto: the version of the other branch that has the rows up to there
    """

    since: int
    onto: int


def identity(ref: Ref) -> str:
    """Returns a text that distinguishes a branch from an earlier branch of the same name."""
    return ref.uuid or f"{ref.name}@{ref.version} {ref.created_at}"


def marker(ref: Ref, head: int) -> str:
    """Returns the property of the commit that publishes a branch up to one of its versions."""
    return f"{ref.name}@{ref.version} {identity(ref)} {head}"


def is_part(ref: Ref, version: Snapshot) -> bool:
    """Whether a version of the other branch published a part of the branch."""
    transaction = version.transaction()
    written = "" if transaction is None else transaction.properties.get(PUBLISHED, "")
    return written.startswith(marker(ref, 0)[:-1])


def progress(ref: Ref, latest: Snapshot) -> Progress:
    """Returns the progress of a branch's publication as of a version of the other branch.

    raises: VersionNotFound if the commit that published a part of it was removed
    """
    head, onto = _recorded(latest.manifest.config).get(identity(ref), (None, None))
    if head is None or onto is None:
        return Progress(ref.version, ref.version)
    wanted = marker(ref, head)
    for version in _lineage(latest, onto):
        transaction = version.transaction()
        if transaction is not None and transaction.properties.get(PUBLISHED) == wanted:
            return Progress(head, version.version)
        if transaction is not None and transaction.operation == "overwrite":
            # the rows were removed, and the config was kept
            return Progress(ref.version, ref.version)
    raise VersionNotFound(
        f"{ref.name} is published up to version {head}, by a version of {latest.name} that was cleaned up, so later"
        " changes cannot be determined: apply them with apply_changes, and delete the branch"
    )


def last_publication(name: str, latest: Snapshot) -> Published | None:
    """Returns the last publication of a branch that may exist no longer; None if none is recorded."""
    known = _recorded(latest.manifest.config).values()
    for version in _lineage(latest, min(onto for _, onto in known)) if known else ():
        transaction = version.transaction()
        written = "" if transaction is None else transaction.properties.get(PUBLISHED, "")
        branch, _, rest = written.partition("@")
        numbers = rest.split(" ", 1)[0], written.rpartition(" ")[2]
        if branch == name and all(number.isascii() and number.isdecimal() for number in numbers):
            return Published(version.version, *map(int, numbers))
    return None


def _lineage(latest: Snapshot, end: int) -> Iterator[Snapshot]:
    """Yields the versions whose changes are in the newest one, without those that a restore reverted, back to `end`."""
    history, version = BranchHistory(latest), latest.version
    while version > end:
        if version not in history.files:
            version -= 1
            continue
        yield (snapshot := history.snapshot_at(version))
        transaction = snapshot.transaction()
        restored = None if transaction is None else transaction.restored
        version = version - 1 if restored is None else min(restored, version - 1)


def recorded(ref: Ref, head: int, latest: Snapshot, branches: Collection[Ref]) -> Mapping[str, Expected]:
    """Returns the config entries of the commit that publishes a branch; drops deleted branches but the last ones.

    head: the version of the branch
    branches: all existing branches
    """
    config = latest.manifest.config
    known, content = {identity(each) for each in branches}, _recorded(config)
    _ = content.pop(identity(ref), None)
    for removed in [key for key in content if key not in known][:-_REMOVED]:
        del content[removed]
    content[identity(ref)] = (head, latest.version)
    return {PUBLISHED: Expected(json.dumps(content, separators=(",", ":")), config.get(PUBLISHED))}


def _recorded(config: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Returns the published version of each branch and the version it is based on; empty if it cannot be parsed."""
    try:
        content: Any = json.loads(config.get(PUBLISHED, "{}"))
        return {str(key): (int(head), int(onto)) for key, (head, onto) in content.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
