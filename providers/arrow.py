"""A table in the form for one engine: with system columns, in types that the engine supports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias
from weakref import WeakKeyDictionary

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.dataset import Dataset
from lance_sql.errors import UnsupportedFeature, at
from lance_sql.format.schema.primary_key import outside
from lance_sql.reads.arrow_dataset import AnyScan, ArrowDataset
from lance_sql.reads.scan import system_columns
from lance_sql.values import kinds
from lance_sql.values.nullability import with_nullable_members

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from lance_sql.changes.answers import AnswerChanges
    from lance_sql.changes.feed import ChangeFeed
    from lance_sql.reads.mem_wal import FreshRows
    from lance_sql.reads.scan.predicates import Predicate
    from lance_sql.reads.search import SearchRows

Relation: TypeAlias = "Dataset | ChangeFeed | FreshRows | SearchRows | AnswerChanges"
Widen: TypeAlias = Callable[[pa.Field], pa.Field]
"""Maps an innermost field of a table to the engine's: of the same name, with another type or metadata."""


class EngineDataset(ArrowDataset):
    """A table, or its changes, for an engine.

    with_system_columns: append the system columns to the table's own. No engine has hidden columns for Arrow datasets,
        so that queries can only name columns of the schema
    compact: keep strings with a dictionary as dictionaries, and decimals in 64 bits, if the table allows it
    widen: called for each column, and for each member of nested types
    """

    is_arrow_dataset: ClassVar = True
    """Whether the engine treats it as a dataset of Arrow."""

    def __init__(self, dataset: Relation, widen: Widen, *, with_system_columns: bool, compact: bool = False) -> None:
        super().__init__()
        if self.is_arrow_dataset:
            # engines recognize a dataset only after this module was imported, which takes a tenth of a second
            import_module("pyarrow.dataset")
        self.dataset = dataset
        self._widen = widen
        self._with_system_columns = with_system_columns
        columns = _columns_of(dataset, widen, with_system_columns=with_system_columns, compact=compact)
        self._compact = columns.compact
        self._schema = columns.schema
        # whether `cast` changes anything
        self.is_widened = columns.is_widened

    @property
    def schema(self) -> pa.Schema:
        """The columns in the engine's types."""
        return self._schema

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | Predicate | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
    ) -> AnyScan:
        """Scans the relation. All columns include the system columns."""
        scan = self.dataset.scan(self._names(columns), as_expression(filter), limit=limit, batch_size=batch_size)
        return scan.with_types(self._compact)

    def cast(self, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """Casts the batches to the engine's types. Each widening is exact or fails."""
        fields = [self._schema.field(name) for name in reader.schema.names]
        schema = pa.schema(fields, reader.schema.metadata)
        # DataFusion compares the metadata of fields with that of the table
        if reader.schema.equals(schema, check_metadata=True):
            return reader

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in reader:
                columns = [widened(column, field) for column, field in zip(batch.columns, fields, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        # a stream of Arrow would put the traceback into the message of an error
        return pa.RecordBatchReader.from_stream(_kernels.BatchStream(batches(), schema, most_ahead=1, eager=False))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.dataset, self._widen, self._with_system_columns, bool(self._compact))

    def __repr__(self) -> str:
        return f"EngineDataset({self.dataset!r})"


def as_expression(filter: Any) -> Any:
    """Converts a constant condition, which DataFusion passes as a value, to an expression; None for a true one."""
    if not isinstance(filter, pa.BooleanScalar):
        return filter
    import pyarrow.compute as pc

    return None if filter.as_py() else pc.scalar(False)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a relation in the form for an engine.

    compact: types that the relation returns instead of its own, by column name
    is_widened: whether some column is passed with a type or metadata that the relation does not return
    """

    schema: pa.Schema
    compact: Mapping[str, pa.DataType]
    is_widened: bool


# Every query gets a new handle. Keyed by snapshots, which equal only themselves: handles are equal if place, version
# and time are, as they can be for a table that was created again.
_columns_by_snapshot: WeakKeyDictionary[object, dict[tuple[Widen, bool, bool], _Columns]] = WeakKeyDictionary()


def _columns_of(relation: Relation, widen: Widen, *, with_system_columns: bool, compact: bool) -> _Columns:
    if not isinstance(relation, Dataset):
        return _make_columns(relation, widen, with_system_columns=with_system_columns, compact=compact)
    by_key = _columns_by_snapshot.setdefault(relation.snapshot, {})
    key = widen, with_system_columns, compact
    if key not in by_key:
        by_key[key] = _make_columns(relation, widen, with_system_columns=with_system_columns, compact=compact)
    return by_key[key]


def _make_columns(relation: Relation, widen: Widen, *, with_system_columns: bool, compact: bool) -> _Columns:
    types = relation.compact_types if compact else {}
    stored = relation.schema
    taken = {name.casefold() for name in stored.names}
    # a query may repeat rows
    fields = list(map(outside, stored))
    if with_system_columns:
        hidden = [name for name in relation.system_columns if name.casefold() not in taken]
        fields += [system_columns.field(name) for name in hidden]
    fields = [field.with_type(types.get(field.name, field.type)) for field in fields]
    schema = pa.schema([_widened(field, widen) for field in fields], stored.metadata)
    return _Columns(schema, types, not schema.equals(pa.schema(fields, stored.metadata), check_metadata=True))


def _restore(dataset: Relation, widen: Widen, with_system_columns: bool, compact: bool) -> EngineDataset:
    return EngineDataset(dataset, widen, with_system_columns=with_system_columns, compact=compact)


def _widened(field: pa.Field, widen: Widen) -> pa.Field:
    try:
        return widened_field(field, widen)
    except UnsupportedFeature as error:
        error.column = field.name
        raise


def widened(column: pa.Array | pa.ChunkedArray, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    """Casts a column to its field of `widened_field`.

    raises: UnsupportedFeature for a value that the type cannot hold
    """
    # Arrow's cast fails for a column that keeps its type, if a NULL has a member that is never NULL
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        with at(column=field.name):
            raise UnsupportedFeature(f"a value does not fit the engine's type {field.type}: {error}") from error


def widened_rows(rows: pa.Table, widen: Widen) -> pa.Table:
    """Casts rows to the types of an engine.

    raises: as `widened`
    """
    schema = pa.schema([_widened(field, widen) for field in rows.schema])
    if schema.equals(rows.schema.remove_metadata(), check_metadata=True):
        return rows
    columns = [widened(column, field) for column, field in zip(rows.columns, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def widened_field(field: pa.Field, widen: Widen) -> pa.Field:
    """Returns the field with every innermost field widened. Members of a struct that is widened may be NULL: Arrow
    casts none that are never NULL below a NULL."""
    type = field.type
    members = kinds.members(type)
    if not members:
        return widen(field)
    # No engine benefits from nested dictionaries, and DuckDB 1.5 fails on them.
    plain = [
        member.with_type(member.type.value_type) if pa.types.is_dictionary(member.type) else member
        for member in members
    ]
    wider = [widened_field(member, widen) for member in plain]
    if all(new.equals(old, check_metadata=True) for new, old in zip(wider, members, strict=True)):
        return field
    return widen(field).with_type(with_nullable_members(kinds.with_members(type, wider)))


def without_metadata(type: pa.DataType) -> pa.DataType:
    """Returns the type without the metadata of its members."""
    bare = [pa.field(member.name, without_metadata(member.type), member.nullable) for member in kinds.members(type)]
    return kinds.with_members(type, bare)
