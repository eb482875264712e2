"""Rows of frames: pandas, GeoPandas, Polars, narwhals and Spark. None of these packages is imported here.

pandas has no integers with NULL: a column with some becomes floats. Such floats become integers again if the table has
some, exactly or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts import nested
from lance_sql.format.casts.conversion import convert
from lance_sql.format.casts.lossless import is_lossless
from lance_sql.format.schema.extensions import with_extensions
from lance_sql.format.schema.from_arrow import storage
from lance_sql.values import kinds

"""Integers of so many bits have floats of their own, by the width of the float."""

_NOT_OF_ARROW: Final = {"Int128": "Int64 or Decimal", "Object": "String, Binary or another type of values"}
"""Types of Polars, with what to use instead. Its own export of Object has addresses in memory in place of values."""
_NAME: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
"""The name of a member in the text of a type."""


def is_of(data: object, package: str, name: str) -> bool:
    """Whether an object, or a base of its class, is of a class of a package."""
    return any(each.__name__ == name and each.__module__.partition(".")[0] == package for each in type(data).__mro__)


def of_pandas(frame: Any, wanted: Mapping[str, pa.Field]) -> pa.Table:
    """Converts the columns of a frame, followed by its named index levels.

    wanted: fields by name whose numbers the columns get, if every value stays the same
    raises: InvalidArgument for an index that would be lost: one without a name that is not a range of row numbers; for
        two columns or levels of one name; and for numbers that are not exact
    """
    has_index = _has_index(frame)
    _check_names([*frame.columns, *(frame.index.names if has_index else ())])
    try:
        if is_of(frame, "geopandas", "GeoDataFrame"):
            table = pa.table(frame.to_arrow(index=has_index))
        else:
            table = pa.Table.from_pandas(frame, preserve_index=has_index)
    except (pa.ArrowException, TypeError, ValueError) as error:
        table = _by_column(frame, has_index, wanted, error)
    for number, name in enumerate(table.column_names):
        if name in wanted:
            column = fitted(table.column(number), wanted[name])
            if pa.types.is_nested(column.type) and not is_lossless(column.type, storage(wanted[name])[0]):
                column = _as_nested(frame, name, wanted[name], column)
            if column.type != table.schema.field(number).type:
                table = table.set_column(number, pa.field(name, column.type), column)
    return table


def _has_index(frame: Any) -> bool:
    """Whether the index has names, and is to become columns.

    raises: InvalidArgument for one that would be lost
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
        return False
    taken = [name for name in named if name in frame.columns]
    if len(named) < len(levels) or taken:
        wrong = f"the name {taken[0]!r}, as a column has" if taken else "levels without names"
        raise InvalidArgument(f"The frame's index has {wrong}: rename it with rename_axis")
    return True


def _check_names(names: Sequence[object]) -> None:
    """
    raises: InvalidArgument for two names that are the same text, of which a table would have one column
    """
    by_text: dict[str, object] = {}
    for name in names:
        if str(name) in by_text:
            raise InvalidArgument(
                f"The columns {by_text[str(name)]!r} and {name!r} of the frame have the same name: rename one"
            )
        by_text[str(name)] = name


def _by_column(frame: Any, has_index: bool, wanted: Mapping[str, pa.Field], error: Exception) -> pa.Table:
    """Converts each column by itself. Those that pandas has no types for, such as maps, take the wanted ones.

    error: of the conversion of the whole frame
    raises: InvalidArgument
    """
    levels = {name: frame.index.get_level_values(name).to_series() for name in frame.index.names} if has_index else {}
    arrays: dict[str, Any] = {}
    for name, values in [*frame.items(), *levels.items()]:
        try:
            arrays[str(name)] = pa.array(values, from_pandas=True)
            continue
        except (pa.ArrowException, TypeError, ValueError) as reason:
            if name not in wanted:
                raise InvalidArgument(f"Cannot build a table from the frame: {_line(error)}") from reason
        try:
            arrays[str(name)] = _typed(values, wanted[name])
        except (pa.ArrowException, TypeError, ValueError) as reason:
            raise InvalidArgument(
                f"Column {name!r} of the frame does not fit {wanted[name].type}: {_line(reason)}"
            ) from reason
    return pa.table(arrays)


def _as_nested(frame: Any, name: str, field: pa.Field, inferred: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Returns a column with the type of a field, such as a map, whose entries look like lists; or else as inferred."""
    try:
        return _typed(frame[name], field)
    except (pa.ArrowException, TypeError, ValueError, KeyError):
        return inferred


def _typed(values: Any, field: pa.Field) -> pa.Array:
    """
    raises: errors of Arrow, and for integers that may have been floats
    """
    made = pa.array(values, with_extensions(field).type, from_pandas=True)
    _check_members(made)
    return made


def _check_members(array: pa.Array) -> None:
    """
    raises: pa.ArrowInvalid for an integer in a list, struct or map that may have been a float
    """
    if pa.types.is_map(array.type):
        _check_members(array.keys)
        _check_members(array.items)
    elif pa.types.is_struct(array.type):
        for member in array.flatten():
            _check_members(member)
    elif pa.types.is_nested(array.type):
        _check_members(array.flatten())
    elif pa.types.is_integer(array.type):
        _check_exact(array.cast(pa.float64(), safe=False))


def fitted(column: pa.ChunkedArray | pa.Array, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    """Converts numbers, also in lists and structs, to the type of a field, if every value stays the same. Columns of
    other types stay as they are.

    raises: InvalidArgument for a number that does not fit, and for a float that may stand for several integers
    """
    type, source = storage(field)[0], column.type
    if source == type or isinstance(source, pa.BaseExtensionType) or not _may_fit(source, type):
        return column
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    try:
        made = [_fitted(chunk, type) for chunk in chunks]
    except pa.ArrowNotImplementedError:
        return column
    except pa.ArrowInvalid as error:
        raise InvalidArgument(f"Column {field.name!r} is {source}, and does not fit {type}: {_line(error)}") from error
    return pa.chunked_array(made, type) if isinstance(column, pa.ChunkedArray) else made[0]


def _may_fit(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether both types are numbers, or have members; so a conversion keeps other values as they are."""
    if pa.types.is_nested(source):
        return bool(pa.types.is_nested(target))
    return _is_number(source) and _is_number(target)


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type))


def _fitted(array: pa.Array, target: pa.DataType) -> pa.Array:
    source = array.type
    if source == target:
        return array
    if pa.types.is_null(source):
        return pa.nulls(len(array), target)
    if pa.types.is_nested(source):
        return nested.convert_members(array, target, _fitted)
    if not (_is_number(source) and _is_number(target)):
        raise pa.ArrowNotImplementedError(f"{source} cannot become {target}")
    if pa.types.is_floating(source) and pa.types.is_integer(target):
        _check_exact(array)
    # floats of pandas are mostly doubles, whatever the table has
    return convert(array, target, exact=not (pa.types.is_floating(source) and pa.types.is_floating(target)))


def _check_exact(array: pa.Array) -> None:
    """
    raises: pa.ArrowInvalid for a float that may stand for several integers
    """
    import pyarrow.compute as pc

    limit = 2.0 ** kinds.EXACT_BITS[array.type.bit_width]
    large = pc.greater(pc.abs(array.cast(pa.float64())), limit)
    if pc.any(large).as_py():
        value = pc.filter(array, large)[0].as_py()
        raise pa.ArrowInvalid(
            f"{value:.0f} may be another integer that was rounded to a float: read the rows with"
            " to_pandas(types_mapper=pandas.ArrowDtype), which keeps integers"
        )


def check_polars(schema: Mapping[str, Any]) -> None:
    """Makes sure that Arrow has the types of a frame.

    raises: InvalidArgument with the name of the column
    """
    for name, kind in schema.items():
        types = _NAME.sub("", repr(kind))
        for missing, others in _NOT_OF_ARROW.items():
            if missing in types:
                raise InvalidArgument(f"Column {name!r} is {kind}, which Arrow does not have: cast it to {others}")


def lazy(data: Any) -> Any:
    """Returns a lazy frame of Polars or narwhals as one with rows; other objects as they are."""
    if type(data).__name__ != "LazyFrame":
        return data
    package = type(data).__module__.partition(".")[0]
    if package == "narwhals":
        return lazy(data.to_native())
    return data.collect() if package == "polars" else data


def is_spark(data: object) -> bool:
    """Whether an object is a frame of Spark."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pyspark" and hasattr(data, "toArrow")


def by_name(*schemas: pa.Schema | None) -> dict[str, pa.Field]:
    """Returns the fields of the first schema that is given."""
    chosen: Iterable[pa.Field] = next((schema for schema in schemas if schema is not None), ())
    return {field.name: field for field in chosen}


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
