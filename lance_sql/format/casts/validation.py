"""Validation of foreign Arrow arrays against their type.

Offsets, keys and views of a foreign stream are untrusted numbers. Arrow does not check them, and reads
outside its buffers if they are wrong. They are checked in one pass, without the values, at a fraction of the cost of
writing. Text is assumed to be UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lance_sql import _kernels
from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.masked_keys import masked
from lance_sql.values import kinds

_Check: TypeAlias = Callable[[pa.Array], None]


class Validation:
    """The checks for batches of one schema, selected once, because batches may be short."""

    def __init__(self, schema: pa.Schema) -> None:
        checks = [(i, _check_of(type)) for i, type in enumerate(schema.types)]
        self._checks = [(i, check) for i, check in checks if check is not None]

    def check(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Makes sure that reading the batch stays inside its buffers. Returns it, or a batch of equal rows if only keys
        below a NULL are outside.

        raises: InvalidArgument with the column
        """
        try:
            # checks lengths and sizes of buffers
            batch.validate()
        except pa.ArrowInvalid as error:
            raise InvalidArgument(f"A batch is not valid Arrow data: {error}") from error
        for i, check in self._checks:
            try:
                check(batch.column(i))
            except (ValueError, pa.ArrowException):
                column = _masked(batch, i, check)
                batch = batch.set_column(i, batch.schema.field(i), column)
        return batch


def _masked(batch: pa.RecordBatch, number: int, check: _Check) -> pa.Array:
    """Returns the column without keys below a NULL.

    raises: InvalidArgument if it is not valid without them
    """
    try:
        column = masked(batch.column(number))
        check(column)
    except (ValueError, pa.ArrowException) as error:
        name = batch.schema.names[number]
        raise InvalidArgument(f"Column {name!r} is not valid Arrow data: {error}") from error
    return column


def _check_of(type: pa.DataType) -> _Check | None:
    """Returns the check for arrays of a type; None if `validate` is enough."""
    if pa.types.is_decimal(type):
        # more digits than the type allows, as DuckDB exports the largest HUGEINTs
        return lambda array: array.validate(full=True)
    if pa.types.is_primitive(type):
        return None
    if isinstance(type, pa.BaseExtensionType):
        inner = _check_of(type.storage_type)
        return None if inner is None else lambda array: inner(array.storage)
    if kinds.has_offsets(type):
        return partial(_strings, bits=kinds.offset_bits(type))
    if pa.types.is_string_view(type) or pa.types.is_binary_view(type):
        return _views
    if pa.types.is_dictionary(type):
        return partial(_dictionary, bits=type.index_type.bit_width, items=_check_of(type.value_type))
    if pa.types.is_map(type):
        return partial(_lists, bits=32, items=_check_of(pa.struct([type.key_field, type.item_field])))
    if kinds.is_list(type):
        return partial(_lists, bits=kinds.offset_bits(type), items=_check_of(type.value_type))
    if pa.types.is_fixed_size_list(type):
        return _fixed_lists(type.list_size, _check_of(type.value_type))
    if pa.types.is_struct(type):
        return _structs([_check_of(field.type) for field in type])
    return None


def _strings(array: pa.Array, bits: int) -> None:
    _, offsets, data = array.buffers()
    _check_offsets(array, offsets, bits, 0 if data is None else data.size)


def _views(array: pa.Array) -> None:
    array.cast(pa.binary_view()).validate(full=True)


def _lists(array: pa.Array, bits: int, items: _Check | None) -> None:
    values, offsets = array.values, array.buffers()[1]
    _check_offsets(array, offsets, bits, len(values))
    if items is not None and len(array):
        width = bits // 8
        # batches may be slices of one large array: items of other slices are not checked again
        first, last = (
            int.from_bytes(memoryview(offsets)[index * width :][:width], "little")
            for index in (array.offset, array.offset + len(array))
        )
        items(values.slice(first, last - first))


def _fixed_lists(size: int, items: _Check | None) -> _Check | None:
    if items is None:
        return None
    return lambda array: items(array.values.slice(array.offset * size, len(array) * size))


def _structs(members: list[_Check | None]) -> _Check | None:
    checks = [(i, check) for i, check in enumerate(members) if check is not None]

    def check_members(array: pa.Array) -> None:
        for i, check in checks:
            check(array.field(i))

    return check_members if checks else None


def _dictionary(array: pa.DictionaryArray, bits: int, items: _Check | None) -> None:
    if len(array) == 0:
        return
    dictionary = array.dictionary
    if array.null_count == 0:
        width = bits // 8
        keys = array.buffers()[1].slice(array.offset * width)
        # a negative key is a large one
        _kernels.check_indices(keys, bits, len(array), len(dictionary))
    else:
        bounds = pc.min_max(array.indices)
        least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
        if least is not None and not 0 <= least <= greatest < len(dictionary):
            raise ValueError(f"keys from {least} to {greatest} for a dictionary of {len(dictionary)} items")
    if items is not None:
        items(dictionary)


def _check_offsets(array: pa.Array, offsets: pa.Buffer, bits: int, num_items: int) -> None:
    if len(array):
        _kernels.check_offsets(offsets.slice(array.offset * bits // 8), bits, len(array), num_items)
