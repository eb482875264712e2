"""Statistics of the columns of a version, without reading their values.

learned statistics, zone maps --> NULLs, smallest, largest
BITMAPs, dictionaries         --> approximate number of distinct values
pages                         --> bytes
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.file.zone_statistics import ROWS_PER_ZONE, key_kind, statistics
from lance_sql.format.index_files import order
from lance_sql.format.index_files.bitmap import Bitmaps
from lance_sql.format.index_files.zone_map import ZoneMap
from lance_sql.format.schema import Field, arrow_field
from lance_sql.reads.scan.analyze import analyze
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.predicates import plain_type
from lance_sql.reads.scan.pruning.covered import Covered
from lance_sql.table import learning
from lance_sql.table.index_kinds import Opened
from lance_sql.table.indices import IndexSegment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import value_text
from lance_sql.values.records import Record

MOST_ITEMS: Final = 1 << 20
"""Limit of dictionary items; larger dictionaries are ignored."""


@dataclass(frozen=True, slots=True, repr=False)
class ColumnStatistics(Record):
    """Statistics of a column of a version; None for unknown values.

    num_bytes: of its pages in the data files, including deleted rows
    num_nulls: number of rows
    smallest, largest: bounds of all values. NaN is larger than all numbers
    is_exact: the bounds are values of rows
    num_distinct: approximate number of values
    """

    column: str
    type: pa.DataType
    num_rows: int
    num_bytes: int
    num_nulls: int | None
    smallest: Any
    largest: Any
    is_exact: bool
    num_distinct: int | None


def column_statistics(
    snapshot: Snapshot, names: Sequence[str] | None = None, *, reads_values: bool = False
) -> list[ColumnStatistics]:
    """Returns the statistics of top-level columns, in the order of the table.

    names: all columns without it
    reads_values: missing statistics are learned first; see `analyze`
    raises: ColumnNotFound; CorruptFile; InvalidArgument as `analyze`
    """
    fields = _chosen(snapshot, names)
    if reads_values:
        analyze(snapshot, [field.name for field in fields if key_kind(arrow_field(field).type) is not None])
    candidates = Candidates.all_of(snapshot)
    return [_of_field(candidates, field) for field in fields]


def _chosen(snapshot: Snapshot, names: Sequence[str] | None) -> list[Field]:
    """Returns top-level fields by name, or all of them.

    raises: ColumnNotFound; InvalidArgument for a member of a struct
    """
    schema = snapshot.manifest.schema
    if names is None:
        return list(schema.fields)
    chosen = []
    for name in dict.fromkeys(names):
        *above, field = schema.resolve(name, table=f"{snapshot.name} version {snapshot.manifest.version}")
        if above:
            raise InvalidArgument(f"Column {name!r} is a member of a struct: pass top-level columns")
        chosen.append(field)
    return chosen


def _of_field(candidates: Candidates, field: Field) -> ColumnStatistics:
    known = _learned(candidates, field) or _in_zone_maps(candidates, field)
    has_deletions = candidates.fragments.have_deletions()
    num_nulls = smallest = largest = None
    if known is not None:
        num_nulls = pc.sum(known.null_counts, skip_nulls=False).as_py() if len(known.null_counts) else 0
        # deleted rows may have been NULL
        num_nulls = num_nulls if not has_deletions or num_nulls == 0 else None
        smallest, largest = _extremes(known)
    kind = key_kind(arrow_field(field).type)
    keeps_values = kind is not None and not kind.is_prefix and kind.num_bits <= 64
    return ColumnStatistics(
        column=field.name,
        type=arrow_field(field).type,
        num_rows=candidates.num_rows,
        num_bytes=_num_bytes(candidates, field),
        num_nulls=num_nulls,
        smallest=smallest,
        largest=largest,
        is_exact=keeps_values and not has_deletions and smallest is not None and largest is not None,
        num_distinct=_in_bitmap(candidates, field) or _in_dictionaries(candidates, field),
    )


def _extremes(known: PageStatistics) -> tuple[Any, Any]:
    """Returns the least and the greatest bound; None without values, and for an unknown bound."""
    have_values = pc.less(known.null_counts, known.num_values)
    mins, maxs = known.mins.filter(have_values), known.maxs.filter(have_values)
    nans = known.nan_counts.filter(have_values) if known.nan_counts is not None else None
    has_nan = nans is not None and nans.null_count == 0 and (pc.sum(nans).as_py() or 0) > 0
    if nans is not None and not nans.null_count:
        # a zone with only NaN has no bounds, and needs none
        has_numbers = pc.less(pc.add(known.null_counts, known.nan_counts), known.num_values).filter(have_values)
        mins, maxs = mins.filter(has_numbers), maxs.filter(has_numbers)
    smallest = _value(mins, 0) if len(mins) and not mins.null_count else None
    largest = _value(maxs, -1) if len(maxs) and not maxs.null_count else None
    if has_nan:
        return (math.nan if not len(mins) else smallest), math.nan
    return smallest, largest


def _value(bounds: pa.Array, place: int) -> Any:
    """Returns the bound at a position in ascending order; none is NULL. Text if Python has no such value."""
    at = int(order.ascending(bounds)[place])
    try:
        return bounds[at].as_py()
    except (OverflowError, ValueError):
        return value_text.values(bounds.slice(at, 1))[0]


def _learned(candidates: Candidates, field: Field) -> PageStatistics | None:
    """Returns the learned statistics, if they cover all rows."""
    files = candidates.snapshot.open_fragments.files
    type = arrow_field(field).type
    kind = key_kind(type)
    if kind is None or not candidates.fragments.trust_rows or len(candidates) == 0:
        return None
    numbers, rows = [], []
    for fragment_index in candidates.fragment_indices.tolist():
        bounds = learning.find(files, candidates.fragments[fragment_index], field)
        total = int(candidates.fragments.table.physical_rows[fragment_index])
        if bounds is None or not bounds.all_known or bounds.num_rows != total:
            return None
        numbers.append(bounds.numbers())
        rows.append(np.diff(np.append(np.arange(0, total, ROWS_PER_ZONE), total)))
    return statistics(np.concatenate(numbers), np.concatenate(rows), kind, type)


def _in_zone_maps(candidates: Candidates, field: Field) -> PageStatistics | None:
    """Returns the statistics of a zone map, if it covers all rows."""
    for segment, opened in _segments(candidates, field):
        if isinstance(opened, ZoneMap) and plain_type(opened.type) == plain_type(arrow_field(field).type):
            assert segment.fragment_ids is not None
            ids = candidates.fragments.table.ids[candidates.fragment_indices]
            covered = Covered(candidates.fragments, candidates.fragment_indices)
            if set(ids.tolist()) <= segment.fragment_ids and covered.tiled(opened.zones):
                inside = np.flatnonzero(np.isin(opened.zones.fragment_ids, ids.astype(np.int64)))
                return opened.statistics.take(inside)
    return None


def _in_bitmap(candidates: Candidates, field: Field) -> int | None:
    """Returns the number of values of a BITMAP that covers all rows."""
    for segment, opened in _segments(candidates, field):
        if isinstance(opened, Bitmaps):
            ids = candidates.fragments.table.ids[candidates.fragment_indices]
            if segment.fragment_ids is not None and set(ids.tolist()) <= segment.fragment_ids:
                try:
                    return sum(int(len(part) - part.null_count) for part in opened.key_parts())
                except (CorruptFile, UnsupportedFeature):
                    continue
    return None


def _segments(candidates: Candidates, field: Field) -> list[tuple[IndexSegment, Opened]]:
    """Returns the usable index segments of a field."""
    snapshot = candidates.snapshot
    if not snapshot.use_indices or snapshot.manifest.index_section is None or snapshot.manifest.data_format == "0.1":
        return []
    opened = []
    try:
        indices = snapshot.open_indices
    except CorruptFile:
        return []
    for segments in indices.by_path.get((field.name,), {}).values():
        for segment in segments:
            try:
                indices.check(segment)
                opened.append((segment, indices.open(segment)))
            except (CorruptFile, UnsupportedFeature):
                continue
    return opened


def _in_dictionaries(candidates: Candidates, field: Field) -> int | None:
    """Returns the number of items of the largest page dictionary; None if a page has values without one."""
    most = None
    for fragment_index in candidates.fragment_indices.tolist():
        for column in candidates.open(fragment_index).columns_of(field):
            num_items = column.num_dictionary_items()
            if num_items is None or num_items > MOST_ITEMS:
                return None
            most = num_items if most is None else max(most, num_items)
    return most


def _num_bytes(candidates: Candidates, field: Field) -> int:
    return sum(
        column.page_bytes(page)
        for fragment_index in candidates.fragment_indices.tolist()
        for column in candidates.open(fragment_index).columns_of(field)
        for page in range(len(column.row_starts) - 1)
    )
