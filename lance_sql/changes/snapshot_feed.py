"""All rows of one version as a change feed: the initial load of a consumer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from lance_sql.changes.changed_rows import RowSelection
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import BranchHistory, Commit
from lance_sql.changes.images import INSERT, KINDS, Commits, Images
from lance_sql.changes.narrowing import narrowed
from lance_sql.changes.plan import CommitRange, Part
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.table.snapshot import Snapshot


@dataclass
class _Snapshot(CommitRange):
    """Rows of the version `first`, which equals `last`, as if its commit had inserted all of them."""

    def parts(self, predicate: Predicate | None) -> Iterator[Part]:
        side = self.history.side(self.history.snapshot_at(self.last))
        side.load_deleted(side.fragments)
        rows = RowSelection.of(side.files, ((fragment, side.live(fragment)) for fragment in side.fragments))
        one = Commits.of([self.history.whole(self.last)], with_origin=self.with_origin)
        images = Images(INSERT, self.last, rows, self.sources(self.last), one)
        if INSERT in self.kinds and rows.num_rows and (part := narrowed(images, predicate)) is not None:
            yield part

    def commits(self) -> list[Commit]:
        return []


class SnapshotFeed(ChangeFeed):
    """Rows of a version as inserts of that version. Its columns are those of a change feed."""

    range_type: ClassVar[type[CommitRange]] = _Snapshot
    is_snapshot: ClassVar[bool] = True

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        key: str | Sequence[str] | None = None,
        origin: bool = False,
        kinds: tuple[str, ...] = KINDS,
    ) -> None:
        """key, origin, kinds: as for `ChangeFeed`"""
        super().__init__(snapshot, snapshot.version, snapshot.version, mode="net", key=key, origin=origin, kinds=kinds)
        self._key = key

    def _check_range(self, history: BranchHistory, first: int, last: int) -> None:
        # the version before is not needed
        return

    def _of_kinds(self, kinds: tuple[str, ...]) -> SnapshotFeed:
        return _restore(self._snapshot, self._key, self.range.with_origin, kinds)

    def explain_commits(self) -> list[str]:
        return [f"  all rows of version {self.end}"]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._snapshot, self._key, self.range.with_origin, self.range.kinds)

    def __str__(self) -> str:
        return f"rows of {self._snapshot.name} version {self.end}"


def _restore(snapshot: Snapshot, key: str | Sequence[str] | None, origin: bool, kinds: tuple[str, ...]) -> SnapshotFeed:
    return SnapshotFeed(snapshot, key=key, origin=origin, kinds=kinds)
