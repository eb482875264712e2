"""Conversion of rows from any supported source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts import python_values
from lance_sql.format.casts.conversion import convert
from lance_sql.format.casts.layouts import plain
from lance_sql.format.schema.duckdb_types import exportable, is_relation
from lance_sql.format.schema.extensions import with_extensions
from lance_sql.values.names import check as check_name
from lance_sql.writes.statements import read_once


def to_reader(data: object, schema: pa.Schema | None = None, *, table: pa.Schema | None = None) -> pa.RecordBatchReader:
    """Returns a stream of the rows in `data`.

    data: anything with `__arrow_c_stream__` (pyarrow, a DuckDB relation, Polars, a `Dataset`), a pandas DataFrame,
        whose named index levels become columns, a Spark frame or a lazy Polars frame, which are collected, a dict
        of columns, a list of dicts by column, whose missing values are NULL, or record batches, which need `schema`
        if there may be none
    table: types for Python values of a dict, if it has the column
    raises: InvalidArgument for anything else, for a reader, generator or other iterator that an earlier call read, for
        names with NUL, which Arrow's C streams cut, and from the reader for a stream that breaks off;
        UnsupportedFeature for types that DuckDB does not export unchanged
    """
    reader = plain(_reader(data, schema, table))
    _check_names(reader.schema)
    return reader


def _reader(data: object, schema: pa.Schema | None, table: pa.Schema | None) -> pa.RecordBatchReader:
    read_once.check(data)
    if isinstance(data, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(data.schema, _from_start(data))
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if _is_pandas(data):
        return _of_pandas(data).to_reader()
    if _is_spark(data):
        # its own Arrow stream needs pandas, and an idle session
        return data.toArrow().to_reader()  # type: ignore[attr-defined]  # not imported here
    if type(data).__name__ == "LazyFrame" and type(data).__module__.partition(".")[0] == "polars":
        data = data.collect()  # type: ignore[attr-defined]  # not imported here
    if is_relation(data):
        data = exportable(data)
    if hasattr(data, "__arrow_c_stream__"):
        _check_names(getattr(data, "schema", None))
        return _of_stream(data)
    if isinstance(data, Mapping):
        return _of_columns(data, schema, table).to_reader()
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], Mapping):
        return _of_records(data, schema, table).to_reader()
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        return _of_batches(data, schema)
    raise InvalidArgument(
        f"Cannot read rows from {type(data).__name__!r}: pass an Arrow table or stream, a DuckDB relation, a Polars or"
        " pandas frame, a dict of columns, a list of dicts, or record batches"
    )


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
        raise InvalidArgument(f"The stream of rows broke off: {reason}") from error


def _check_names(schema: object) -> None:
    """
    schema: of Arrow or Polars; others are ignored
    raises: InvalidArgument for a column, or a member of one, with NUL in its name
    """
    if isinstance(schema, pa.Schema):
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
    for index in range(type.num_fields):
        member = type.field(index)
        check_name(member.name or "unnamed", "column")
        _check_members(member.type)


def _is_pandas(data: object) -> bool:
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"


def _of_pandas(frame: Any) -> pa.Table:
    """Converts the columns of a frame, followed by its named index levels.

    raises: InvalidArgument for an index that would be lost: one without a name that is not a range of row numbers
    """
    unnamed = [number for number, name in enumerate(frame.columns) if name is None or name != name]
    if unnamed:
        raise InvalidArgument(f"Column {unnamed[0]} of the frame has no name: name it in frame.columns")
    levels = list(frame.index.names)
    named = [name for name in levels if name is not None]
    if not named:
        if len(levels) > 1 or frame.index.dtype.kind not in "iu":
            raise InvalidArgument(
                "The frame's index has no name, and would be lost: name it with rename_axis to store it as a column, or"
                " drop it with reset_index(drop=True)"
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
        raise InvalidArgument(f"Cannot build a table from the frame: {error}") from error


def _is_spark(data: object) -> bool:
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pyspark" and hasattr(data, "toArrow")


def _of_columns(columns: Mapping[Any, Any], schema: pa.Schema | None, table: pa.Schema | None) -> pa.Table:
    """Converts columns by name. Python values take the types of the schema, or else of the table.

    raises: InvalidArgument for a value that does not fit its column, and for columns of different lengths
    """
    wanted = {field.name: field for field in (schema or table or ())}
    names = list(columns) if schema is None else schema.names
    for name in names:
        check_name(str(name) or "unnamed", "column")
    if schema is not None and set(columns) != set(names):
        more, less = (
            [name for name in one if name not in other] for one, other in ((columns, names), (names, columns))
        )
        what = f"a column {more[0]!r}, which is not in the schema" if more else f"no column {less[0]!r}"
        raise InvalidArgument(f"The rows have {what}")
    arrays = [_column(str(name), columns[name], wanted.get(name), keeps_type=schema is None) for name in names]
    fields = [
        wanted[name] if schema is not None else pa.field(name, array.type)
        for name, array in zip(names, arrays, strict=True)
    ]
    try:
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgument(f"Cannot build a table from the columns: {error}") from error


def _column(name: str, values: Any, field: pa.Field | None, *, keeps_type: bool) -> pa.Array | pa.ChunkedArray:
    """
    field: type for Python values
    keeps_type: whether Arrow data keeps its type, which is compared with the table's later
    """
    read_once.begin(values)
    type = None if field is None else with_extensions(field).type
    if type is not None and _is_python(values):
        return python_values.array(values, type, name)
    is_own = isinstance(values, (pa.Array, pa.ChunkedArray))
    try:
        array = values if is_own else _as_arrow(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"Cannot build a table from the columns: {name}: {error}") from error
    if type is None or (is_own and keeps_type) or array.type == type:
        return array
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    # NumPy floats are mostly doubles, whatever the table has
    exact = not (pa.types.is_floating(array.type) and pa.types.is_floating(type))
    try:
        return pa.chunked_array([convert(chunk, type, exact=exact) for chunk in chunks], type)
    except pa.ArrowException as error:
        raise InvalidArgument(f"Column {name!r} is {array.type}, and does not fit {type}: {error}") from error


def _as_arrow(values: Any) -> pa.Array | pa.ChunkedArray:
    return pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)


def _is_python(values: Any) -> bool:
    """Whether a column consists of Python objects without a common type."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return False
    dtype = getattr(values, "dtype", None)
    return dtype is None or (isinstance(values, np.ndarray) and dtype.kind == "O")


def _of_records(records: Sequence[Any], schema: pa.Schema | None, table: pa.Schema | None) -> pa.Table:
    """Converts rows given as dicts. The columns are those of all rows, in order of first appearance."""
    names: dict[str, None] = {}
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise InvalidArgument(f"Row {number} is a {type(record).__name__}, not a dict as the first one")
        names.update(dict.fromkeys(record))
    accepted = names if schema is None else set(schema.names)
    unknown = [name for name in names if name not in accepted]
    if unknown:
        raise InvalidArgument(f"The rows have a column {unknown[0]!r}, which is not in the schema")
    columns = {name: [record.get(name) for record in records] for name in (schema.names if schema else names)}
    return _of_columns(columns, schema, table)


def _of_batches(data: Iterable[object], schema: pa.Schema | None) -> pa.RecordBatchReader:
    if not isinstance(data, (list, tuple)):
        data = iter(data)
        read_once.check(data)
    rows = _from_start(data)
    if schema is not None:
        return pa.RecordBatchReader.from_batches(schema, map(_checked, rows))
    first = next(rows, None)
    if first is None:
        raise InvalidArgument("No batch has the columns: pass schema=")
    schema = _checked(first).schema
    return pa.RecordBatchReader.from_batches(schema, map(_checked, chain([first], rows)))


def _from_start(source: Iterable[object]) -> Iterator[object]:
    """
    raises: InvalidArgument if another call read the source meanwhile
    """
    read_once.begin(source)
    yield from source


def _checked(batch: object) -> pa.RecordBatch:
    if not isinstance(batch, pa.RecordBatch):
        raise InvalidArgument(f"Rows must be record batches, not a {type(batch).__name__}")
    return batch
