"""Changes of rows, as every verb makes them: assembled, written to new data files, and committed.

    rewritten, inserted, deleted    some rows of a change: given columns, columns of the old rows, NULLs
    from_batches                    rows that an engine computed, each with the action for it
    write                           new data files, row ids that move to them, bitmaps of the removed rows
    commit                          what one process or several ones wrote, as one version

Source: messages Transaction.Update and Transaction.Delete; row lineage, duties of a writer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.assignment import assign
from lance_sql.format.casts.json_texts import as_returned
from lance_sql.format.casts.validation import Validation
from lance_sql.format.schema import Field, Schema
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.reads.scan.take import parts, take_at
from lance_sql.table import segments
from lance_sql.table.fragment import Fragment
from lance_sql.table.row_ids import RowIds
from lance_sql.table.segments import Segment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection
from lance_sql.values.arrays import I64, U64, BoolMask
from lance_sql.values.bitmaps import U64Set
from lance_sql.values.equal_values import same
from lance_sql.values.selection import matching
from lance_sql.writes.commit.committer import Expected
from lance_sql.writes.commit.operations import Delete, Update, UpdateConfig, UpdateMap
from lance_sql.writes.statements.fragments import FragmentWriter
from lance_sql.writes.statements.removed_rows import carrying, delete_rows
from lance_sql.writes.statements.session import RowCounts, WriteSession

CHANGE: Final = "__lance_change"
"""Column of a batch with the action for each row."""
WRITE: Final = "write"
DELETE: Final = "delete"

Clauses: TypeAlias = Mapping[Any, Mapping[str, str] | None]
"""By action: the column of the batch with the new values of each column that it sets; None if it deletes rows."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """Some rows of a change. Functions of this module make it.

    kind: rows are replaced by others, deleted, or stay because they have the new values; or they are new
    addresses: of rows of the table
    ids: of rows that are replaced, in the order of `values`
    values: all columns, in the table's types
    columns: names of the columns with new values
    """

    kind: Literal["replaced", "deleted", "equal", "new"]
    num_rows: int
    addresses: U64Set = field(default_factory=lambda: U64Set({}))
    ids: U64 | None = None
    values: pa.Table | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """Result of one writer. Picklable.

    carried: fragments with copies of rows, and their ids; new rows may follow the copies
    new: fragments with new rows
    addresses, counts: of the rows by kind of `RowChange`; counts include duplicates
    fields: ids of the fields with new values
    """

    carried: tuple[Fragment, ...]
    new: tuple[Fragment, ...]
    addresses: Mapping[str, U64Set]
    counts: Mapping[str, int]
    fields: frozenset[int]


def typed(schema: pa.Schema, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """Converts computed columns to the types of a table, as in SQL.

    raises: InvalidArgument for a value that does not fit its column, and for damaged arrays
    """
    arrays = [selection.whole(each) if isinstance(each, pa.ChunkedArray) else each for each in columns.values()]
    computed = pa.RecordBatch.from_arrays(arrays, names=list(columns))
    computed = Validation(computed.schema).check(computed)
    fields = [schema.field(name) for name in columns]
    arrays = [assign(each.name, array, each) for each, array in zip(fields, computed.columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def assembled(schema: pa.Schema, given: pa.Table, old: pa.Table | None, num_rows: int) -> pa.Table:
    """Returns rows of a table: given columns, then those of the old rows, then NULLs."""
    columns = []
    for each in schema:
        source = given if each.name in given.schema.names else old
        columns.append(pa.nulls(num_rows, each.type) if source is None else source.column(each.name))
    return pa.Table.from_arrays(columns, schema=schema)


def replaced(schema: pa.Schema, given: pa.Table, old: pa.Table | None, ids: U64, addresses: U64) -> RowChange:
    """Replaces rows.

    given: columns with new values, in the table's types
    old: the others, at least
    """
    values = assembled(schema, given, old, len(ids))
    return RowChange("replaced", len(ids), U64Set.of(addresses), ids, values, tuple(given.column_names))


def rewritten(
    snapshot: Snapshot,
    given: pa.Table,
    ids: U64,
    addresses: U64,
    *,
    numbers: I64 | None = None,
    compared: Sequence[str] = (),
) -> Iterator[RowChange]:
    """Replaces rows, whose other columns are read. Yields parts that fit in memory.

    given: columns with new values, in the table's types
    numbers: index in `given` of the new values of each row; 0, 1, .. without them
    compared: rows that have the new values in these columns stay; without columns all are replaced
    """
    schema = snapshot.manifest.schema.arrow
    others = resolve(snapshot, [name for name in schema.names if name not in given.schema.names])
    row_bytes = given.nbytes / max(given.num_rows, 1)
    numbers = np.arange(len(addresses)) if numbers is None else numbers
    read = [*others, *resolve(snapshot, compared)]
    for part in parts(snapshot, read, addresses, more_bytes=row_bytes, by_address=True):
        own_ids, places, at = ids[part], addresses[part], numbers[part]
        if compared:
            differ = rows_that_differ(snapshot, compared, places, given, at)
            if not differ.all():
                yield RowChange("equal", int((~differ).sum()), U64Set.of(places[~differ]))
                own_ids, places, at = own_ids[differ], places[differ], at[differ]
        if len(places):
            old = take_at(snapshot, others, places) if others else None
            yield replaced(schema, selection.take(given, pa.array(at)), old, own_ids, places)


def inserted(snapshot: Snapshot, given: pa.Table, num_rows: int) -> RowChange:
    """Inserts rows; columns that are not given are NULL.

    given: in the table's types
    """
    values = assembled(snapshot.manifest.schema.arrow, given, None, num_rows)
    return RowChange("new", num_rows, values=values, columns=tuple(given.column_names))


def deleted(addresses: U64 | U64Set) -> RowChange:
    rows = addresses if isinstance(addresses, U64Set) else U64Set.of(addresses)
    return RowChange("deleted", len(addresses), rows)


def from_batches(
    snapshot: Snapshot, batches: Iterable[pa.RecordBatch], clauses: Clauses | None = None, *, skips_equal: bool = False
) -> Iterator[RowChange]:
    """Reads changes that an engine computed.

    batches: `CHANGE`; `_rowid` and `_rowaddr` of the row, which are NULL for new rows; and columns for the clauses
    clauses: by default, `WRITE` sets all columns, which have their own names, and `DELETE` deletes
    skips_equal: rows that have the new values stay
    raises: InvalidArgument for values that do not fit the table
    """
    schema = snapshot.manifest.schema.arrow
    clauses = {WRITE: {name: name for name in schema.names}, DELETE: None} if clauses is None else clauses
    for batch in batches:
        for action in pc.unique(batch.column(CHANGE)).to_pylist():
            rows = matching(batch, pc.equal(batch.column(CHANGE), action))
            columns = clauses[action]
            if columns is None:
                yield deleted(system_column(rows, ROW_ADDRESS))
                continue
            is_new = pc.is_null(rows.column(ROW_ADDRESS))
            for mask, is_old in ((pc.invert(is_new), True), (is_new, False)):
                some = matching(rows, mask)
                if not some.num_rows:
                    continue
                given = typed(schema, {name: some.column(source) for name, source in columns.items()})
                if is_old:
                    ids, addresses = system_column(some, ROW_ID), system_column(some, ROW_ADDRESS)
                    compared = given.column_names if skips_equal else ()
                    yield from rewritten(snapshot, given, ids, addresses, compared=compared)
                else:
                    yield inserted(snapshot, given, some.num_rows)


def system_column(batch: pa.RecordBatch, name: str) -> U64:
    """
    raises: InvalidArgument for NULL
    """
    column = batch.column(name)
    if column.null_count:
        raise InvalidArgument(f"{name} is NULL in a row to replace or delete")
    # copied, because a view would keep the other columns in memory
    values: U64 = np.array(column.cast(pa.uint64()).to_numpy())
    return values


def write(
    snapshot: Snapshot, changes: Iterable[RowChange], writer: Callable[[], FragmentWriter], *, in_order: bool = False
) -> Written:
    """Writes the rows to new data files.

    writer: opens a writer of files
    in_order: new rows come last, and go to the files of the others
    raises: InvalidArgument for NULL in a column that does not allow it
    """
    writers: dict[str, FragmentWriter] = {}
    counts = dict.fromkeys(("replaced", "deleted", "equal", "new"), 0)
    addresses: dict[str, list[U64Set]] = {kind: [] for kind in counts}
    ids: list[Segment] = []
    columns: set[str] = set()
    for change in changes:
        counts[change.kind] += change.num_rows
        addresses[change.kind].append(change.addresses)
        columns.update(change.columns)
        if change.values is not None:
            kind = "replaced" if in_order else change.kind
            if kind not in writers:
                writers[kind] = writer()
            for batch in change.values.to_batches():
                writers[kind].write(batch)
        if change.ids is not None and len(change.ids):
            ids.append(segments.smallest(change.ids))
    fragments = {kind: each.finish() for kind, each in writers.items()}
    carried = carrying(snapshot, fragments.get("replaced", ()), RowIds(tuple(ids)))
    fields = Schema(tuple(each for each in snapshot.manifest.schema.fields if each.name in columns)).by_id
    sets = {kind: U64Set.union(each) for kind, each in addresses.items()}
    return Written(carried, fragments.get("new", ()), sets, counts, frozenset(fields))


def commit(
    session: WriteSession,
    written: Sequence[Written],
    *,
    inserts_by_key: bool = False,
    counts_equal: bool = False,
    predicate: str = "",
    config: Mapping[str, Expected] | None = None,
) -> Snapshot:
    """Commits what writers wrote, and returns the new version; makes none if no row and no config entry changes.

    counts_equal: the summary has the number of rows that already had the new values
    predicate: of a deletion
    config: entries of the table's config, as for `WriteSession.commit`
    inserts_by_key, raises: as `WriteSession.commit`; InvalidArgument when a row is replaced or deleted twice
    """
    count = {kind: sum(part.counts[kind] for part in written) for kind in ("replaced", "deleted", "equal", "new")}
    removed = U64Set.union(part.addresses[kind] for part in written for kind in ("replaced", "deleted"))
    touched = U64Set.union([removed, *(part.addresses["equal"] for part in written)])
    if len(touched) < count["replaced"] + count["deleted"] + count["equal"]:
        raise InvalidArgument("Two rows of the source match one row of the table")
    num_equal = count["equal"] if counts_equal else None
    counts = RowCounts(count["new"], count["replaced"], count["deleted"], equal=num_equal)
    fragments = (*(each for part in written for each in part.carried), *(each for part in written for each in part.new))
    tombstones = delete_rows(session.snapshot, removed)
    operation: Update | Delete | UpdateConfig
    if fragments:
        fields = frozenset[int]().union(*(part.fields for part in written))
        operation = Update(
            removed_fragment_ids=tombstones.removed,
            updated_fragments=tombstones.updated,
            new_fragments=fragments,
            fields_for_preserving_frag_bitmap=tuple(sorted(fields)),
        )
    elif tombstones.affected:
        operation = Delete(tombstones.updated, tombstones.removed, predicate)
    elif config and any(each.value != each.before for each in config.values()):
        operation = UpdateConfig(UpdateMap({key: each.value for key, each in config.items()}))
    else:
        return session.unchanged(counts) if counts_equal else session.snapshot
    return session.commit(
        operation,
        counts,
        affected_rows=tombstones.affected,
        inserts_by_key=inserts_by_key and count["new"] > 0,
        written=fragments,
        config=config,
    )


def rows_that_differ(
    snapshot: Snapshot, names: Sequence[str], addresses: U64, rows: pa.Table, numbers: I64
) -> BoolMask:
    """Returns for each row of a version whether a new row has another value in some columns: bool[addresses].

    Reads one column after the other, only for rows that are equal so far.

    names: of top-level columns, which `rows` have in the table's types
    addresses: of existing rows, as many as fit in memory
    numbers: index in `rows` of the new row of each; JSON is compared as JSON
    raises: CorruptFile, UnsupportedFeature
    """
    fields = snapshot.manifest.schema.by_name
    differ = np.zeros(len(addresses), np.bool_)
    if any(_has_blobs(fields[name]) for name in names):
        # their bytes are only read on demand
        return ~differ
    columns = resolve(snapshot, names)
    # columns that decode fastest come first, and distinguish most rows
    order = sorted(range(len(names)), key=lambda i: (not pa.types.is_primitive(columns[i].arrow.type), i))
    left = np.arange(len(addresses))
    for i in order:
        if len(left) == 0:
            break
        old = take_at(snapshot, [columns[i]], addresses[left]).column(0)
        new = selection.take(rows.select([names[i]]), pa.array(numbers[left])).column(0)
        new = as_returned(fields[names[i]], new)
        is_same = (
            same(selection.whole(old), selection.whole(new)) if old.type == new.type else np.zeros(len(left), np.bool_)
        )
        differ[left[~is_same]] = True
        left = left[is_same]
    return differ


def _has_blobs(field: Field) -> bool:
    return field.is_blob_v1 or field.is_blob_v2 or any(map(_has_blobs, field.children))
