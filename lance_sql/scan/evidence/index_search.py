"""What an opened index segment knows of a filter on its column, one function for each kind.

    filter on one column --> zones, pages, keys that may match --> rows

All answers are at-most: a row that is not in them does not pass.

Source: indices; search of each kind.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.index_files import row_sets
from lance_sql.index_files.bitmap import Bitmaps
from lance_sql.index_files.btree import BTree
from lance_sql.index_files.zone_map import ZoneMap
from lance_sql.scan.evidence.covered import Covered
from lance_sql.scan.evidence.known_rows import KnownRows
from lance_sql.scan.predicates import ColumnRef, IsNull, Path, Predicate, evaluate, may_match

MIN_ROWS: Final = 1 << 16
SHARE_OF_ENTRIES: Final = 16
SHARE_OF_ROWS: Final = 8
"""An index of rows is given up where more than a 16th of its entries would have to be read, or more than an 8th of the
rows match: reading the column costs less then. Up to 65,536 rows are always looked up."""


def in_zone_map(zone_map: ZoneMap, covered: Covered, path: Path, predicate: Predicate) -> KnownRows | None:
    """See the module.

    raises: CorruptFile
    """
    zones = zone_map.zones
    if zones.null_rows is None:
        covered = covered.without(covered.not_tiled(zones))
    elif predicate == IsNull(ColumnRef(path)):
        return covered.rows(zones.null_rows, are_ids=False)
    kept = may_match(predicate, {path: zone_map.statistics}, len(zones))
    # Rows between zones were deleted before the zones were made: they may stay.
    ruled_out = KnownRows.but_for(covered.places, covered.zones_as_rows(zones, ~kept))
    if kept.any():
        some = KnownRows(covered.places, covered.zones_as_rows(zones, kept))
        return KnownRows(covered.places, _union(ruled_out, some))
    return ruled_out


def in_btree(tree: BTree, covered: Covered, path: Path, predicate: Predicate, *, are_ids: bool) -> KnownRows | None:
    """See the module; None where reading the column costs less.

    raises: CorruptFile
    """
    kept = np.flatnonzero(may_match(predicate, {path: tree.statistics}, len(tree.starts)))
    num_entries = int((tree.ends[kept] - tree.starts[kept]).sum())
    if num_entries > max(MIN_ROWS, tree.data.num_rows // SHARE_OF_ENTRIES):
        return None
    parts = [np.empty(0, np.uint64)]
    for values, ids in tree.read(kept):
        parts.append(ids[_passed(values, path, predicate)])
    found = np.concatenate(parts)
    return covered.row_ids(found) if are_ids else covered.addresses(found)


def in_bitmaps(
    bitmaps: Bitmaps, covered: Covered, path: Path, predicate: Predicate, *, are_ids: bool
) -> KnownRows | None:
    """See the module; None where more rows match than are worth it.

    raises: CorruptFile
    """
    first = 0
    found = [np.empty(0, np.int64)]
    for keys in bitmaps.key_parts():
        found.append(first + np.flatnonzero(_passed(keys, path, predicate)))
        first += len(keys)
    places = np.concatenate(found)
    limit = max(MIN_ROWS, covered.num_rows // SHARE_OF_ROWS)
    total = 0
    sets = []
    for each in bitmaps.sets(places, upper_halves=None if are_ids else covered.ids):
        total += len(each.numbers)
        if total > limit:
            return None
        sets.append(each)
    return covered.rows(row_sets.union(sets), are_ids=are_ids)


def _passed(values: pa.Array, path: Path, predicate: Predicate) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether the predicate is true for each value of its only column."""
    for name in reversed(path[1:]):
        values = pa.StructArray.from_arrays([values], [name])
    answers = evaluate(predicate, pa.RecordBatch.from_arrays([values], [path[0]]))
    return np.asarray(answers.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)


def _union(one: KnownRows, other: KnownRows) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return one.with_segment(other).rows
