"""Learning statistics of whole columns ahead of the scans that will use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from lance_sql import row_ranges
from lance_sql.errors import InvalidArgument
from lance_sql.file.zone_statistics import ROWS_PER_ZONE, key_kind
from lance_sql.scan import read_ahead
from lance_sql.schema import Field, arrow_field
from lance_sql.table import learning
from lance_sql.table.open_fragment import OpenFragment, UnknownColumn
from lance_sql.table.snapshot import Snapshot

_ROWS_AT_A_TIME = 32 * ROWS_PER_ZONE

Progress = Callable[[int, int], None]
"""Told how many rows have been looked at, and of how many."""


def analyze(
    snapshot: Snapshot, names: Sequence[str] | None = None, progress: Progress | None = None
) -> dict[str, tuple[int, int]]:
    """Learns what is not known yet of columns of a version, deleted rows included.

    names: of top-level columns; without, those whose types have bounds
    progress: a column of a fragment after the other
    returns: for each column how many zones are known, and how many there are
    raises: ColumnNotFound; InvalidArgument for types without bounds, and where nothing is learned; CorruptFile
    """
    files = snapshot.open_fragments.files
    if files.learned is None:
        raise InvalidArgument(f"{snapshot.name} was opened with learn_statistics=False")
    fields = _analyzed(snapshot, names)
    fragments = [snapshot.open(fragment) for fragment in snapshot.manifest.fragments]
    work = [(fragment, field) for fragment in fragments for field in fields]
    total = sum(fragment.num_rows for fragment, _ in work)
    found = {field.name: [0, 0] for field in fields}
    done = 0
    counted = zip(work, read_ahead.ordered(work, partial(_learn), keeps_all=True), strict=True)
    for (fragment, field), num_known in counted:
        found[field.name][0] += num_known
        found[field.name][1] += -(-fragment.num_rows // ROWS_PER_ZONE)
        done += fragment.num_rows
        if progress is not None:
            progress(done, total)
    files.learned.save()
    return {name: (known, zones) for name, (known, zones) in found.items()}


def chosen_fields(snapshot: Snapshot, names: Sequence[str] | None) -> list[Field]:
    """Top-level fields by their names, all of them without.

    raises: ColumnNotFound; InvalidArgument for a member of one
    """
    schema = snapshot.manifest.schema
    if names is None:
        return list(schema.fields)
    chosen = []
    for name in dict.fromkeys(names):
        *above, field = schema.resolve(name, table=f"{snapshot.name} version {snapshot.manifest.version}")
        if above:
            raise InvalidArgument(f"Statistics are those of columns at the top level, and {name!r} is inside of one")
        chosen.append(field)
    return chosen


def _analyzed(snapshot: Snapshot, names: Sequence[str] | None) -> list[Field]:
    fields = chosen_fields(snapshot, names)
    if names is None:
        return [field for field in fields if _has_bounds(field)]
    for field in fields:
        if not _has_bounds(field):
            raise InvalidArgument(
                f"Nothing is learned of {field.name!r}: it is {arrow_field(field).type}, and statistics are those of"
                " numbers, times, text and binary"
            )
    return fields


def _has_bounds(field: Field) -> bool:
    return not field.children and key_kind(arrow_field(field).type) is not None


def _learn(work: tuple[OpenFragment, Field]) -> int:
    """The number of zones that are known of a field of a fragment, after all of it was looked at."""
    fragment, field = work
    for part in _parts(fragment.num_rows):
        column = learning.unknown_column(fragment, field)
        if column is None:
            break
        learning.learn(fragment, [field], part)
        if not _is_known(column, part):
            learning.learn_values(fragment, field, part, fragment.read([field], part)[0])
    known = learning.find(fragment.files, fragment.fragment, field)
    return known.num_known if known is not None else 0


def _parts(num_rows: int) -> Iterator[row_ranges.RowRanges]:
    for start in range(0, num_rows, _ROWS_AT_A_TIME):
        yield row_ranges.single(start, min(start + _ROWS_AT_A_TIME, num_rows))


def _is_known(column: UnknownColumn, part: row_ranges.RowRanges) -> bool:
    """Whether all zones of some rows are."""
    ((start, end),) = part.tolist()
    zones = column.bounds.numbers()[start // ROWS_PER_ZONE : -(-end // ROWS_PER_ZONE)]
    return bool((zones[:, 1] - zones[:, 0]).sum() >= end - start)
