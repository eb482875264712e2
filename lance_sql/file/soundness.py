"""Arrow arrays that come from elsewhere: whether they hold what their type says.

Offsets, keys and views of a foreign stream are numbers that somebody else wrote. Arrow does not look at them, and reads
outside of its buffers where they are wrong. They are checked in one pass, without the values: a small part of what
writing costs. Text is taken to be UTF-8.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lance_sql import _kernels
from lance_sql.errors import InvalidArgument


def check_sound(batch: pa.RecordBatch) -> None:
    """Makes sure that reading the batch reads nothing outside of its buffers.

    raises: InvalidArgument with the column
    """
    try:
        # lengths, and that buffers are long enough
        batch.validate()
    except pa.ArrowInvalid as error:
        raise InvalidArgument(f"A batch is no valid Arrow data: {error}") from error
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        try:
            _check(array)
        except (ValueError, pa.ArrowException) as error:
            raise InvalidArgument(f"Column {name!r} is no valid Arrow data: {error}") from error


def _check(array: pa.Array) -> None:
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    type = array.type
    if len(array) == 0:
        return
    if pa.types.is_string(type) or pa.types.is_binary(type):
        _strings(array, 32)
    elif pa.types.is_large_string(type) or pa.types.is_large_binary(type):
        _strings(array, 64)
    elif pa.types.is_string_view(type) or pa.types.is_binary_view(type):
        array.cast(pa.binary_view()).validate(full=True)
    elif pa.types.is_dictionary(type):
        _dictionary(array)
    elif pa.types.is_list(type) or pa.types.is_map(type):
        _lists(array, 32)
    elif pa.types.is_large_list(type):
        _lists(array, 64)
    elif pa.types.is_fixed_size_list(type):
        _check(array.values.slice(array.offset * type.list_size, len(array) * type.list_size))
    elif pa.types.is_struct(type):
        for i in range(type.num_fields):
            _check(array.field(i))


def _strings(array: pa.Array, bits: int) -> None:
    _, offsets, data = array.buffers()
    _check_offsets(array, offsets, bits, 0 if data is None else data.size)


def _lists(array: pa.Array, bits: int) -> None:
    values, width = array.values, bits // 8
    offsets = array.buffers()[1]
    _check_offsets(array, offsets, bits, len(values))
    # batches may be parts of one large array: what others have of its items is not looked at again
    first, last = (
        int.from_bytes(memoryview(offsets)[place * width :][:width], "little")
        for place in (array.offset, array.offset + len(array))
    )
    _check(values.slice(first, last - first))


def _check_offsets(array: pa.Array, offsets: pa.Buffer, bits: int, num_items: int) -> None:
    width = bits // 8
    _kernels.check_offsets(offsets.slice(array.offset * width), bits, len(array), num_items)


def _dictionary(array: pa.DictionaryArray) -> None:
    keys = pc.min_max(array.indices)
    least, greatest = keys["min"].as_py(), keys["max"].as_py()
    if least is not None and not 0 <= least <= greatest < len(array.dictionary):
        raise ValueError(f"keys from {least} to {greatest} for a dictionary of {len(array.dictionary)} items")
    _check(array.dictionary)
