"""Plans the images to read for a range of versions: the changes of each commit, or the net changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from lance_sql.changes import column_history, keyed, net, values
from lance_sql.changes.commit import CommitChanges, UpdateEvidence, changed_rows, touched_rows
from lance_sql.changes.earlier_columns import Sources
from lance_sql.changes.history import BranchHistory, Commit
from lance_sql.changes.image_matching import Matching, Pairs, RowIdMatch
from lance_sql.changes.images import (
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    DELETE,
    FIELDS,
    INSERT,
    KINDS,
    NAMES,
    ONE_ID,
    ORIGIN_FIELDS,
    ORIGIN_NAMES,
    POSTIMAGE,
    PREIMAGE,
    Commits,
    Images,
)
from lance_sql.changes.keyed import KeyMatch, LastCommits
from lance_sql.changes.narrowing import known, narrowed
from lance_sql.errors import DamagedLineage, UnsupportedFeature
from lance_sql.reads.scan.predicates import Const, Predicate
from lance_sql.runtime.cached_property import cached_property
from lance_sql.values.arrays import U64

Mode: TypeAlias = Literal["all", "net", "insert_only"]

Result = TypeVar("Result")

Part: TypeAlias = tuple[Images, Predicate | None]
"""Images, and the rest of the filter for them."""


@dataclass
class CommitRange:
    """Commits `first` to `last` of a history. Caches the changes of each.

    mode, drop_unchanged: as for `Dataset.changes`
    last: below `first` for no commits
    kinds: the kinds of images in the feed
    contradicted: versions whose row ids contradict their operation, of those examined so far
    trust_snapshots: if row ids contradict the operation of a commit, both versions are compared by values
    with_origin: the feed has the job, user and host of commits
    """

    history: BranchHistory
    first: int
    last: int
    mode: Mode
    drop_unchanged: bool
    kinds: tuple[str, ...] = KINDS
    match: Matching = field(default_factory=RowIdMatch)
    trust_snapshots: bool = False
    with_origin: bool = False
    _sources: dict[int, Sources] = field(default_factory=dict)
    _changed: dict[int, CommitChanges] = field(default_factory=dict)
    _given_by: dict[int, int] = field(default_factory=dict)
    contradicted: set[int] = field(default_factory=set)

    def parts(self, predicate: Predicate | None) -> Iterator[Part]:
        """Yields the images that may pass a filter, in commit order; within a commit, in the order of `KINDS`."""
        if self.last < self.first:
            return
        if self.mode == "net":
            all_images = iter(self._net)
        else:
            versions = [version for version in range(self.first, self.last + 1) if self._may_pass(version, predicate)]
            all_images = (each for version in versions for each in self._images_of(version))
        for each in all_images:
            if each.kind in self.kinds and each.rows.num_rows and (part := narrowed(each, predicate)) is not None:
                yield part

    def commits(self) -> list[Commit]:
        """Returns all commits, ascending."""
        return [self.history.commit(version) for version in range(self.first, self.last + 1)]

    def sources(self, version: int) -> Sources:
        """Returns the columns of the last version, as one version of the range or the version before it stores them."""
        if version not in self._sources:
            self.history.load_commits(version + 1, self.last)
            self._sources = column_history.sources(self.history, version, self.last)
        return self._sources[version]

    @property
    def replaced_columns(self) -> frozenset[str]:
        """Names of columns before the range that other columns have at its end: the old ones were dropped or renamed.
        The feed omits rows without a value in the new columns."""
        earlier = self.history.commit(self.first).earlier if self.first <= self.last else None
        if earlier is None:
            return frozenset()
        ids = {field.name: field.id for field in earlier.manifest.schema.fields}
        now = [(each.column.name, each.stored) for each in self.sources(self.first - 1)]
        return frozenset(name for name, stored in now if name in ids and (stored is None or stored.id != ids[name]))

    def changed(self, version: int) -> CommitChanges:
        """Returns the rows that the commit of one version changed."""
        if version not in self._changed:
            commit = self.history.commit(version)
            old, new = self.history.side(commit.earlier), self.history.side(commit.later)
            if commit.earlier is not None and isinstance(self.match, RowIdMatch):
                _check_same_identity(commit)
            was, now = self.sources(version - 1), self.sources(version)

            def change(as_commit: Commit) -> CommitChanges:
                return changed_rows(
                    as_commit,
                    old,
                    new,
                    was,
                    now,
                    self.match,
                    versions_tell=partial(self._versions_tell, as_commit),
                    given=self._given(as_commit),
                    inserts_only=self.mode == "insert_only",
                )

            changed = self._trusted(commit, change)
            if self.drop_unchanged and self.mode == "all":
                changed = _without_unchanged(changed, was, now)
            self._changed[version] = changed
        return self._changed[version]

    def _images_of(self, version: int) -> Iterator[Images]:
        commit = self.history.commit(version)
        changed = self.changed(version)
        one = Commits.of([commit], with_origin=self.with_origin)
        yield from self._images(changed, version, version, one)

    @cached_property
    def _net(self) -> tuple[Images, ...]:
        """All images of mode net, computed once for all scans of the range."""
        return tuple(self._net_images())

    def _net_images(self) -> Iterator[Images]:
        first, last = self.history.commit(self.first), self.history.commit(self.last)
        was, now = self.sources(self.first - 1), self.sources(self.last)
        commits = self.commits()
        in_range = Commits.of(commits, with_origin=self.with_origin)
        old, new = self.history.side(first.earlier), self.history.side(last.later)
        if isinstance(self.match, KeyMatch):
            changed = keyed.net_changes(self.match, old, new, was, now)
            for each in self._images(changed, self.first, self.last, in_range):
                numbers = self._last_commits.of(each.rows, each.sources)
                order = np.argsort(each.rows.ids)
                yield replace(each, feed_values=in_range.by_id(each.rows.ids[order], numbers[order]))
            return
        touched = net.touched(map(self._touched, commits))
        has_restores = any(
            commit.operation in ("restore", None) or commit.version in self.contradicted for commit in commits
        )
        changed = net.net_changes(touched, old, new, was, now, has_restores=has_restores)
        if self.drop_unchanged:
            changed = _without_unchanged(changed, was, now)
        yield from self._images(changed, self.first, self.last, in_range.by_id(touched.ids, touched.commits))

    def _touched(self, commit: Commit) -> list[tuple[U64, UpdateEvidence]]:
        """Returns the ids of the rows that a commit changed."""
        if commit.earlier is not None:
            _check_same_identity(commit)
        old, new = self.history.side(commit.earlier), self.history.side(commit.later)
        was, now = self.sources(commit.version - 1), self.sources(commit.version)

        def touch(as_commit: Commit) -> list[tuple[U64, UpdateEvidence]]:
            tell = partial(self._versions_tell, as_commit)
            return touched_rows(as_commit, old, new, was, now, versions_tell=tell, given=self._given(as_commit))

        return self._trusted(commit, touch)

    def _given(self, commit: Commit) -> int | None:
        """Returns an exclusive upper bound of the row ids assigned before a commit, from the versions of the range.
        None if ids are not checked against the operation."""
        if commit.earlier is None or not isinstance(self.match, RowIdMatch):
            return None
        # a restore by an old writer resets the next id
        before = max(commit.earlier.manifest.next_row_id, self._given_by.get(commit.version - 1, 0))
        self._given_by[commit.version] = before
        return before

    def _trusted(self, commit: Commit, find: Callable[[Commit], Result]) -> Result:
        """Runs `find` for a commit. If its row ids contradict its operation and snapshots are trusted, runs it again
        without the operation."""
        try:
            return find(commit)
        except DamagedLineage:
            if not self.trust_snapshots:
                raise
            self.contradicted.add(commit.version)
            return find(replace(commit, operation=None))

    def _versions_tell(self, commit: Commit) -> bool:
        return commit.later.manifest.has_stable_row_ids and self.history.versions_tell(commit)

    @cached_property
    def _last_commits(self) -> LastCommits:
        """Last commit of the range for each key."""
        assert isinstance(self.match, KeyMatch)
        last_commits = LastCommits(self.match)
        for number, version in enumerate(range(self.first, self.last + 1)):
            last_commits.add(number, self.changed(version), self.sources(version - 1), self.sources(version))
        return last_commits

    def _images(self, changed: CommitChanges, first: int, last: int, commits: Commits) -> Iterator[Images]:
        """Yields the images of changed rows in the versions before and after."""
        was, now = self.sources(first - 1), self.sources(last)
        yield Images(DELETE, first - 1, changed.deleted, was, commits)
        for pairs, _ in changed.updated:
            yield Images(PREIMAGE, first - 1, pairs.before, was, commits)
        for pairs, _ in changed.updated:
            yield Images(POSTIMAGE, last, pairs.after, now, commits)
        yield Images(INSERT, last, changed.inserted, now, commits)

    def _may_pass(self, version: int, predicate: Predicate | None) -> bool:
        """Whether an image of a commit may pass a filter, by its version, its time, and the kinds there are."""
        if predicate is None:
            return True
        names = {path[0] for path in predicate.columns}
        # without them, a column of the table may have such a name
        origin = ORIGIN_NAMES if self.with_origin else ()
        if not names & {*NAMES, *origin}:
            return True
        constants: dict[str, list[object]] = {COMMIT_VERSION: [version]}
        if COMMIT_TIMESTAMP in names:
            constants[COMMIT_TIMESTAMP] = [self.history.snapshot_at(version).manifest.timestamp]
        if names & set(origin):
            one = Commits.of([self.history.commit(version)], with_origin=True)
            constants |= {name: array.to_pylist() for name, array in one.columns("", ORIGIN_NAMES, ONE_ID).items()}
        for kind in (INSERT,) if self.mode == "insert_only" else self.kinds:
            constants["_change_type"] = [kind]
            schema = pa.schema([field for field in (*FIELDS, *ORIGIN_FIELDS) if field.name in constants])
            left = known(predicate, pa.RecordBatch.from_pydict(constants, schema))
            if left != Const(False) and left != Const(None):
                return True
        return False


def _without_unchanged(changed: CommitChanges, was: Sources, now: Sources) -> CommitChanges:
    """Removes updates whose images are equal in every column."""

    def differing(pairs: Pairs) -> Pairs:
        return pairs.where(values.differing(pairs, was, now))

    updated = [(differing(pairs), evidence) for pairs, evidence in changed.updated]
    return replace(changed, updated=tuple(each for each in updated if each[0].num_rows))


def _check_same_identity(commit: Commit) -> None:
    assert commit.earlier is not None
    if commit.earlier.manifest.has_stable_row_ids != commit.later.manifest.has_stable_row_ids:
        raise UnsupportedFeature(
            f"The rows of {commit.later.name} {_identity_from(commit)} version {commit.version}: read the changes up to"
            f" version {commit.version - 1}, or since={commit.version}, or pass key columns (key=['id'])"
        )


def _identity_from(commit: Commit) -> str:
    return "have stable row ids from" if commit.later.manifest.has_stable_row_ids else "have no stable row ids from"


def limited(parts: Sequence[Part], limit: int | None) -> list[Part]:
    """Returns the parts to read for a limit on the number of rows."""
    if limit is None:
        return list(parts)
    read: list[Part] = []
    for images, predicate in parts:
        if limit <= 0:
            break
        if predicate is None:
            images = images.head(limit)
            limit -= images.rows.num_rows
        read.append((images, predicate))
    return read
