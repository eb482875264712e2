"""Fragments of new rows whose metadata alone shows that they are correct, so no row needs a check.

Most appended fragments are like that, and large tables mostly consist of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from lance_sql.errors import TABLE_ERRORS
from lance_sql.health.lineage_audit.audited_rows import wrong_length
from lance_sql.table.fragment import Fragment
from lance_sql.table.segments import IdRange
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.operations import Append, Operation, Overwrite


def others(
    later: Snapshot, before: Sequence[Fragment], after: Sequence[Fragment], operation: Operation | None, handed_out: int
) -> tuple[Fragment, ...]:
    """Returns the fragments whose rows must be checked: all if the commit did not only insert.

    before, after: fragments that differ between the version before and this one
    handed_out: upper bound, exclusive, of all row ids ever assigned
    """
    if before or not isinstance(operation, Append | Overwrite):
        return tuple(after)
    left, next_id = [], handed_out
    for fragment in after:
        ids = _plain_ids(later, fragment)
        if ids is None or not next_id <= ids.start < ids.end <= later.manifest.next_row_id:
            left.append(fragment)
        else:
            next_id = ids.end
    # a fragment that is not plain may have ids of plain ones
    return tuple(after) if left else ()


def _plain_ids(later: Snapshot, fragment: Fragment) -> IdRange | None:
    """Returns the ids of the rows if they are one range and all rows are of this version; else None."""
    try:
        opened = later.open(fragment)
        ids = opened.row_id_sequence.segments
        bounds = {opened.created_at_sequence.bounds(), opened.last_updated_at_sequence.bounds()}
        if len(ids) != 1 or ids[0].num_values != opened.num_rows or wrong_length(fragment, opened.num_rows):
            return None
    except TABLE_ERRORS:
        return None
    first = ids[0]
    return first if isinstance(first, IdRange) and bounds == {(later.version, later.version)} else None
