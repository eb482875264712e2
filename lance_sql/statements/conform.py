"""Rows in the columns and types of a table.

Columns are found by name; those that the table does not have are refused, and those that it has may be missing where
they may be NULL. Types are changed only where no value can be: text and bytes between their sizes and views, integers
and floats to wider ones, NULL to anything, dictionaries to their values and back.
"""

from __future__ import annotations

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.file.foreign_arrays import Soundness
from lance_sql.schema import Field, Schema, arrow_field
from lance_sql.schema.from_arrow import storage
from lance_sql.schema.projection import closest


class Conform:
    """Batches of one schema as rows of a table.

    source: the schema of the batches
    table: the schema of the table
    name: how messages call the table
    raises: InvalidArgument that lists every column that does not fit
    """

    def __init__(self, source: pa.Schema, table: Schema, name: str) -> None:
        problems = list(_name_problems(source, table))
        present: list[Field] = []
        self._indices: list[int] = []
        for field in table.fields:
            index = source.get_field_index(field.name)
            if index >= 0:
                present.append(field)
                self._indices.append(index)
                problems += _type_problems(source.field(index), arrow_field(field))
            elif not field.nullable and not problems:
                problems.append(f"{field.name}: missing, and it may not be NULL")
        if problems:
            raise InvalidArgument(f"The rows do not fit {name}: " + "; ".join(problems))
        self.schema = Schema(tuple(present), table.metadata)
        """The fields of the table that the rows have."""
        self._target = self.schema.arrow
        self._soundness = Soundness(source)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows, columns in the order of `schema`.

        raises: InvalidArgument for values that the type does not hold, such as times out of its range, and for a batch
            that is damaged
        """
        self._soundness.check(batch)
        arrays = []
        for index, field in zip(self._indices, self._target, strict=True):
            try:
                arrays.append(_cast(batch.column(index), field.type))
            except pa.ArrowException as error:
                raise InvalidArgument(f"Column {field.name!r}: {error}") from error
        return _batch(arrays, self._target, batch.num_rows)


def _batch(arrays: list[pa.Array], schema: pa.Schema, num_rows: int) -> pa.RecordBatch:
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    return pa.RecordBatch.from_struct_array(pa.nulls(num_rows, pa.struct([])))


def _name_problems(source: pa.Schema, table: Schema) -> list[str]:
    problems = []
    seen, known = set(), set(table.names)
    for name in source.names:
        if name in seen:
            problems.append(f"{name}: twice")
        elif name not in known:
            nearest = closest(name, table.names)
            problems.append(f"{name}: no such column" + (f", did you mean {nearest!r}?" if nearest else ""))
        seen.add(name)
    return problems


def _type_problems(source: pa.Field, target: pa.Field) -> list[str]:
    found, wanted = storage(source)[0], storage(target)[0]
    return [] if _fits(found, wanted) else [f"{target.name}: {found} where {wanted} is expected"]


def _fits(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether every value of one type is one of the other."""
    if source == target or pa.types.is_null(source):
        return True
    if pa.types.is_dictionary(source):
        target = target.value_type if pa.types.is_dictionary(target) else target
        return _fits(source.value_type, target)
    if pa.types.is_dictionary(target):
        return _fits(source, target.value_type)
    if _is_text(source):
        return _is_text(target)
    if _is_bytes(source):
        return _is_bytes(target)
    if pa.types.is_integer(source) and pa.types.is_integer(target):
        return _holds(source, target)
    if pa.types.is_floating(source) and pa.types.is_floating(target):
        return bool(source.bit_width < target.bit_width)
    if pa.types.is_decimal(source) and pa.types.is_decimal(target):
        whole = target.precision - target.scale >= source.precision - source.scale
        return bool(whole and target.scale >= source.scale)
    if pa.types.is_timestamp(source) and pa.types.is_timestamp(target):
        # between units a value may be cut or overflow, which the cast finds out
        return (source.tz is None) == (target.tz is None)
    return _nested_fits(source, target)


def _nested_fits(source: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_struct(source) and pa.types.is_struct(target):
        names = [field.name for field in target]
        return [field.name for field in source] == names and all(
            _fits(storage(source.field(i))[0], storage(target.field(i))[0]) for i in range(len(names))
        )
    if pa.types.is_map(source) and pa.types.is_map(target):
        return _fits(source.key_type, target.key_type) and _fits(source.item_type, target.item_type)
    if pa.types.is_fixed_size_list(target):
        same = pa.types.is_fixed_size_list(source) and source.list_size == target.list_size
        return same and _fits(storage(source.value_field)[0], storage(target.value_field)[0])
    if _is_list(source) and _is_list(target):
        return _fits(storage(source.value_field)[0], storage(target.value_field)[0])
    return False


def _holds(source: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_signed_integer(source) == pa.types.is_signed_integer(target):
        return bool(source.bit_width <= target.bit_width)
    return pa.types.is_unsigned_integer(source) and bool(source.bit_width < target.bit_width)


def _is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def _is_bytes(type: pa.DataType) -> bool:
    return bool(pa.types.is_binary(type) or pa.types.is_large_binary(type) or pa.types.is_binary_view(type))


def _is_list(type: pa.DataType) -> bool:
    return bool(pa.types.is_list(type) or pa.types.is_large_list(type))


def _cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    if array.type == target:
        return array
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, _cast(array, target.storage_type))
    if pa.types.is_dictionary(target) and not pa.types.is_dictionary(array.type):
        return array.cast(target.value_type).dictionary_encode().cast(target)
    if pa.types.is_dictionary(array.type) and not pa.types.is_dictionary(target):
        return array.dictionary_decode().cast(target)
    return array.cast(target)
