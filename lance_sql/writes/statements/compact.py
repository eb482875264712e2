"""Compaction: rewrites short fragments and those with many deleted rows into fewer ones, preserving row ids and
versions.

Source: message Transaction.Rewrite; row lineage, duties of a writer.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal, TypeAlias, get_args

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan.pieces import cut
from lance_sql.reads.scan.scanning import read_fragments
from lance_sql.runtime.progress import Work
from lance_sql.table import row_ids, row_versions, segments
from lance_sql.table.fragment import MAX_ROWS_PER_FILE, Fragment
from lance_sql.table.indices import IndexSegment
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.row_ids import RowIds
from lance_sql.table.row_versions import RowVersions
from lance_sql.table.segments import Segment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import dictionaries, row_ranges
from lance_sql.values.arguments import check_number
from lance_sql.values.row_ranges import RowRanges
from lance_sql.writes.commit.operations import Rewrite, RewriteGroup
from lance_sql.writes.statements import copying
from lance_sql.writes.statements import indices as indexing
from lance_sql.writes.statements.fragments import FileLimits
from lance_sql.writes.statements.session import RowCounts, WriteSession, on_latest

_LOG: Final = logging.getLogger("lance_sql")

_PART_ROWS: Final = 1024 * 1024
"""Number of rows whose ids and versions are held at once."""

IndexChoice: TypeAlias = Literal["update", "keep", "drop"]
"""Treatment of indices that do not cover moved rows."""


@dataclass(frozen=True, slots=True)
class Group:
    """Adjacent fragments that become one or more new ones.

    start: index of the first one in the manifest
    num_rows: their live rows
    """

    start: int
    fragment_ids: tuple[int, ...]
    num_rows: int

    @property
    def end(self) -> int:
        """Index after the last fragment."""
        return self.start + len(self.fragment_ids)


def plan(snapshot: Snapshot, *, target_rows: int, max_deleted_share: float) -> list[Group]:
    """Returns the fragments to be rewritten together; empty if no rewrite improves anything."""
    check_number("target_rows", target_rows, least=1)
    fragments = snapshot.manifest.fragments
    ids = fragments.ids
    covered = [snapshot.open_indices.fully_covered(segment, ids) for segment in snapshot.indices()]
    groups: list[Group] = []
    open_group: tuple[int, int, tuple[bool, ...]] | None = None

    def close(end: int) -> None:
        nonlocal open_group
        if open_group is not None:
            bounds = [open_group[0], *_full_dictionaries(snapshot, open_group[0], end), end]
            for start, stop in pairwise(bounds):
                if stop - start > 1 or _share_deleted(snapshot.open(fragments[start])) > max_deleted_share:
                    live = (row_ranges.count(snapshot.open(each).live_rows()) for each in fragments[start:stop])
                    groups.append(Group(start, fragments.ids[start:stop], sum(live)))
        open_group = None

    for index, fragment in enumerate(fragments):
        opened = snapshot.open(fragment)
        live = row_ranges.count(opened.live_rows())
        is_candidate = opened.num_rows < target_rows or opened.num_rows - live > max_deleted_share * opened.num_rows
        # an index covers all of a group or none of it
        covering = tuple(fragment.id in ids for ids in covered)
        if open_group is not None and (not is_candidate or open_group[2] != covering or open_group[1] >= target_rows):
            close(index)
        if is_candidate:
            start, rows, _ = open_group or (index, 0, covering)
            open_group = start, rows + live, covering
    close(len(fragments))
    return groups


def _full_dictionaries(snapshot: Snapshot, start: int, end: int) -> Iterator[int]:
    """Yields the indices of fragments at which dictionaries get too many items for one file."""
    arrow = snapshot.manifest.schema.arrow
    schema = pa.schema([field for field in arrow if dictionaries.narrow(field.type)])
    if not schema.names or end - start < 2:
        return
    items = dictionaries.Items(schema)
    for place in range(start, end):
        batches = list(read_fragments(snapshot, schema.names, [snapshot.manifest.fragments[place]]))
        if not all(map(items.take, batches)):
            yield place
            items = dictionaries.Items(schema)
            for batch in batches:
                items.add(batch)


def compact(
    snapshot: Snapshot,
    *,
    target_rows: int = MAX_ROWS_PER_FILE,
    max_deleted_share: float = 0.1,
    indices: IndexChoice = "update",
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    """Rewrites fragments of the newest version that have fewer rows than `target_rows`, or a larger share of
    deleted rows than `max_deleted_share`. Creates two versions, of which one reserves fragment ids; none if nothing
    is rewritten.

    indices: treatment of scalar indices by row addresses that cover rewritten fragments but not the new ones:
        "update" makes them cover the new fragments, except for zone maps and bloom filters of tables with stable
        row ids, "keep" leaves that for later, "drop" drops them. The first and the last create one more version
    raises: UnsupportedFeature; CommitConflict if another writer changes one of the fragments concurrently
    """
    check_choice(indices)
    before: list[Snapshot] = []

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        groups = plan(latest, target_rows=target_rows, max_deleted_share=max_deleted_share)
        if not groups:
            return latest
        before.append(latest)
        work = Work(sum(group.num_rows for group in groups))
        written = [_write(session, group, target_rows, work) for group in groups]
        return session.commit(rewrite(session, groups, written), RowCounts())

    # a rewrite that lost against another commit is not repeated automatically
    compacted = on_latest(snapshot, "compact", change, properties, max_attempts=1)
    return compacted if not before else settled(before[0], compacted, indices, properties)


def _write(session: WriteSession, group: Group, target_rows: int, work: Work) -> Sequence[Fragment]:
    """Writes new fragments with the rows of a group: large enough pages are copied, others decoded and joined."""
    fragments = session.snapshot.manifest.fragments[group.start : group.end]
    fields = copying.fields_to_copy(session.snapshot, fragments)
    if fields:
        return [copying.write(session, fragments, fields, work)]
    limits = FileLimits(max_rows=target_rows)
    return session.writer(limits=limits).write_all(work.over(rows(session.snapshot, group)))


def settled(before: Snapshot, after: Snapshot, indices: IndexChoice, properties: Mapping[str, str] | None) -> Snapshot:
    """Updates or drops the indices that a compaction left behind, as the user chose.

    before, after: the versions that it read and created
    """
    if indices == "keep":
        return after
    compaction = after.commit_properties
    for name in _left_behind(before, after, keeps_zones=indices == "update" and after.manifest.has_stable_row_ids):
        _LOG.info("%s: the compaction moved rows of the index %r: %s", after.label, name, indices)
        after = (
            indexing.drop(after, name, properties)
            if indices == "drop"
            else indexing.optimize(after, [name], skips_mixed=True, properties=properties)
        )
    # the user's commit is the compaction
    return after if after.commit_properties is compaction else after.with_commit(compaction)


def check_choice(indices: IndexChoice) -> None:
    """raises: InvalidArgument for an unknown choice."""
    if indices not in get_args(IndexChoice):
        raise InvalidArgument(f"indices={indices!r} is not one of {', '.join(map(repr, get_args(IndexChoice)))}")


def _left_behind(before: Snapshot, after: Snapshot, *, keeps_zones: bool) -> list[str]:
    """Returns the names of scalar indices that cover fewer of the rows after a compaction than before.

    keeps_zones: leave out zone-based indices. pylance before 10 takes their addresses for stable row ids, which
        differ for rows that moved: without coverage, they are not used
    """
    old, new = set(before.manifest.fragments.ids), set(after.manifest.fragments.ids)
    covered: dict[str, set[int]] = {}
    built: dict[str, list[IndexSegment]] = {}
    for segment in after.indices():
        built.setdefault(segment.name, []).append(segment)
    for segment in after.indices():
        if keeps_zones and segment.kind is not None and segment.kind.is_of_zones:
            continue
        if indexing.is_built(after, built[segment.name]):
            covered.setdefault(segment.name, set()).update(after.open_indices.fully_covered(segment, new))
    was_covered = {
        segment.name for segment in before.indices() if before.open_indices.fully_covered(segment, old - new)
    }
    return [name for name, ids in covered.items() if name in was_covered and (new - old) - ids]


def rows(snapshot: Snapshot, group: Group) -> Iterator[pa.RecordBatch]:
    """Returns the live rows of a group, in their order."""
    fragments = snapshot.manifest.fragments[group.start : group.end]
    return iter(read_fragments(snapshot, None, fragments))


def rewrite(session: WriteSession, groups: Sequence[Group], written: Sequence[Sequence[Fragment]]) -> Rewrite:
    """Returns the operation that replaces groups by new fragments. Reserves their ids, in a separate version.

    written: the fragments with the rows of each group
    """
    latest = session.snapshot
    count = sum(map(len, written))
    first = session.reserve_fragments(count) if count else 0
    rewritten = []
    for group, fragments in zip(groups, written, strict=True):
        old = tuple(latest.manifest.fragments[group.start : group.end])
        new = _with_lineage(latest, old, fragments, first)
        first += len(new)
        rewritten.append(RewriteGroup(old, new))
    return Rewrite(tuple(rewritten))


def _with_lineage(
    snapshot: Snapshot, old: Sequence[Fragment], new: Sequence[Fragment], first_id: int
) -> tuple[Fragment, ...]:
    """Returns the new fragments with their ids, and with the row ids and versions of the old live rows in their
    order."""
    numbered = [replace(fragment, id=first_id + i) for i, fragment in enumerate(new)]
    if not snapshot.manifest.has_stable_row_ids:
        return tuple(numbered)
    left = _live_parts([snapshot.open(fragment) for fragment in old])
    return tuple(_with_lineage_of(fragment, _next_rows(left, fragment.physical_rows)) for fragment in numbered)


def _with_lineage_of(fragment: Fragment, parts: Iterable[tuple[OpenFragment, RowRanges]]) -> Fragment:
    """Returns the fragment with the row ids and versions of some rows."""
    ids: list[Segment] = []
    created: list[RowVersions] = []
    updated: list[RowVersions] = []
    for opened, rows in parts:
        ids.append(segments.smallest(opened.row_ids(rows)))
        created.append(row_versions.from_values(opened.created_at(rows)))
        updated.append(row_versions.from_values(opened.last_updated_at(rows)))
    return replace(
        fragment,
        row_ids=row_ids.serialize_smallest(RowIds(tuple(ids))),
        created_at=row_versions.serialize(row_versions.concatenate(created)),
        last_updated_at=row_versions.serialize(row_versions.concatenate(updated)),
    )


def _live_parts(fragments: Iterable[OpenFragment]) -> deque[tuple[OpenFragment, RowRanges]]:
    """Returns the live rows, in parts small enough to hold their ids and versions."""
    return deque((fragment, part) for fragment in fragments for part in cut(fragment.live_rows(), _PART_ROWS))


def _next_rows(left: deque[tuple[OpenFragment, RowRanges]], num_rows: int) -> Iterator[tuple[OpenFragment, RowRanges]]:
    """Takes the first of the remaining rows."""
    while num_rows:
        fragment, rows = left.popleft()
        count = row_ranges.count(rows)
        if count > num_rows:
            left.appendleft((fragment, row_ranges.compose(rows, row_ranges.single(num_rows, count))))
            rows, count = row_ranges.head(rows, num_rows), num_rows
        yield fragment, rows
        num_rows -= count


def _share_deleted(opened: OpenFragment) -> float:
    return 1 - row_ranges.count(opened.live_rows()) / opened.num_rows if opened.num_rows else 1.0
