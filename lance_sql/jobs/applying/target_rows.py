"""Target table of changes: creates and widens it if needed, finds rows by key, and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.errors import ColumnNotFound, TableExists, TableNotFound
from lance_sql.format.casts.common_type import joinable
from lance_sql.format.casts.json_texts import as_returned
from lance_sql.format.casts.table import TableCast
from lance_sql.format.schema import Schema
from lance_sql.format.schema.primary_key import nullable
from lance_sql.jobs.writing import write
from lance_sql.opening import open as open_dataset
from lance_sql.reads.scan.key_matching import match
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.take import take
from lance_sql.store.access import Access
from lance_sql.table import address
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection
from lance_sql.values.arrays import I64, U64, BoolMask
from lance_sql.values.local_paths import place_text
from lance_sql.writes.statements.row_changes import RowChange, deleted, inserted, rewritten, typed


@contextmanager
def opened(
    target: object,
    schema: pa.Schema,
    access: Access,
    check: Callable[[Snapshot], object] | None,
) -> Iterator[Dataset]:
    """Opens the newest version of the target with at least these columns; creates the table if there is none. Removes
    added columns if the block fails.

    check: raises if changes cannot be applied to a version, before columns are added
    raises: InvalidArgument, CommitConflict
    """
    dataset = _found(target, schema, access)
    if check is not None:
        check(dataset.snapshot)
    existing = dataset.schema.names
    new = [nullable(field) for field in schema if field.name not in existing]
    if not new:
        yield dataset
        return
    # adding columns, and dropping them again, makes versions
    _cast_of(pa.schema([field for field in schema if field.name in existing]), dataset.snapshot)
    widened = dataset.add_columns(new)
    try:
        yield widened
    except BaseException:
        if widened.latest().version == widened.version:
            widened.drop_columns([field.name for field in new])
        raise


def newest(target: object, access: Access) -> Dataset | None:
    """Opens the newest version of the target; None if there is no table.

    raises: InvalidArgument for another version
    """
    if isinstance(target, Dataset):
        return target.latest()
    with suppress(TableNotFound):
        return open_dataset(_uri(target, access), **access.keywords())
    return None


def _found(target: object, schema: pa.Schema, access: Access) -> Dataset:
    if (dataset := newest(target, access)) is not None:
        return dataset
    uri = _uri(target, access)
    with suppress(TableExists):
        return write(selection.empty(schema), uri, **access.keywords())
    # another process has created it meanwhile
    return open_dataset(uri, **access.keywords())


def _uri(target: object, access: Access) -> str:
    return address.of_newest(place_text(target), access)


def check_names(dataset: Dataset, names: Sequence[str]) -> None:
    """Checks that the target has columns.

    raises: ColumnNotFound
    """
    for name in names:
        if name not in dataset.schema.names:
            raise ColumnNotFound(f"No column {name!r} in {dataset.snapshot.label}")


def in_types_of(rows: pa.Table, snapshot: Snapshot) -> pa.Table:
    """Casts rows to the types of the target's columns, in a form that Arrow joins. JSON becomes the text that the
    target returns.

    raises: InvalidArgument for values that do not fit
    """
    cast = _cast_of(rows.schema, snapshot)
    batches = [cast(batch) for batch in rows.to_batches()]
    table = joinable(pa.Table.from_batches(batches, cast.schema.arrow).select(rows.schema.names))
    fields = snapshot.manifest.schema.by_name
    columns = [as_returned(fields[name], table.column(name)) for name in table.column_names]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _cast_of(source: pa.Schema, snapshot: Snapshot) -> TableCast:
    """
    raises: InvalidArgument for columns of types that do not fit
    """
    schema = snapshot.manifest.schema
    # rows of deletions may have NULL everywhere
    relaxed = Schema(tuple(field._replace(nullable=True) for field in schema.fields), schema.metadata)
    return TableCast(source, relaxed, snapshot.name)


@dataclass(frozen=True)
class TargetRows:
    """Rows of the target that have one of some keys.

    rows: columns of theirs, in a form that Arrow joins
    ids, addresses: of the rows
    keys: the number of the key of each
    """

    rows: pa.Table
    ids: U64
    addresses: U64
    keys: I64


def rows_of(snapshot: Snapshot, keys: pa.Table, names: Sequence[str]) -> TargetRows:
    """Reads columns of the rows that have one of the keys; `keys` contains each key once.

    raises: InvalidArgument for keys of types that may not be keys
    """
    matches = match(snapshot, keys, keys.schema.names, one_each=False, nulls_are_equal=True)
    columns = resolve(snapshot, names)
    return TargetRows(joinable(take(snapshot, columns, matches.ids)), matches.ids, matches.addresses, matches.source)


def changes(
    snapshot: Snapshot, written: pa.Table, replaced: TargetRows, at: I64, is_gone: BoolMask
) -> Iterator[RowChange]:
    """Yields the rows to write and to delete, for a `ChangeJob`.

    written: rows with columns of the target
    at: for each of them the position in `replaced` of the row that it replaces; -1 for a new row
    is_gone: mask of the rows in `replaced` to delete
    """
    given = typed(snapshot.manifest.schema.arrow, dict(zip(written.column_names, written.columns, strict=True)))
    is_old = at >= 0
    if is_old.any():
        old = at[is_old]
        some = selection.filter(given, pa.array(is_old))
        yield from rewritten(snapshot, some, replaced.ids[old], replaced.addresses[old])
    if not is_old.all():
        some = selection.filter(given, pa.array(~is_old))
        yield inserted(snapshot, some, some.num_rows)
    yield deleted(replaced.addresses[is_gone])
