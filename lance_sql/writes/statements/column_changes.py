"""Schema evolution: adding, dropping, renaming and casting columns.

New and changed columns are written to separate data files beside the existing ones: no other column is rewritten. A
cast column gets a new field id. A dropped or renamed column stays unchanged in the files.

Source: messages Transaction.Merge and Transaction.Project; row lineage, what each operation does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import CommitConflict, InvalidArgument, UnsupportedFeature
from lance_sql.format.casts.assignment import assign
from lance_sql.format.casts.conversion import between
from lance_sql.format.schema import Field, Schema, arrow_field, primary_key
from lance_sql.format.schema.field import EXTENSION_NAME
from lance_sql.format.schema.from_arrow import (
    BLOB_KEY,
    EXTENSION_METADATA,
    check_names,
    check_top_names,
    extend,
)
from lance_sql.format.schema.projection import split_path
from lance_sql.reads import write_ahead_log
from lance_sql.reads.scan.filters import to_predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.scanning import read_fragments
from lance_sql.runtime.progress import Work
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.coalesce import gathered
from lance_sql.values.names import check as check_name
from lance_sql.values.row_ranges import RowRanges
from lance_sql.values.sql_text import identifier
from lance_sql.writes.commit.operations import Merge, Project
from lance_sql.writes.statements import column_files, expressions
from lance_sql.writes.statements.looked_up import LookedUp
from lance_sql.writes.statements.session import RowCounts, WriteSession, file_version, on_latest

_MAX_FIELD_ID: Final = 2**31 - 1
# More ids than new columns, with their children, ever need.
_SPARE_FIELD_IDS: Final = 2**20

_MIN_ROWS: Final = 512 * 1024
"""Minimum number of rows whose values are computed together, across fragments."""


def add(
    snapshot: Snapshot,
    columns: Mapping[str, Any] | pa.Schema | Sequence[pa.Field],
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    """Adds columns to the newest version, after the existing ones.

    columns: values by name, see `expressions.compile`, which make every row an updated one; or Arrow fields, whose
        columns are NULL everywhere, without updating rows
    raises: InvalidArgument for no column, and for existing names; errors of computing the values; CommitConflict
    """
    if isinstance(columns, Mapping):
        if not columns:
            raise InvalidArgument("No column to add: pass at least one")
        return on_latest(snapshot, "add_columns", lambda session: _add_values(session, columns), properties)
    fields = list(columns) if isinstance(columns, Iterable) else [columns]
    if not fields:
        raise InvalidArgument("No column to add: pass at least one")
    for field in fields:
        if not isinstance(field, pa.Field):
            raise InvalidArgument(f"A new column must be an Arrow field, or a name with a value, not {field!r}")
        if not field.nullable:
            raise InvalidArgument(f"The new column {field.name!r} would be NULL everywhere: it must be nullable")
    return on_latest(snapshot, "add_columns", lambda session: _add_nulls(session, fields), properties)


def add_looked_up(snapshot: Snapshot, rows: pa.Table, properties: Mapping[str, str] | None = None) -> Snapshot:
    """Adds the columns of `rows` to this version, if it is the newest, with the values of its rows by `_rowaddr`. Other
    rows have NULL.

    raises: as `add`; InvalidArgument for addresses that no row has; CommitConflict for a later version, whose rows may
        have other addresses
    """

    def change(session: WriteSession) -> Snapshot:
        if session.snapshot.version != snapshot.version:
            raise CommitConflict(
                f"{snapshot.name} has got version {session.snapshot.version} since its rows were read: run it again"
            )
        values = LookedUp(rows)
        return _add_computed(session, values, values.check_all_found)

    return on_latest(snapshot, "add_columns", change, properties, max_attempts=1)


def drop(snapshot: Snapshot, names: Sequence[str], properties: Mapping[str, str] | None = None) -> Snapshot:
    """Drops columns of the newest version; `a.b` is a member of a struct. Data files do not change.

    raises: ColumnNotFound; InvalidArgument for no column, and if no column or no member of a struct would be left
    """
    if not names:
        raise InvalidArgument("No column to drop: pass at least one")

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        schema = latest.manifest.schema
        dropped_ids = {schema.resolve(name, table=latest.label)[-1].id for name in names}
        fields = tuple(
            field for field in (_without(field, dropped_ids) for field in schema.fields) if field is not None
        )
        if not fields:
            raise InvalidArgument(f"{latest.name} would have no column left: keep at least one")
        return session.commit(Project(Schema(fields, schema.metadata), preserves_nullability=True), RowCounts())

    return on_latest(snapshot, "drop_columns", change, properties)


def rename(snapshot: Snapshot, names: Mapping[str, str], properties: Mapping[str, str] | None = None) -> Snapshot:
    """Renames columns of the newest version; `a.b` is a member of a struct, whose new name is given without the
    struct.

    raises: ColumnNotFound; InvalidArgument for no column, and for existing names
    """
    if not isinstance(names, Mapping) or not all(isinstance(new, str) for new in names.values()):
        raise InvalidArgument(f"New names must be a dict by the old names, as {{'a': 'b'}}, not {names!r}")
    if not names:
        raise InvalidArgument("No column to rename: pass at least one")

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        schema = latest.manifest.schema
        new_names = {schema.resolve(old, table=latest.label)[-1].id: new for old, new in names.items()}
        fields = tuple(
            _mapped(field, lambda each: each._replace(name=new_names.get(each.id, each.name)))
            for field in schema.fields
        )
        _check_renamed(fields)
        return session.commit(Project(Schema(fields, schema.metadata), preserves_nullability=True), RowCounts())

    return on_latest(snapshot, "rename_columns", change, properties)


def alter(
    snapshot: Snapshot,
    name: str,
    *,
    type: pa.DataType | None = None,
    nullable: bool | None = None,
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    """Changes the type of a top-level column of the newest version, which updates every row, or the nullability of
    a column.

    raises: ColumnNotFound; InvalidArgument for values that do not fit the new type, and for NULLs in a column that
        becomes not nullable
    """
    if type is None and nullable is None:
        raise InvalidArgument(f"Pass a change for column {name!r}: type or nullable")

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        path = latest.manifest.schema.resolve(name, table=latest.label)
        if nullable is False:
            _check_no_nulls(latest, name)
        if type is None:
            return _set_nullable(session, path[-1], nullable=bool(nullable))
        if len(path) > 1:
            raise InvalidArgument(
                f"{name!r} is a member of a struct, whose type cannot change: pass a top-level column"
            )
        return _cast(session, path[0], type, nullable)

    return on_latest(snapshot, "alter_column", change, properties)


def _check_new(snapshot: Snapshot, names: Iterable[str]) -> None:
    for name in names:
        check_name(name or "unnamed", "column")
        if name in snapshot.manifest.schema.names:
            raise InvalidArgument(f"{snapshot.label} has a column {name!r} already")


def _check_renamed(fields: Sequence[Field]) -> None:
    check_top_names(fields)
    check_names(fields)
    for field in Schema(tuple(fields)).by_id.values():
        check_names(field.children, (field.name,))


def _add_nulls(session: WriteSession, fields: Sequence[pa.Field]) -> Snapshot:
    snapshot = session.snapshot
    version = snapshot.manifest.data_format
    _check_new(snapshot, [field.name for field in fields])
    schema = extend(snapshot.manifest.schema, fields, next_field_id(snapshot), file_version=version)
    primary_key.check(schema)
    operation = Merge(tuple(snapshot.manifest.fragments), schema, preserves_nullability=True)
    return session.commit(operation, RowCounts())


def _add_values(session: WriteSession, values: Mapping[str, Any]) -> Snapshot:
    _check_new(session.snapshot, values)
    return _add_computed(session, expressions.compile(values, session.snapshot.manifest.schema.arrow))


def _add_computed(
    session: WriteSession, compute: expressions.Expressions, check: Callable[[], None] | None = None
) -> Snapshot:
    """
    check: of `_with_columns`
    """
    snapshot = session.snapshot
    schema, version = snapshot.manifest.schema, file_version(snapshot)
    _check_new(snapshot, compute.types)
    _check_no_log(snapshot, "would be NULL in rows of its write-ahead log. Add a column of NULLs, and update it")
    fields = [pa.field(name, type) for name, type in compute.types.items()]
    target = extend(schema, fields, next_field_id(snapshot), file_version=version)
    new = Schema(target.fields[len(schema.fields) :])

    def computed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in gathered(batches, min_rows=_MIN_ROWS):
            results = compute(part)
            arrays = [assign(field.name, results[field.name], field) for field in new.arrow]
            yield pa.RecordBatch.from_arrays(arrays, schema=new.arrow)

    return _with_columns(session, compute.columns, computed, new, target, check=check)


def _cast(session: WriteSession, field: Field, type: pa.DataType, nullable: bool | None) -> Snapshot:
    snapshot = session.snapshot
    schema, version = snapshot.manifest.schema, file_version(snapshot)
    _check_no_log(snapshot, "would not be found in rows of its write-ahead log. Add one of that type")
    old = arrow_field(field)
    metadata = _metadata_of_type(old, type)
    wanted = pa.field(field.name, type, field.nullable if nullable is None else nullable, metadata)
    new = extend(Schema(()), [wanted], next_field_id(snapshot), file_version=version)
    target = Schema(tuple(new.fields[0] if each.id == field.id else each for each in schema.fields), schema.metadata)
    primary_key.check(target)

    def computed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            try:
                values = between(batch.column(field.name), old, new.arrow.field(0))
                yield pa.RecordBatch.from_arrays([values], schema=new.arrow)
            except pa.ArrowException as error:
                raise InvalidArgument(f"Column {field.name!r} does not fit {type}: {error}") from error

    # concurrently added rows have values of the old field, and would be NULL in the new one
    return _with_columns(session, (field.name,), computed, new, target, preserves_nullability=False)


def _metadata_of_type(field: pa.Field, type: pa.DataType) -> dict[bytes, bytes]:
    """Returns the metadata of a column that gets another type: without an extension type, and a kind of blob, that
    belong to the old one."""
    metadata = dict(field.metadata or {})
    if type == field.type:
        return metadata
    of_type = {EXTENSION_NAME, EXTENSION_METADATA}
    if type not in (pa.binary(), pa.large_binary()):
        of_type.add(BLOB_KEY)
    return {key: value for key, value in metadata.items() if key.decode() not in of_type}


def _check_no_log(snapshot: Snapshot, why: str) -> None:
    """raises: UnsupportedFeature for a table with a write-ahead log"""
    if write_ahead_log.is_attached(snapshot):
        raise UnsupportedFeature(
            f"{snapshot.name}: a column with other values {why}, or compact and drop the log first"
        )


def _with_columns(
    session: WriteSession,
    columns: Sequence[str],
    compute: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    new: Schema,
    target: Schema,
    *,
    preserves_nullability: bool = True,
    check: Callable[[], None] | None = None,
) -> Snapshot:
    """Writes a data file with the `new` columns for each fragment, and commits the schema `target`.

    columns: to be read
    compute: computes the new columns from them
    check: called before the commit
    """
    snapshot = session.snapshot
    fragments = list(snapshot.manifest.fragments)
    live = {number: rows for number, each in enumerate(fragments) if len(rows := snapshot.open(each).live_rows())}

    def checked() -> Iterator[tuple[RowRanges, int]]:
        for number, rows in live.items():
            opened = snapshot.open(fragments[number])
            # values may be computed from no column at all
            opened.check_num_rows()
            yield rows, opened.num_rows

    num_rows = sum(map(row_ranges.count, live.values()))
    batches = Work(num_rows).over(read_fragments(snapshot, columns, [fragments[number] for number in live]))
    for number, file in zip(live, column_files.write(session, new, compute(batches), checked()), strict=True):
        fragments[number] = replace(fragments[number], files=(*fragments[number].files, file))
    if check is not None:
        check()
    return session.commit(Merge(tuple(fragments), target, preserves_nullability), RowCounts(updated=num_rows))


def _set_nullable(session: WriteSession, field: Field, *, nullable: bool) -> Snapshot:
    if not nullable and field.logical_type == "null":
        raise InvalidArgument(f"Column {field.name!r} is of type null: give it another type first")
    schema = session.snapshot.manifest.schema
    changed = tuple(
        _mapped(top, lambda each: each._replace(nullable=nullable) if each.id == field.id else each)
        for top in schema.fields
    )
    target = Schema(changed, schema.metadata)
    primary_key.check(target)
    # forbidding NULL conflicts with a concurrent commit that adds rows
    return session.commit(Project(target, preserves_nullability=nullable), RowCounts())


def _check_no_nulls(snapshot: Snapshot, name: str) -> None:
    scan = Scan(snapshot, resolve(snapshot, []), to_predicate(snapshot, f"{_quoted(name)} IS NULL"), None, None)
    count = scan.count_rows()
    if count:
        raise InvalidArgument(
            f"{count} rows of {snapshot.label} have NULL in column {name!r}: update or delete them first"
        )


def _quoted(path: str) -> str:
    return ".".join(map(identifier, split_path(path)))


def next_field_id(snapshot: Snapshot) -> int:
    """Returns an id above those in the schema and the data files.

    raises: UnsupportedFeature if almost none are left
    """
    ids = set(snapshot.manifest.schema.by_id)
    for fragment in snapshot.manifest.fragments:
        for file in fragment.files:
            ids.update(file.fields)
    highest = max(ids, default=-1)
    if highest > _MAX_FIELD_ID - _SPARE_FIELD_IDS:
        raise UnsupportedFeature(f"{snapshot.label}: new columns after the field id {highest} are not supported")
    return highest + 1


def _without(field: Field, dropped_ids: Collection[int]) -> Field | None:
    if field.id in dropped_ids:
        return None
    children = [child for child in (_without(child, dropped_ids) for child in field.children) if child is not None]
    if field.children and not children:
        raise InvalidArgument(f"Column {field.name!r} would have no member left: drop it as a whole")
    if len(children) < len(field.children) and field.logical_type != "struct":
        raise InvalidArgument(f"Column {field.name!r} is not a struct: only members of structs can be dropped")
    return field._replace(children=tuple(children))


def _mapped(field: Field, change: Callable[[Field], Field]) -> Field:
    return change(field._replace(children=tuple(_mapped(child, change) for child in field.children)))
