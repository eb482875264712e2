"""Learning statistics of whole columns ahead of later scans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from lance_sql.errors import InvalidArgument
from lance_sql.format.file.leaves import is_leaf
from lance_sql.format.file.zone_statistics import ROWS_PER_ZONE, key_kind
from lance_sql.format.schema import Field, arrow_field
from lance_sql.reads.scan import read_ahead
from lance_sql.reads.scan.members import stored_member
from lance_sql.reads.scan.projection import restrict
from lance_sql.table import learning
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.table.open_fragment import OpenFragment, UnknownColumn
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges

_ROWS_AT_A_TIME = 32 * ROWS_PER_ZONE

Progress = Callable[[int, int], None]
"""Receives the number of rows done, and their total."""


def analyze(
    snapshot: Snapshot, names: Sequence[str] | None = None, progress: Progress | None = None
) -> dict[str, tuple[int, int]]:
    """Learns missing statistics of columns of a version, including deleted rows.

    names: of columns and members of structs; without them, all whose types have bounds
    progress: receives the progress over the columns of all fragments
    returns: for each column the number of learned zones, and the number of all zones
    raises: ColumnNotFound; InvalidArgument for types without bounds, and if learning is disabled; CorruptFile;
        OSError if the statistics cannot be saved in the folder
    """
    files = snapshot.open_fragments.files
    if files.learned is None:
        raise InvalidArgument(f"{snapshot.name} was opened with learn_statistics=False: open it without")
    columns = _columns_of(snapshot, names)
    fragments = [snapshot.open(fragment) for fragment in snapshot.manifest.fragments]
    work = [(fragment, name) for fragment in fragments for name in columns]
    total = sum(fragment.num_rows for fragment, _ in work)
    zone_counts = {name: [0, 0] for name in columns}
    done = 0
    counted = zip(work, read_ahead.ordered(work, partial(_learn, columns), keeps_all=True), strict=True)
    for (fragment, name), num_known in counted:
        zone_counts[name][0] += num_known
        zone_counts[name][1] += -(-fragment.num_rows // ROWS_PER_ZONE)
        done += fragment.num_rows
        if progress is not None:
            progress(done, total)
    files.learned.save_or_fail()
    return {name: (known, zones) for name, (known, zones) in zone_counts.items()}


def _columns_of(snapshot: Snapshot, names: Sequence[str] | None) -> dict[str, Field]:
    """Returns the columns and members of structs whose statistics can be learned: by name, the column cut down to
    that."""
    schema = snapshot.manifest.schema
    if names is None:
        paths = [path for field in schema.fields for path in _paths(field)]
    else:
        table = f"{snapshot.name} version {snapshot.manifest.version}"
        paths = [schema.resolve(name, table=table) for name in dict.fromkeys(names)]
    columns = {}
    for top, *below in paths:
        inside = tuple(field.name for field in below)
        name = ".".join((top.name, *inside))
        column = restrict(top, [inside])
        leaf = stored_member(column, inside)
        if leaf is not None and key_kind(arrow_field(leaf).type) is not None:
            columns[name] = column
        elif names is not None:
            raise InvalidArgument(
                f"Column {name!r} is {arrow_field([top, *below][-1]).type}, which has no statistics: pass columns of"
                " numbers, times, text or binary, or members of structs"
            )
    return columns


def _paths(field: Field) -> Iterator[tuple[Field, ...]]:
    """Yields the paths of fields, through structs, to each value with its own column."""
    if is_leaf(field):
        yield (field,)
    elif field.logical_type == "struct":
        for child in field.children:
            yield from ((field, *path) for path in _paths(child))


def _learn(columns: Mapping[str, Field], work: tuple[OpenFragment, str]) -> int:
    """Learns all zones of a column of a fragment, and returns the number of learned zones."""
    fragment, field = work[0], columns[work[1]]
    for part in _parts(fragment.num_rows):
        column = learning.unknown_column(fragment, field)
        if column is None:
            break
        learning.learn(fragment, [field], part)
        if not _is_known(column, part):
            learning.learn_values(fragment, field, part, fragment.read(FieldsToRead([field]), part)[0])
    known = learning.find(fragment.files, fragment.fragment, field)
    return known.num_known if known is not None else 0


def _parts(num_rows: int) -> Iterator[row_ranges.RowRanges]:
    for start in range(0, num_rows, _ROWS_AT_A_TIME):
        yield row_ranges.single(start, min(start + _ROWS_AT_A_TIME, num_rows))


def _is_known(column: UnknownColumn, part: row_ranges.RowRanges) -> bool:
    """Whether all zones of some rows are learned."""
    ((start, end),) = part.tolist()
    zones = column.bounds.numbers()[start // ROWS_PER_ZONE : -(-end // ROWS_PER_ZONE)]
    return bool((zones[:, 1] - zones[:, 0]).sum() >= end - start)
