"""Tables in the types of DuckDB."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.reads.scan.predicates import joined
from lance_sql.reads.scan.scan import Scan
from lance_sql.values import kinds
from lance_sql.values.names import alike

from ..arrow import EngineDataset, Relation
from .macros import NO_COLUMN
from .protocol import has_sources

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from duckdb import DuckDBPyConnection

    from lance_sql.dataset import Dataset
    from lance_sql.reads.scan.predicates import Predicate

_MAX_DIGITS = 38
_EXTENSION = b"ARROW:extension:name"
_PARAMETERS = b"ARROW:extension:metadata"


class RelationTable(EngineDataset):
    """Rows that DuckDB can bind, with columns of any type.

    with_no_column: `NO_COLUMN` is the first column, which costs nothing. Callers that expose the columns leave it out
    raises: UnsupportedFeature, naming the column, for a type that DuckDB has no counterpart for, and for a column that
        has the name of `NO_COLUMN`; a scan as `check_distinct`
    """

    def __init__(self, rows: Relation, *, with_system_columns: bool = False, with_no_column: bool = False) -> None:
        super().__init__(rows, widen, with_system_columns=with_system_columns, compact=True)
        self._with_no_column = with_no_column
        if with_no_column:
            if NO_COLUMN in map(str.casefold, self._schema.names):
                raise UnsupportedFeature(f"DuckDB cannot read a table with a column {NO_COLUMN!r} by its path")
            self._schema = self._schema.insert(0, pa.field(NO_COLUMN, pa.null()))

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | Predicate | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
    ) -> Any:
        """Returns a scan as `EngineDataset.scan`."""
        names = self._names(columns)
        stored = [name for name in names if name != NO_COLUMN] if self._with_no_column else names
        scan: Any = super().scan(stored, filter, limit=limit, batch_size=batch_size)
        tested = getattr(scan, "predicate", None)
        check_distinct(stored if tested is None else [*stored, *(path[0] for path in tested.columns)], self._schema)
        return scan if len(stored) == len(names) else scan.with_nulls(names.index(NO_COLUMN), NO_COLUMN)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(RelationTable, with_no_column=self._with_no_column), (self.dataset,)


class DuckDBTable(RelationTable):
    """One version of a table.

    where: filter as SQL text
    raises: as `Dataset.scan` for the filter
    """

    dataset: Dataset

    def __init__(
        self,
        dataset: Dataset,
        *,
        with_system_columns: bool = False,
        with_no_column: bool = False,
        where: str | None = None,
    ) -> None:
        super().__init__(dataset, with_system_columns=with_system_columns, with_no_column=with_no_column)
        self._where = where
        self._predicate_of_all = None if where is None else dataset.scan([], where).predicate

    def scan(self, *args: Any, **options: Any) -> Scan:
        """Returns a scan of the rows that pass the filter."""
        scan: Scan = super().scan(*args, **options)
        if self._predicate_of_all is None:
            return scan
        return replace(scan, predicate=joined(self._predicate_of_all, scan.predicate))

    def num_candidates(self) -> int:
        """Counts the live rows that remain after planning.

        raises: CorruptFile if the manifest lacks the count and the file with it is damaged
        """
        return self.dataset.count_rows() if self._predicate_of_all is None else self.scan([]).plan.num_candidates

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.dataset, self._with_system_columns, self._with_no_column, self._where)


def relation(connection: DuckDBPyConnection, dataset: Dataset, **options: Any) -> Any:
    """Returns a table in a form that queries of the connection read, with its own columns. Counting its rows reads no
    values.

    options: of `DuckDBTable`
    """
    # DuckDB 1.5 would keep the database open for as long as the process lives
    if not has_sources() or NO_COLUMN in map(str.casefold, dataset.schema.names):
        return table(dataset, **options)
    return connection.from_arrow(table(dataset, **options, with_no_column=True)).project(f"* EXCLUDE ({NO_COLUMN})")


def table(
    dataset: Dataset,
    *,
    with_system_columns: bool = False,
    with_no_column: bool = False,
    where: str | None = None,
) -> DuckDBTable:
    """Wraps a table in the best form that the installed DuckDB supports.

    raises: as `DuckDBTable`
    """
    options: dict[str, Any] = {"with_system_columns": with_system_columns, "with_no_column": with_no_column}
    return _table_class()(dataset, **options, where=where)


def check_distinct(columns: Iterable[str], schema: pa.Schema) -> None:
    """Makes sure that DuckDB, which ignores case, reads the columns that a query means.

    columns: to be read
    schema: all columns that the query may name
    raises: InvalidArgument for one of two columns whose names differ only in case, and for a struct with two such
        members
    """
    pairs = alike(schema.names)
    for name in columns:
        if name in pairs:
            raise InvalidArgument(
                f"The columns {pairs[name]!r} and {name!r} differ only in case, which DuckDB ignores: use"
                " engine='datafusion' or a verb of Dataset, or rename one"
            )
    for name in columns:
        members = _alike_members(schema.field(name).type)
        if members is not None:
            raise InvalidArgument(
                f"The column {name!r} has members {members[0]!r} and {members[1]!r}, which differ only in case, and"
                " DuckDB ignores that: use engine='datafusion' or a verb of Dataset, or rename one"
            )


def _alike_members(type: pa.DataType) -> tuple[str, str] | None:
    if not type.num_fields:
        return None
    fields = [type.field(index) for index in range(type.num_fields)]
    for name, other in alike(field.name for field in fields).items():
        return other, name
    return next(filter(None, (_alike_members(field.type) for field in fields)), None)


@functools.cache
def _has_instants_of_nanoseconds() -> bool:
    """Whether DuckDB has a type for timestamps of nanoseconds with a zone, as 2.0 does."""
    rows = pa.table({"at": pa.array([], pa.timestamp("ns", "UTC"))})
    with duckdb.connect() as connection:
        return "NS" in str(connection.from_arrow(rows).types[0]).upper()


@functools.cache
def _table_class() -> type[DuckDBTable]:
    if not has_sources():
        return DuckDBTable
    from .source import DuckDBSource

    return DuckDBSource


def _restore(dataset: Dataset, with_system_columns: bool, with_no_column: bool, where: str | None) -> DuckDBTable:
    return table(dataset, with_system_columns=with_system_columns, with_no_column=with_no_column, where=where)


def widen(field: pa.Field) -> pa.Field:
    """Returns the field in the type that DuckDB uses for its values, as `_wider`, and without an extension that DuckDB
    refuses."""
    plain = _with_planar_edges(field)
    type = _wider(field.type)
    return plain if type is field.type else plain.with_type(type)


def _with_planar_edges(field: pa.Field) -> pa.Field:
    """Returns the field without its GeoArrow extension if edges are not straight lines: DuckDB refuses tables with
    them."""
    metadata = field.metadata or {}
    if not metadata.get(_EXTENSION, b"").startswith(b"geoarrow."):
        return field
    try:
        parameters = json.loads(metadata.get(_PARAMETERS, b"") or b"{}")
    except ValueError:
        parameters = None
    if isinstance(parameters, dict) and parameters.get("edges") in (None, "planar"):
        return field
    return field.with_metadata({key: metadata[key] for key in metadata if key not in (_EXTENSION, _PARAMETERS)})


def _wider(type: pa.DataType) -> pa.DataType:
    """Returns the type that DuckDB uses for values of a type: itself, or one that represents them exactly.

    Decimals of more than 38 digits are passed with 38, durations of nanoseconds with microseconds, like INTERVAL, and
    dates in milliseconds as days. DuckDB 1.5 gets instants of nanoseconds with microseconds. A value that needs more
    precision fails the query.

    raises: UnsupportedFeature for decimals with more than 38 digits after the point
    """
    if pa.types.is_float16(type):
        return pa.float32()
    if pa.types.is_decimal256(type):
        if type.scale > _MAX_DIGITS:
            raise UnsupportedFeature(f"DuckDB has no type for {type}: it allows {_MAX_DIGITS} digits")
        return pa.decimal128(min(type.precision, _MAX_DIGITS), type.scale)
    if pa.types.is_duration(type) and type.unit == "ns":
        return pa.duration("us")
    if pa.types.is_date64(type):
        # DuckDB's own conversion wraps around
        return pa.date32()
    if pa.types.is_timestamp(type) and type.unit == "ns" and type.tz is not None and not _has_instants_of_nanoseconds():
        # DuckDB's own conversion cuts them
        return pa.timestamp("us", type.tz)
    # Comparing such a dictionary from a dataset fails in DuckDB 1.5, and invalidates its database.
    if pa.types.is_dictionary(type) and kinds.is_bytes(type.value_type):
        return type.value_type
    return type
