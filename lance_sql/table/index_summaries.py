"""Summaries of indices for users: one entry for all segments of a name."""

from __future__ import annotations

from dataclasses import dataclass

from lance_sql.table.index_kinds import SYSTEM
from lance_sql.table.indices import IndexSegment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.records import Record


@dataclass(frozen=True, slots=True, repr=False)
class IndexSummary(Record):
    """A secondary index of a version.

    kind: such as "btree"; the type of its details for an unknown kind
    columns: names, `a.b` for a member of a struct
    num_segments: number of its segments
    num_fragments, num_uncovered: covered fragments of the version, and the others
    size_bytes: of its files; None if the manifest does not record it
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    num_segments: int
    num_fragments: int
    num_uncovered: int
    size_bytes: int | None


def summaries(snapshot: Snapshot) -> tuple[IndexSummary, ...]:
    """Returns the indices of a version, in the order of the manifest.

    raises: CorruptFile
    """
    by_name: dict[str, list[IndexSegment]] = {}
    for segment in snapshot.indices():
        if segment.index_type not in SYSTEM:
            by_name.setdefault(segment.name, []).append(segment)
    live = set(snapshot.manifest.fragments.ids)
    indices = snapshot.open_indices
    summaries = []
    for name, segments in by_name.items():
        covered = {number for segment in segments for number in indices.fully_covered(segment, live)}
        sizes = [size for segment in segments for size in segment.file_sizes.values()]
        known = all(segment.file_sizes for segment in segments) and all(sizes)
        kind = segments[0].kind
        columns = tuple(column_name(snapshot, number) for number in segments[0].field_ids)
        summaries.append(
            IndexSummary(
                name,
                segments[0].index_type if kind is None else kind.name,
                columns,
                len(segments),
                len(covered),
                len(live) - len(covered),
                sum(sizes) if known else None,
            )
        )
    return tuple(summaries)


def column_name(snapshot: Snapshot, field_id: int) -> str:
    """Returns the name of a column by field id; a number for an unknown field."""
    names: list[str] = []
    field = snapshot.manifest.schema.by_id.get(field_id)
    if field is None:
        return f"#{field_id}"
    while field is not None:
        names.insert(0, field.name)
        field = snapshot.manifest.schema.by_id.get(field.parent_id)
    return ".".join(names)
