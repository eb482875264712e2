"""Rows that a check reads: all of a version, the changed ones, or those of a proposed commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import BranchHistory
from lance_sql.changes.images import INSERT, POSTIMAGE
from lance_sql.format.schema import Field
from lance_sql.reads.scan.filters import to_predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.table.fragments import Fragments
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection

MAX_EXAMPLES: Final = 5


class CheckedRows:
    """All rows of a version, for a check.

    is_part: only some of the rows are included
    """

    is_part = False

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @property
    def before(self) -> Snapshot | None:
        """Version that this one is compared with; None if it does not exist."""
        return self._version(self.snapshot.version - 1)

    def scans(
        self, columns: Sequence[str] | None, filter: str | None = None, limit: int | None = None
    ) -> Iterator[Any]:
        """Yields scans of the rows; each has `to_reader`, `to_table` and `count_rows`."""
        yield scan(self.snapshot, columns, filter, limit)

    def _version(self, version: int) -> Snapshot | None:
        history = BranchHistory(self.snapshot)
        return history.snapshot_at(version) if version in history.files else None

    def count(self, filter: str) -> int:
        """Counts the rows that pass a filter."""
        return sum(scan.count_rows() for scan in self.scans([], filter))

    def table(self, columns: Sequence[str], filter: str | None = None) -> pa.Table:
        """Reads some columns of the rows."""
        tables = [scan.to_table() for scan in self.scans(columns, filter)]
        if not tables:
            return selection.empty(pa.schema([self.snapshot.manifest.schema.arrow.field(name) for name in columns]))
        return pa.concat_tables(tables, promote_options="permissive")

    def examples(self, filter: str) -> pa.Table:
        """Returns up to `MAX_EXAMPLES` rows that pass a filter."""
        tables = [scan.to_table() for scan in self.scans(None, filter, MAX_EXAMPLES)]
        return pa.concat_tables(tables, promote_options="permissive").slice(0, MAX_EXAMPLES)


class CheckedChanges(CheckedRows):
    """Rows of a feed as of its end; all rows if a column has the name of an earlier column."""

    is_part = True

    def __init__(self, snapshot: Snapshot, feed: ChangeFeed) -> None:
        super().__init__(snapshot)
        self._feed = feed
        # the changes are computed once for all rules
        self._kinds = [feed.only(kind) for kind in (INSERT, POSTIMAGE)]

    @property
    def before(self) -> Snapshot | None:
        return self._version(self._feed.start - 1)

    def scans(
        self, columns: Sequence[str] | None, filter: str | None = None, limit: int | None = None
    ) -> Iterator[Any]:
        if self._feed.range.replaced_columns:
            yield scan(self.snapshot, columns, filter, limit)
        elif self._feed.end >= self._feed.start:
            names = self.snapshot.manifest.schema.names if columns is None else columns
            for feed in self._kinds:
                yield feed.scan(names, filter, limit=limit)


class ProposedRows(CheckedRows):
    """Rows of an uncommitted version in files that the newest version does not have. All rows if a column has the name
    of an earlier column: old files then have other values under this name."""

    is_part = True

    def __init__(self, latest: Snapshot, proposed: Snapshot) -> None:
        super().__init__(proposed)
        self._latest = latest
        are_renamed = _is_other_column(latest.manifest.schema.fields, proposed.manifest.schema.fields)
        files_by_fragment = {} if are_renamed else {each.id: each.files for each in latest.manifest.fragments}
        fragments = [each for each in proposed.manifest.fragments if files_by_fragment.get(each.id) != each.files]
        self._new = proposed.proposed(replace(proposed.manifest, fragments=Fragments.of(fragments)), proposed.file)

    @property
    def before(self) -> Snapshot | None:
        return self._latest

    def scans(
        self, columns: Sequence[str] | None, filter: str | None = None, limit: int | None = None
    ) -> Iterator[Any]:
        yield scan(self._new, columns, filter, limit)


def scan(snapshot: Snapshot, columns: Sequence[str] | None, filter: str | None, limit: int | None) -> Scan:
    """Returns a scan of a version with an SQL filter."""
    return Scan(snapshot, resolve(snapshot, columns), to_predicate(snapshot, filter), limit, None)


def _is_other_column(before: Sequence[Field], now: Sequence[Field]) -> bool:
    """Whether a name of a column or member that both have refers to another field than before."""
    by_name = {field.name: field for field in before}
    return any(
        old is not None and (old.id != field.id or _is_other_column(old.children, field.children))
        for field in now
        for old in (by_name.get(field.name),)
    )
