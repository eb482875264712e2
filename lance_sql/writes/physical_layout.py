"""Physical layout of a version: its fragments, and the reasons why a compaction would rewrite some of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import TABLE_ERRORS
from lance_sql.table.fragment import MAX_ROWS_PER_FILE
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.frames import Frames
from lance_sql.values.html import charts
from lance_sql.values.html.render import counted, share
from lance_sql.values.records import Page
from lance_sql.writes.statements import compact

MAX_PARSED: Final = 200_000
"""Limit of fragments of earlier versions that are parsed to find out when fragments were added."""

_IN_A_PART: Final = 10
_SHOWN: Final = 500
_STRIP_HEIGHT: Final = 64.0
_MOST_WITH_GAPS: Final = 100


@dataclass(frozen=True, slots=True)
class FragmentLayout:
    """Layout of one fragment.

    rows: live rows; deleted_rows: stored rows that are deleted
    files: number of data files; bytes: their size, None if the manifest does not record it
    added_version, added_at: the version that added it, and its commit time; None if no longer known
    reasons: why a compaction would rewrite it; empty if it would not
    """

    id: int
    rows: int
    deleted_rows: int
    files: int
    bytes: int | None
    added_version: int | None
    added_at: datetime | None
    reasons: tuple[str, ...]

    @property
    def deleted_share(self) -> float:
        """Share of deleted rows among the stored rows, from 0 to 1."""
        stored = self.rows + self.deleted_rows
        return self.deleted_rows / stored if stored else 0.0


@dataclass(frozen=True, repr=False)
class Layout(Frames, Page):
    """Fragments of a version, in the order of its rows.

    name: of table and version, for display

    >>> layout = orders.maintenance.layout()
    >>> len(layout.fragments), layout.rows, layout.to_compact
    (1, 370, ())
    """

    name: str
    uri: str
    fragments: tuple[FragmentLayout, ...]

    def __repr__(self) -> str:
        return f"Layout({self.name!r}, fragments={len(self.fragments)}, to_compact={len(self.to_compact)})"

    @property
    def rows(self) -> int:
        """Number of live rows."""
        return sum(each.rows for each in self.fragments)

    @property
    def deleted_rows(self) -> int:
        """Number of stored rows that are deleted."""
        return sum(each.deleted_rows for each in self.fragments)

    @property
    def deleted_share(self) -> float:
        """Share of deleted rows among the stored rows, from 0 to 1."""
        stored = self.rows + self.deleted_rows
        return self.deleted_rows / stored if stored else 0.0

    @property
    def files(self) -> int:
        """Number of data files."""
        return sum(each.files for each in self.fragments)

    @property
    def bytes(self) -> int | None:
        """Size of all data files; None if a manifest does not record it."""
        sizes = [each.bytes for each in self.fragments]
        recorded = [each for each in sizes if each is not None]
        return sum(recorded) if len(recorded) == len(sizes) else None

    @property
    def to_compact(self) -> tuple[FragmentLayout, ...]:
        """Fragments that a compaction would rewrite."""
        return tuple(each for each in self.fragments if each.reasons)

    @property
    def rows_to_compact(self) -> int:
        """Number of live rows of the fragments that a compaction would rewrite."""
        return sum(each.rows for each in self.to_compact)

    def to_table(self) -> pa.Table:
        """Returns one row for each fragment; `compact` contains the reasons why a compaction would rewrite it."""
        rows = self.fragments
        return pa.table(
            {
                "fragment": pa.array([each.id for each in rows], pa.uint64()),
                "rows": pa.array([each.rows for each in rows], pa.int64()),
                "deleted_rows": pa.array([each.deleted_rows for each in rows], pa.int64()),
                "files": pa.array([each.files for each in rows], pa.int64()),
                "bytes": pa.array([each.bytes for each in rows], pa.int64()),
                "added_version": pa.array([each.added_version for each in rows], pa.uint64()),
                "added_at": pa.array([each.added_at for each in rows], pa.timestamp("us", "UTC")),
                "compact": pa.array([", ".join(each.reasons) or None for each in rows], pa.string()),
            }
        )

    template = "layout"

    def page_values(self, *, is_part: bool) -> dict[str, Any]:
        sections = charts.strip([each.rows + each.deleted_rows for each in self.fragments])
        return {
            "layout": self,
            "now": datetime.now(UTC),
            "shown": self.fragments[: _IN_A_PART if is_part else _SHOWN],
            "gaps": len(self.fragments) <= _MOST_WITH_GAPS,
            "strip": [
                (start, end, each.deleted_share * _STRIP_HEIGHT, _title(each))
                for (start, end), each in zip(sections, self.fragments, strict=True)
            ],
        }


def _title(each: FragmentLayout) -> str:
    return f"fragment {each.id}: {counted(each.rows, 'row')}, {share(each.deleted_share)} deleted"


def layout(snapshot: Snapshot, *, target_rows: int = MAX_ROWS_PER_FILE, max_deleted_share: float = 0.1) -> Layout:
    """Returns the layout of a version. Reads deletion files and manifests, but no pages.

    target_rows, max_deleted_share: of the compaction
    raises: CorruptFile, UnsupportedFeature
    """
    groups = compact.plan(snapshot, target_rows=target_rows, max_deleted_share=max_deleted_share)
    rewritten = {id for group in groups for id in group.fragment_ids}
    added = _added(snapshot)
    fragments = []
    for fragment in snapshot.manifest.fragments:
        opened = snapshot.open(fragment)
        rows = row_ranges.count(opened.live_rows())
        deleted = opened.num_rows - rows
        sizes = [file.size_bytes for file in fragment.files]
        reasons = []
        if fragment.id in rewritten:
            if rows < target_rows:
                reasons.append(f"fewer than {target_rows:,} rows")
            if deleted > max_deleted_share * opened.num_rows:
                reasons.append(f"{share(deleted / opened.num_rows if opened.num_rows else 1.0)} deleted")
        version, at = added.get(fragment.id, (None, None))
        size = sum(sizes) if all(sizes) else None
        fragments.append(FragmentLayout(fragment.id, rows, deleted, len(sizes), size, version, at, tuple(reasons)))
    return Layout(snapshot.label, snapshot.uri, tuple(fragments))


def _added(snapshot: Snapshot) -> dict[int, tuple[int, datetime]]:
    """Finds when fragments were added: the first of the consecutive versions up to this one that has one of their
    files.

    Fragments that all remaining versions have are missing from the result, because they may be older.
    """
    pending: dict[int, Collection[str]] = {
        fragment.id: {file.path for file in fragment.files} for fragment in snapshot.manifest.fragments
    }
    added: dict[int, tuple[int, datetime]] = {}
    later = snapshot
    parsed = 0
    earlier = [each for each in snapshot.siblings() if each.version < snapshot.version]
    for each in reversed(earlier):
        if not pending or each.version != later.version - 1 or parsed > MAX_PARSED:
            break
        try:
            fragments = each.manifest.fragments
        except TABLE_ERRORS:
            break
        parsed += len(fragments)
        paths = {file.path for fragment in fragments for file in fragment.files}
        for id, files in list(pending.items()):
            if paths.isdisjoint(files):
                added[id] = (later.version, later.manifest.timestamp)
                del pending[id]
        later = each
    if later.version == 1:
        added |= dict.fromkeys(pending, (1, later.manifest.timestamp))
    return added
