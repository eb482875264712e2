"""State that verbs store in the config, and that is published with the rows of a branch.

    lance_sql.applied        keys and times of applied changes, and files of state that rows lack
    lance_sql.view           versions that a materialized view was computed from
    lance_sql.consumed.*     the position of a cursor up to which the table has its changes
    lance_sql.txn.*          the last write of an application

Rules, other keys of the config and indices of a branch are not published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lance_sql.errors import CommitConflict, at
from lance_sql.store.put_once import put_once
from lance_sql.table import applied
from lance_sql.table.commit_summary import CONSUMED, TXN, VIEW
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.committer import Expected

_NOUNS: Final = {
    applied.KEY: "have applied changes",
    VIEW: "have refreshed the materialized view",
    CONSUMED: "have taken changes of the cursor",
    TXN: "have numbered writes of the application",
}


def changed(before: Snapshot, head: Snapshot, latest: Snapshot) -> Mapping[str, Expected]:
    """Returns the keys of the config that a branch has set and that its publication sets.

    before: the version of the branch from which it is published
    raises: CommitConflict if both have set one
    """
    mine, old, theirs = head.manifest.config, before.manifest.config, latest.manifest.config
    values = {}
    for key in sorted({*mine, *old}):
        noun = next((noun for prefix, noun in _NOUNS.items() if key.startswith(prefix)), None)
        if noun is None or mine.get(key) == old.get(key) or theirs.get(key) == mine.get(key):
            continue
        if theirs.get(key) != old.get(key):
            name = f" {key.removeprefix(CONSUMED).removeprefix(TXN)!r}" if key.startswith((CONSUMED, TXN)) else ""
            raise CommitConflict(
                f"Both {head.label} and {latest.label} {noun}{name} since the branch was created. Nothing was"
                f" published: repeat the writes of the branch on {latest.branch or 'main'}"
            )
        values[key] = Expected(mine.get(key), theirs.get(key))
    return values


def copy_applied(head: Snapshot, latest: Snapshot) -> Iterator[str]:
    """Copies files of applied changes to the branch that is published to, and yields their paths.

    raises: CorruptFile for a missing file
    """
    mine, theirs = (applied.of(each.manifest.config, each.label) for each in (head, latest))
    known = () if theirs is None else theirs.files
    for path in () if mine is None else mine.files:
        if path in known:
            continue
        with at(table=head.label, file=path):
            content = applied.file_content(head, path)
        yield path
        put_once(latest.store, path, content)
