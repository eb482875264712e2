"""Rows given as Python values: columns by name, or one dict for each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts import python_values
from lance_sql.format.casts.conversion import convert
from lance_sql.format.schema.extensions import with_extensions
from lance_sql.values.names import check as check_name
from lance_sql.writes.statements import read_once

_NO_COLUMN: Final = (str, bytes, bytearray, set, frozenset, Mapping)
"""Iterables that are one value, or have no order."""


def of_columns(columns: Mapping[Any, Any], schema: pa.Schema | None, table: pa.Schema | None) -> pa.Table:
    """Converts columns by name. Python values take the types of the schema, or else of the table.

    raises: InvalidArgument for a value that does not fit its column, and for columns of different lengths
    """
    wanted = {field.name: field for field in (schema or table or ())}
    names = list(columns) if schema is None else schema.names
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgument(f"The column name {name!r} is a {type(name).__name__}, not text: pass it in quotes")
        check_name(name or "unnamed", "column")
    if schema is not None and set(columns) != set(names):
        more, less = (
            [name for name in one if name not in other] for one, other in ((columns, names), (names, columns))
        )
        what = f"a column {more[0]!r}, which is not in the schema" if more else f"no column {less[0]!r}"
        raise InvalidArgument(f"The rows have {what}")
    arrays = [_column(name, columns[name], wanted.get(name), keeps_type=schema is None) for name in names]
    lengths = [len(array) for array in arrays]
    other = next((number for number, length in enumerate(lengths) if length != lengths[0]), None)
    if other is not None:
        raise InvalidArgument(
            f"Column {names[0]!r} has {lengths[0]} values, and {names[other]!r} has {lengths[other]}: give them equally"
            " many"
        )
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
    _check_column(name, values)
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


def _check_column(name: str, values: object) -> None:
    """
    raises: InvalidArgument for one value, and for values without an order
    """
    if isinstance(values, _NO_COLUMN) or not (isinstance(values, Iterable) or hasattr(values, "__arrow_c_stream__")):
        raise InvalidArgument(
            f"Column {name!r} is a {type(values).__name__}, not a list of values: pass a list, as in {{{name!r}: [..]}}"
        )


def _as_arrow(values: Any) -> pa.Array | pa.ChunkedArray:
    return pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)


def _is_python(values: Any) -> bool:
    """Whether a column consists of Python objects without a common type."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return False
    dtype = getattr(values, "dtype", None)
    return dtype is None or (isinstance(values, np.ndarray) and dtype.kind == "O")


def of_records(records: Sequence[Any], schema: pa.Schema | None, table: pa.Schema | None) -> pa.Table:
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
    return of_columns(columns, schema, table)
