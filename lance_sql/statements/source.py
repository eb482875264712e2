"""Rows from wherever users have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.schema.duckdb_types import check_types, is_relation


def to_reader(data: object, schema: pa.Schema | None = None, *, table: pa.Schema | None = None) -> pa.RecordBatchReader:
    """A stream of the rows that `data` has.

    data: anything with `__arrow_c_stream__` (pyarrow, a DuckDB relation, Polars, a `Dataset`), a pandas DataFrame,
        whose index becomes columns where it has names, a frame of Spark or a lazy frame of Polars, which are collected,
        a dict of columns, a list of dicts by column, whose missing values are NULL, or record batches, which need
        `schema` when there may be none
    table: whose types Python values of a dict take, where it has the column
    raises: InvalidArgument for anything else; UnsupportedFeature for types that DuckDB does not hand over as they are
    """
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if _is_pandas(data):
        return _of_pandas(data).to_reader()
    if _is_spark(data):
        # its own stream of Arrow data needs pandas, and a session that is idle
        return data.toArrow().to_reader()  # type: ignore[attr-defined]  # not imported here
    if type(data).__name__ == "LazyFrame" and type(data).__module__.partition(".")[0] == "polars":
        data = data.collect()  # type: ignore[attr-defined]  # not imported here
    if is_relation(data):
        check_types(data)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    if isinstance(data, Mapping):
        return _of_columns(data, schema or _types(data, table)).to_reader()
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], Mapping):
        return _of_records(data, schema, table).to_reader()
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        return _of_batches(iter(data), schema)
    raise InvalidArgument(
        f"No rows can be taken from {type(data).__name__!r}: give an Arrow table or stream, a DuckDB relation, a "
        "Polars or pandas frame, a dict of columns, a list of dicts, or record batches"
    )


def _is_pandas(data: object) -> bool:
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"


def _of_pandas(frame: Any) -> pa.Table:
    """The columns of a frame, and behind them those of its index that have names.

    raises: InvalidArgument for an index that would be lost: of other values than numbers of rows, and without a name
    """
    levels = list(frame.index.names)
    named = [name for name in levels if name is not None]
    if not named:
        if len(levels) > 1 or frame.index.dtype.kind not in "iu":
            raise InvalidArgument(
                "The frame's index has no name, and would be lost: name it with rename_axis to make a column of it, or "
                "drop it with reset_index(drop=True)"
            )
        return _from_pandas(frame, preserve_index=False)
    taken = [name for name in named if name in frame.columns]
    if len(named) < len(levels) or taken:
        wrong = f"the name {taken[0]!r}, as a column has" if taken else "levels without names"
        raise InvalidArgument(f"The frame's index has {wrong}: rename it with rename_axis")
    return _from_pandas(frame, preserve_index=True)


def _from_pandas(frame: Any, *, preserve_index: bool) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=preserve_index)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgument(f"The frame makes no table: {error}") from error


def _is_spark(data: object) -> bool:
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pyspark" and hasattr(data, "toArrow")


def _types(columns: Mapping[Any, Any], table: pa.Schema | None) -> pa.Schema | None:
    """The columns in the types of a table; None when one of them is not the table's, or has a type of its own."""
    own = (pa.Array, pa.ChunkedArray)
    if table is None or any(isinstance(value, own) for value in columns.values()):
        return None
    fields = {field.name: field for field in table}
    if any(name not in fields for name in columns):
        return None
    return pa.schema([fields[name] for name in columns])


def _of_columns(columns: Mapping[Any, Any], schema: pa.Schema | None) -> pa.Table:
    try:
        return pa.table(dict(columns), schema=schema)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgument(f"The columns make no table: {_wrong_column(columns, schema)}{error}") from error


def _wrong_column(columns: Mapping[Any, Any], schema: pa.Schema | None) -> str:
    """Which column it is that makes no array, for a message."""
    for name, values in columns.items():
        try:
            pa.array(values, None if schema is None else schema.field(name).type)
        except (pa.ArrowException, TypeError, ValueError):
            return f"{name}: "
    return ""


def _of_records(records: Sequence[Any], schema: pa.Schema | None, table: pa.Schema | None) -> pa.Table:
    """Rows as dicts. Their columns are those of all of them, in the order in which they come."""
    names: dict[str, None] = {}
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise InvalidArgument(f"Row {number} is a {type(record).__name__}, not a dict as the first one")
        names.update(dict.fromkeys(record))
    accepted = names if schema is None else set(schema.names)
    unknown = [name for name in names if name not in accepted]
    if unknown:
        raise InvalidArgument(f"The rows have a column {unknown[0]!r}, which the schema has not")
    columns = {name: [record.get(name) for record in records] for name in (schema.names if schema else names)}
    return _of_columns(columns, schema or _types(columns, table))


def _of_batches(batches: Iterator[object], schema: pa.Schema | None) -> pa.RecordBatchReader:
    first = next(batches, None)
    if first is not None and not isinstance(first, pa.RecordBatch):
        raise InvalidArgument(f"Record batches are expected, not a {type(first).__name__}")
    if schema is None:
        if first is None:
            raise InvalidArgument("There is no batch, so the columns are not known: give a schema")
        schema = first.schema

    def checked() -> Iterator[pa.RecordBatch]:
        if first is None:
            return
        yield first
        for batch in batches:
            if not isinstance(batch, pa.RecordBatch):
                raise InvalidArgument(f"Record batches are expected, not a {type(batch).__name__}")
            yield batch

    return pa.RecordBatchReader.from_batches(schema, checked())
