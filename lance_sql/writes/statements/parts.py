"""Rows in parts: iterables of record batches, tables, frames, or dicts of rows.

The first part, or a given schema, defines the columns. Later parts are converted to it, exactly or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, TypeAlias

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.conversion import into
from lance_sql.format.casts.lossless import is_lossless
from lance_sql.values import selection
from lance_sql.writes.statements import read_once
from lance_sql.writes.statements.frames import fitted
from lance_sql.writes.statements.no_rows import instead_of_part
from lance_sql.writes.statements.python_rows import of_records

_ROWS: Final = 10_000
"""Rows of dicts that become one batch."""

ReaderOf: TypeAlias = Callable[[Any, pa.Schema | None], pa.RecordBatchReader]
"""Returns the rows of a part, from the types for its Python values."""


def of_parts(
    data: Iterable[object], schema: pa.Schema | None, table: pa.Schema | None, reader_of: ReaderOf
) -> pa.RecordBatchReader:
    """Returns the rows of all parts, which are read as they are needed.

    schema: of all parts; that of the first one by default
    table: types for numbers and Python values of the first part, if it has the column
    raises: InvalidArgument, also from the reader, for a part that is something else, or has other columns
    """
    if not isinstance(data, (list, tuple)):
        data = iter(data)
        read_once.check(data)
    parts = _batches(_with_rows_together(from_start(data)), schema or table, schema is None, reader_of)
    if schema is not None:
        return pa.RecordBatchReader.from_batches(schema, _conformed(parts, schema))
    first = next(parts, None)
    if first is None:
        raise InvalidArgument("No batch has the columns: pass schema=")
    schema = first.schema
    return pa.RecordBatchReader.from_batches(schema, _conformed(chain([first], parts), schema))


def from_start(source: Iterable[object]) -> Iterator[Any]:
    """Yields what a source has, and remembers that it was read.

    raises: InvalidArgument if another call read the source meanwhile
    """
    read_once.begin(source)
    yield from source


def _with_rows_together(parts: Iterable[object]) -> Iterator[object]:
    """Yields the parts, with dicts that follow each other in lists.

    raises: InvalidArgument for a part that has no rows
    """
    rows: list[Mapping[Any, Any]] = []
    for number, part in enumerate(parts):
        instead = instead_of_part(part)
        if instead is not None:
            raise InvalidArgument(
                f"Part {number} of the rows is a {type(part).__name__}, not a record batch, table, frame or dict:"
                f" {instead}"
            )
        if isinstance(part, Mapping) and not hasattr(part, "__arrow_c_stream__"):
            rows.append(part)
            if len(rows) < _ROWS:
                continue
        elif not rows:
            yield part
            continue
        else:
            yield rows
            yield part
            rows = []
            continue
        yield rows
        rows = []
    if rows:
        yield rows


def _batches(
    parts: Iterable[object], wanted: pa.Schema | None, first_defines: bool, reader_of: ReaderOf
) -> Iterator[pa.RecordBatch]:
    """
    wanted: types for numbers and Python values
    first_defines: whether the types of later parts are those of the first one
    """
    for number, part in enumerate(parts):
        if isinstance(part, pa.RecordBatch):
            yield part
            continue
        if isinstance(part, list) and part and isinstance(part[0], Mapping):
            is_first = first_defines and not number
            rows = of_records(part, None if is_first else wanted, wanted)
            batches: Iterable[pa.RecordBatch] = rows.to_batches()
        else:
            batches = _some(reader_of(part, wanted))
        for batch in batches:
            if first_defines:
                first_defines, wanted = False, batch.schema
            yield batch


def _some(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yields the batches of a reader, or an empty one if it has none: its columns may be those of all parts."""
    has_some = False
    for batch in reader:
        has_some = True
        yield batch
    if not has_some:
        yield from selection.empty(reader.schema).to_batches()


def _conformed(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yields batches with the columns of a schema.

    raises: InvalidArgument for a batch with other ones
    """
    for batch in batches:
        if batch.schema.equals(schema):
            yield batch
            continue
        names = batch.schema.names
        if sorted(names) != sorted(schema.names):
            other = sorted(set(names) ^ set(schema.names)) or ["the same name twice"]
            raise InvalidArgument(
                f"A part of the rows has other columns than the first one: {other[0]!r} is in one of them: give"
                " all parts the same columns"
            )
        arrays = [_column(batch.column(field.name), field) for field in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(array: pa.Array, field: pa.Field) -> pa.Array:
    if array.type == field.type:
        return array
    try:
        if is_lossless(array.type, field.type):
            return into(array, field)
    except pa.ArrowException as error:
        raise InvalidArgument(f"Column {field.name!r} in a part of the rows: {error}") from error
    fits = fitted(array, field)
    if fits.type != field.type:
        has = "only NULL" if pa.types.is_null(field.type) else str(field.type)
        raise InvalidArgument(
            f"Column {field.name!r} is {array.type} in a part of the rows, and {has} before: pass schema=, or cast it"
        )
    return fits
