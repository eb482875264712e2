"""Checks that the files of a fragment and of a version agree about their rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, at
from lance_sql.format.schema import Field
from lance_sql.health.lineage_audit.audited_rows import wrong_length
from lance_sql.reads.scan.batches import rows_per_batch
from lance_sql.reads.scan.pieces import cut
from lance_sql.table.fragment import Fragment
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64


def decode(rows: OpenFragment, column: Field) -> None:
    """Reads every row of the column, and validates the result with Arrow."""
    for array in _arrays(rows, column):
        with at(column=column.name):
            array.validate(full=True)


def _arrays(rows: OpenFragment, column: Field) -> Iterator[pa.Array]:
    """Yields every row of the column, in parts."""
    row_bytes = sum(each.row_bytes for each in rows.columns_of(column))
    for part in cut(row_ranges.single(0, rows.num_rows), rows_per_batch(row_bytes)):
        (array,) = rows.read(FieldsToRead([column]), part)
        yield array


def claims_no_nulls(column: Field) -> bool:
    """Whether the schema declares a column as never NULL although early writers stored NULLs in such columns."""
    return column.may_be_null != column.nullable or any(map(claims_no_nulls, column.children))


def _count_nulls(column: Field, array: pa.Array) -> int:
    """Counts NULLs that contradict the schema."""
    if not column.children:
        return array.null_count if column.may_be_null != column.nullable else 0
    if column.is_list:
        return _count_nulls(column.children[0], array.flatten())
    parts = array.flatten() if pa.types.is_struct(array.type) else [array.flatten()]
    return sum(_count_nulls(child, part) for child, part in zip(column.children, parts, strict=True))


def check_fragment_ids(snapshot: Snapshot) -> None:
    repeated = snapshot.manifest.fragments.repeated_ids()
    if repeated:
        listed = ", ".join(map(str, repeated[:10])) + ", ..." * (len(repeated) > 10)
        raise CorruptFile(
            f"several fragments have one id ({listed}), as written by an early release; all of them are read, and the"
            " next commit assigns new ids"
        )


def check_rows(rows: OpenFragment, fragment: Fragment, *, has_stable_row_ids: bool) -> None:
    """Checks counts, deletions, row ids and row versions of a fragment."""
    live = row_ranges.count(rows.live_rows())
    deletions = fragment.deletion_file
    if deletions is not None and deletions.num_deleted_rows not in (0, rows.num_rows - live):
        with at(file=f"_deletions/{deletions.name(fragment.id)}"):
            raise CorruptFile(
                f"the file deletes {rows.num_rows - live} rows, the manifest records {deletions.num_deleted_rows}"
            )
    if has_stable_row_ids:
        _ = rows.row_id_sequence, rows.created_at_sequence, rows.last_updated_at_sequence
        if reason := wrong_length(fragment, rows.num_rows):
            with at(file=f"fragment {fragment.id}"):
                raise CorruptFile(reason)


def check_version(snapshot: Snapshot) -> None:
    """Checks rows across fragments: ids are unique and were assigned, versions are not in the future."""
    manifest = snapshot.manifest
    if not manifest.has_stable_row_ids:
        return
    firsts, lengths = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for fragment in manifest.fragments:
        rows = snapshot.open(fragment)
        for name, sequence in (("created", rows.created_at_sequence), ("updated", rows.last_updated_at_sequence)):
            bounds = sequence.bounds()
            if bounds is not None and bounds[1] > snapshot.version:
                raise CorruptFile(f"rows of fragment {fragment.id} were {name} by version {bounds[1]}")
        ids, counts = _id_runs(rows)
        firsts.append(ids)
        lengths.append(counts)
    first, length = np.concatenate(firsts), np.concatenate(lengths)
    order = np.argsort(first)
    first, last = first[order], first[order] + (length[order] - 1).astype(np.uint64)
    # the greatest id of all runs before
    before = np.maximum.accumulate(last[:-1])
    twice = np.flatnonzero(first[1:] <= before)
    if len(twice):
        num_twice = int((np.minimum(last[1:], before)[twice] - first[1:][twice] + np.uint64(1)).sum())
        raise CorruptFile(f"{num_twice} row ids belong to two live rows, the first is {first[1:][twice[0]]}")
    if len(last) and int(last[-1]) >= manifest.next_row_id:
        raise CorruptFile(f"the row id {last[-1]} is used, but {manifest.next_row_id} is recorded as the next new one")


def _id_runs(rows: OpenFragment) -> tuple[U64, I64]:
    """Returns the ids of the live rows as consecutive runs: the first id and the length of each."""
    live = rows.live_rows()
    starts, ids = rows.row_id_sequence.runs()
    # pieces that cross no border of a run or of a range of live rows
    edges = np.unique(np.concatenate((starts, live.ravel())))
    pieces, counts = edges[:-1], np.diff(edges)
    is_live = row_ranges.within(live, pieces)
    pieces, counts = pieces[is_live], counts[is_live]
    runs = np.searchsorted(starts, pieces, side="right") - 1
    return ids[runs] + (pieces - starts[runs]).astype(np.uint64), counts


def check_nulls(rows: OpenFragment, column: Field) -> None:
    """Checks for NULLs that contradict the schema; they are readable nevertheless."""
    count = sum(_count_nulls(column, array) for array in _arrays(rows, column)) if rows.num_rows else 0
    if count:
        with at(column=column.name):
            raise CorruptFile(
                f"{count} value{'s are' if count > 1 else ' is'} NULL in a column that may not be NULL, which is how an"
                " early release stored empty text; queries return NULL"
            )
