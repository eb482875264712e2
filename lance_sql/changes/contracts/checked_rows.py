"""The rows that a check looks at: all of a version, those that changed, or those that are about to be committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import History
from lance_sql.changes.images import INSERT, POSTIMAGE
from lance_sql.format.schema import Field
from lance_sql.reads.scan.filters import to_predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.table.fragments import Fragments
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection

MAX_EXAMPLES: Final = 5


class Rows:
    """The rows that a check looks at: all of a version.

    is_part: these are only some of its rows
    """

    is_part = False

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @property
    def before(self) -> Snapshot | None:
        """The version that this one is compared with; None where it is not there."""
        return self._version(self.snapshot.version - 1)

    def scans(
        self, columns: Sequence[str] | None, filter: str | None = None, limit: int | None = None
    ) -> Iterator[Any]:
        """Reads of them: each has `to_reader`, `to_table` and `count_rows`."""
        yield scan(self.snapshot, columns, filter, limit)

    def _version(self, version: int) -> Snapshot | None:
        history = History(self.snapshot)
        return history.snapshot_at(version) if version in history.files else None

    def count(self, filter: str) -> int:
        """How many pass a filter."""
        return sum(scan.count_rows() for scan in self.scans([], filter))

    def table(self, columns: Sequence[str], filter: str | None = None) -> pa.Table:
        """Some columns of them."""
        tables = [scan.to_table() for scan in self.scans(columns, filter)]
        if not tables:
            return selection.empty(pa.schema([self.snapshot.manifest.schema.arrow.field(name) for name in columns]))
        return pa.concat_tables(tables, promote_options="permissive")

    def examples(self, filter: str) -> pa.Table:
        """Some of those that pass a filter."""
        tables = [scan.to_table() for scan in self.scans(None, filter, MAX_EXAMPLES)]
        return pa.concat_tables(tables, promote_options="permissive").slice(0, MAX_EXAMPLES)


class ChangedRows(Rows):
    """Those that a feed has, as they are at its end; all rows where a column has the name that another one had."""

    is_part = True

    def __init__(self, snapshot: Snapshot, feed: ChangeFeed) -> None:
        super().__init__(snapshot)
        self._feed = feed
        # what changed is found out once for all rules
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


class ProposedRows(Rows):
    """Those of a version that is not committed yet, in files that the newest one has not; all of them where a column
    has the name that another one had, for then old files have other values by this name."""

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
    """A read of a version, as SQL asks for it."""
    return Scan(snapshot, resolve(snapshot, columns), to_predicate(snapshot, filter), limit, None)


def _is_other_column(before: Sequence[Field], now: Sequence[Field]) -> bool:
    """Whether a name that both have, of a column or of a member of one, means another field than before."""
    by_name = {field.name: field for field in before}
    return any(
        old is not None and (old.id != field.id or _is_other_column(old.children, field.children))
        for field in now
        for old in (by_name.get(field.name),)
    )
