"""Conversion of rows from any supported source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.layouts import plain
from lance_sql.format.schema.duckdb_types import exportable, is_relation
from lance_sql.values import kinds
from lance_sql.values.names import check as check_name
from lance_sql.writes.statements import frames, read_once
from lance_sql.writes.statements.no_rows import instead_of
from lance_sql.writes.statements.parts import from_start, of_parts
from lance_sql.writes.statements.python_rows import of_columns, of_records

_READERS: Final = ("to_reader", "to_arrow_batch_reader")
"""Methods that return a stream: of scans and scanners; of pyiceberg."""

_DATASETS: Final = ("scanner", "to_pyarrow_dataset")
"""Methods that return something with a stream: of datasets and fragments of Arrow and pylance; of deltalake."""

_SCANNED_BEFORE: Final = "already scanned"
"""Part of Arrow's message for a scanner of a stream that was read."""

_ROWS_PER_PART: Final = 10_000


def to_reader(data: object, schema: pa.Schema | None = None, *, table: pa.Schema | None = None) -> pa.RecordBatchReader:
    """Returns a stream of the rows in `data`.

    data: anything with `__arrow_c_stream__` (pyarrow, a DuckDB relation, Polars, a `Dataset`); a dataset, fragment or
        scanner of pyarrow or pylance; a Delta table, a table or scan of pyiceberg, a dataset of Hugging Face; a frame
        of pandas or GeoPandas, whose named index levels become columns, of Spark, or a lazy one of Polars, which are
        collected; a dict of columns, a list of dicts by column, whose missing values are NULL; or an iterable of record
        batches, tables, frames or such dicts, which needs `schema` if there may be none
    table: types for Python values and for numbers of pandas, if it has the column
    raises: InvalidArgument for anything else, for a reader, generator or other iterator that an earlier call read, for
        names with NUL, which Arrow's C streams cut, for two columns of one name, and from the reader for a stream that
        breaks off; UnsupportedFeature for types that DuckDB does not export unchanged
    """
    reader = plain(_reader(data, schema, table))
    _check_names(reader.schema)
    return reader


def is_typed(data: object) -> bool:
    """Whether rows have Arrow types of their own, so that those of a table do not matter."""
    return hasattr(data, "__arrow_c_stream__") and not frames.is_of(data, "pandas", "DataFrame")


def _reader(data: Any, schema: pa.Schema | None, table: pa.Schema | None) -> pa.RecordBatchReader:
    read_once.check(data)
    if isinstance(data, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(data.schema, from_start(data))
    instead = instead_of(data)
    if instead is not None:
        raise InvalidArgument(f"Cannot read rows from {type(data).__name__!r}: {instead}")
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if frames.is_of(data, "pandas", "DataFrame"):
        return frames.of_pandas(data, frames.by_name(schema, table)).to_reader()
    if frames.is_spark(data):
        # its own Arrow stream needs pandas, and an idle session
        return data.toArrow().to_reader()
    data = frames.lazy(data)
    if is_relation(data):
        data = exportable(data)
    if hasattr(data, "__arrow_c_stream__"):
        schema_of_it = getattr(data, "schema", None)
        _check_names(schema_of_it)
        if isinstance(schema_of_it, Mapping):
            frames.check_polars(schema_of_it)
        return _of_stream(data)
    if isinstance(data, Mapping):
        return of_columns(data, schema, table).to_reader()
    if isinstance(data, (list, tuple)) and data and all(isinstance(each, Mapping) for each in data):
        return of_records(data, schema, table).to_reader()
    if (stream := _stream_of(data)) is not None:
        return _of_stream(stream)
    parts = _parts_of(data)
    if parts is not None:
        return of_parts(parts, schema, table, lambda part, types: _reader(part, None, types))
    raise InvalidArgument(
        f"Cannot read rows from {type(data).__name__!r}: pass an Arrow table, stream, dataset or scanner, a"
        " DuckDB relation, a frame of pandas, Polars, Spark or GeoPandas, a dict of columns, dicts of rows, or an"
        " iterable of record batches, tables or frames"
    )


def _stream_of(data: Any) -> Any:
    """Returns what the reading methods of other libraries return; None for an object without one."""
    package = type(data).__module__.partition(".")[0]
    if package == "pyiceberg" and hasattr(data, "scan"):
        data = data.scan()
    with _readable():
        for name in _DATASETS:
            if callable(method := getattr(data, name, None)):
                return _stream_of(method())
        for name in _READERS:
            if callable(method := getattr(data, name, None)):
                return method()
    return None


def _parts_of(data: Any) -> Iterable[object] | None:
    """Returns the parts of an iterable; None for an object that is none."""
    if type(data).__module__.partition(".")[0] == "datasets" and hasattr(data, "with_format"):
        parts: Iterable[object] = data.with_format("arrow").iter(_ROWS_PER_PART)
        return parts
    return data if isinstance(data, Iterable) and not isinstance(data, (str, bytes)) else None


def _of_stream(data: object) -> pa.RecordBatchReader:
    """
    raises: InvalidArgument for a stream that breaks off, also from the reader
    """

    def batches() -> Iterator[pa.RecordBatch]:
        if not is_taken:
            read_once.begin(data)
        with _readable():
            yield from reader

    # the reader of another library gives its stream away
    is_taken = read_once.is_read_once(data)
    if is_taken:
        read_once.begin(data)
    with _readable():
        reader = pa.RecordBatchReader.from_stream(data)
    return pa.RecordBatchReader.from_batches(reader.schema, batches())


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # Arrow appends the traceback of a producer in Python
        reason = str(error).partition("Detail: Python exception")[0].strip().rstrip(".")
        if _SCANNED_BEFORE in reason:
            raise read_once.refusal("scanner") from error
        raise InvalidArgument(f"The stream of rows broke off: {reason}") from error


def _check_names(schema: object) -> None:
    """
    schema: of Arrow or Polars; others are ignored
    raises: InvalidArgument for a column, or a member of one, with NUL in its name, and for two columns of one name
    """
    if isinstance(schema, pa.Schema):
        if repeated := [name for name, count in Counter(schema.names).items() if count > 1]:
            raise InvalidArgument(f"Two columns have the same name {repeated[0]!r}: rename one")
        for name in schema.names:
            check_name(name or "unnamed", "column")
        for type in schema.types:
            _check_members(type)
    elif isinstance(schema, Mapping):
        for name, kind in schema.items():
            check_name(name or "unnamed", "column")
            if "\\x00" in repr(kind):
                raise InvalidArgument(f"A member of the column {name!r} has NUL in its name: rename it")


def _check_members(type: pa.DataType) -> None:
    for member in kinds.members(type):
        check_name(member.name or "unnamed", "column")
        _check_members(member.type)
