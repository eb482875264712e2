"""Values of Spark assigned to columns like in Spark's own INSERT, whatever `spark.sql.ansi.enabled` is.

A number too large for its column is an error, while a cast of Spark returns another number or NULL. A number with
decimals does not fit integers. Text converts to no other type, and numbers convert neither to booleans nor to times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lance_sql.errors import InvalidArgument

_Value = tuple[StructField, Column]
_COMPUTED: Final = "__lance_value_"
_TIMES = (DateType, TimestampType, TimestampNTZType)


def assigned(rows: DataFrame, values: Sequence[_Value]) -> tuple[DataFrame, list[Column]]:
    """Casts each value to the type of its column.

    values: over `rows`
    returns: the rows with the values beside them, so that each is computed once, and the cast values over these rows
    raises: InvalidArgument for a value of a type that Spark does not assign to the column
    """
    computed = {f"{_COMPUTED}{number}": value for number, (_, value) in enumerate(values)}
    given = rows.select(*(value.alias(name) for name, value in computed.items())).schema
    cast = [
        _assigned(field, source.dataType, F.col(source.name)) for source, (field, _) in zip(given, values, strict=True)
    ]
    return rows.withColumns(computed), cast


def _assigned(field: StructField, source: DataType, value: Column) -> Column:
    target = field.dataType
    if _plain(source) == _plain(target):
        return value
    if isinstance(source, NullType):
        return value.cast(target)
    if _is_nested(source) or _is_nested(target):
        if not _is_wider(source, target):
            raise _refused(field, source)
        return value.cast(target)
    if not _is_assignable(source, target):
        raise _refused(field, source)
    cast = value.try_cast(target)
    is_lost = cast.isNull() & value.isNotNull()
    if isinstance(source, (FractionalType, DecimalType)) and isinstance(target, IntegralType):
        is_lost |= value != cast.cast(source)
    text = f"A value for column '{field.name}' does not fit its type {target.simpleString()}: "
    message = F.concat(F.lit(f"lance_sql.errors.InvalidArgument: {text}"), value.cast("string"))
    return F.when(is_lost, F.raise_error(message).cast(target)).otherwise(cast)


def _refused(field: StructField, source: DataType) -> InvalidArgument:
    return InvalidArgument(
        f"The values for column {field.name!r} are {source.simpleString()}, not {field.dataType.simpleString()}: cast"
        " them"
    )


def _is_assignable(source: DataType, target: DataType) -> bool:
    """Whether Spark's INSERT assigns values of one plain type to a column of another."""
    if isinstance(target, StringType):
        return True
    if isinstance(source, NumericType):
        return isinstance(target, NumericType)
    return isinstance(source, _TIMES) and isinstance(target, _TIMES)


def _is_wider(source: DataType, target: DataType) -> bool:
    """Whether every value of one type fits another, inside lists, structs and maps."""
    if _plain(source) == _plain(target) or isinstance(source, NullType):
        return True
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _is_wider(source.elementType, target.elementType)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return _is_wider(source.keyType, target.keyType) and _is_wider(source.valueType, target.valueType)
    if isinstance(source, StructType) and isinstance(target, StructType):
        return len(source) == len(target) and all(
            one.name == other.name and _is_wider(one.dataType, other.dataType)
            for one, other in zip(source, target, strict=True)
        )
    return _digits(source) is not None and _holds(_digits(target), _digits(source))


def _digits(type: DataType) -> tuple[int, int] | None:
    """Returns the digits before and after the point of a number, for floats the exact ones; None for other types."""
    if isinstance(type, DecimalType):
        return type.precision - type.scale, type.scale
    return _WHOLE_DIGITS.get(type.typeName())


_WHOLE_DIGITS: Mapping[str, tuple[int, int]] = {
    "byte": (3, 0),
    "short": (5, 0),
    "integer": (10, 0),
    "long": (19, 0),
    "float": (7, 7),
    "double": (15, 15),
}


def _holds(target: tuple[int, int] | None, source: tuple[int, int] | None) -> bool:
    return target is not None and source is not None and target[0] >= source[0] and target[1] >= source[1]


def _is_nested(type: DataType) -> bool:
    return isinstance(type, (ArrayType, MapType, StructType))


def _plain(type: DataType) -> DataType:
    """Returns the type with all nested fields nullable."""
    return StructType([StructField("x", type)]).toNullable()["x"].dataType
