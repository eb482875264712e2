"""How far a branch is published.

    property  lance_sql.published = load@7 5c1f.. 10          of the transaction: the branch, and its version
    config    lance_sql.published = {"5c1f..": [10, 8]}       of the table from then on: the branch's version that is
                                                              published, onto which version

A restore takes the config back with the rows; an overwrite leaves the config, so the commits since are looked at.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from lance_sql.changes.history import History
from lance_sql.errors import VersionNotFound
from lance_sql.table.commit_summary import PUBLISHED
from lance_sql.table.refs import Ref
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.committer import Expected


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the rest of a branch begins.

    since: the version of the branch that is published, or that it began with
    onto: the version of the other branch that has the rows up to there
    """

    since: int
    onto: int


def identity(ref: Ref) -> str:
    """The text that tells a branch from another one that had its name before."""
    return ref.uuid or f"{ref.name}@{ref.version} {ref.created_at}"


def marker(ref: Ref, head: int) -> str:
    """The property of the commit that publishes a branch up to one of its versions."""
    return f"{ref.name}@{ref.version} {identity(ref)} {head}"


def is_part(ref: Ref, version: Snapshot) -> bool:
    """Whether a version of the other branch is one that published a part of the branch."""
    transaction = version.transaction()
    written = "" if transaction is None else transaction.properties.get(PUBLISHED, "")
    return written.startswith(marker(ref, 0)[:-1])


def progress(ref: Ref, latest: Snapshot) -> Progress:
    """How far a branch is published in a version of the other branch.

    raises: VersionNotFound where the commit that published a part of it is not known any more
    """
    head, onto = _recorded(latest.manifest.config).get(identity(ref), (None, None))
    if head is None or onto is None:
        return Progress(ref.version, ref.version)
    history = History(latest)
    wanted, made = marker(ref, head), None
    for version in range(onto + 1, latest.version + 1):
        if version not in history.files:
            continue
        transaction = history.snapshot_at(version).transaction()
        if transaction is not None and transaction.properties.get(PUBLISHED) == wanted:
            made = version
        elif transaction is not None and transaction.operation == "overwrite":
            # the rows are gone, and the config has stayed
            return Progress(ref.version, ref.version)
    if made is None:
        raise VersionNotFound(
            f"{ref.name} is published up to version {head}, by a version of {latest.name} that was cleaned up: which"
            " rows changed since is not known. Apply the rest with apply_changes, and delete the branch"
        )
    return Progress(head, made)


def recorded(ref: Ref, head: int, latest: Snapshot, branches: Collection[Ref]) -> Mapping[str, Expected]:
    """What the commit sets in the config that publishes a branch; branches that are gone are left out.

    head: the version of the branch
    branches: that there are
    """
    config = latest.manifest.config
    known = {identity(each) for each in branches}
    content = {key: value for key, value in _recorded(config).items() if key in known}
    content[identity(ref)] = (head, latest.version)
    return {PUBLISHED: Expected(json.dumps(content, separators=(",", ":")), config.get(PUBLISHED))}


def _recorded(config: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """How far branches are published, and onto which version; what is not understood counts as not there."""
    try:
        content: Any = json.loads(config.get(PUBLISHED, "{}"))
        return {str(key): (int(head), int(onto)) for key, (head, onto) in content.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
