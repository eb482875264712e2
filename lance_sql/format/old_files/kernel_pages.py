"""Pages without levels that the kernels read and test.

Their values, bitmaps, strings and keys are stored unencoded, in buffers that are fetched together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.blocks import VariableWidth
from lance_sql.format.encodings.tree import Constant, Encoding, FixedSizeList, Flat
from lance_sql.format.layouts.form import Form, OpenPage, format_of, list_size_of
from lance_sql.format.layouts.matching import ValueTest, range_test
from lance_sql.format.old_files.arrays import to_array
from lance_sql.format.old_files.tree import Binary, Dictionary, Nullable, Stored
from lance_sql.format.old_files.values import Values
from lance_sql.store import ByteRange
from lance_sql.values import kinds

END_BITS = 64
_KEY_BITS = (8, 16, 32)


def array_page(
    encoding: Encoding,
    buffers: Sequence[ByteRange | pa.Buffer],
    num_rows: int,
    leaf: pa.DataType,
    items: Values | None,
    *,
    has_null_key: bool,
) -> tuple[OpenPage, ByteRange] | None:
    """Returns the reader of a page, and the bytes of all its buffers; None for pages that Python reads.

    buffers: those in memory are not bytes of the page
    items: of the dictionary, if the page has one
    raises: ValueError for buffers that are too short
    """
    storage = kinds.storage(leaf)
    format, list_size = format_of(storage), list_size_of(storage)
    ranges = [buffer for buffer in buffers if isinstance(buffer, ByteRange)]
    if format is None:
        return None
    if encoding == Constant(None):
        nulls = _kernels.PageReader.constant(num_rows, format=format, list_size=list_size, value=None)
        return OpenPage(nulls, Form(storage)), ByteRange(0, 0)
    if not ranges:
        return None
    where = ByteRange(min(each.start for each in ranges), max(each.end for each in ranges))

    def range_of(stored: Encoding, bits: int) -> tuple[int, int] | None:
        """Returns the position of values of this many bits, relative to the page's bytes."""
        if not isinstance(stored, Stored) or stored.values != Flat(bits):
            return None
        buffer = buffers[stored.buffer_index]
        return (buffer.start - where.start, buffer.end - buffer.start) if isinstance(buffer, ByteRange) else None

    reader = _reader(encoding, range_of, num_rows, where.end - where.start, format, list_size, items, has_null_key)
    return None if reader is None else (OpenPage(reader, Form(storage)), where)


def _reader(
    encoding: Encoding,
    range_of: Callable[[Encoding, int], tuple[int, int] | None],
    num_rows: int,
    size: int,
    format: tuple[bool, int],
    list_size: int | None,
    items: Values | None,
    has_null_key: bool,
) -> _kernels.PageReader | None:
    """Returns the reader of a page with values; None for pages that Python reads.

    range_of: position of values of so many bits in the page
    size: of the page in bytes
    others: as for `array_page`
    """
    has_offsets, bits = format
    match encoding:
        case Dictionary(indices=Stored(values=Flat(bits_per_value=key_bits)) as indices) if key_bits in _KEY_BITS:
            keys = range_of(indices, key_bits)
            block = items.block if items is not None and items.validity is None else None
            if not has_offsets or keys is None or not isinstance(block, VariableWidth):
                return None
            strings = _with_null(block) if has_null_key else block
            return _kernels.PageReader.array_keys(
                num_rows,
                size=size,
                keys=keys,
                key_bits=key_bits,
                num_items=strings.num_values,
                offset_bits=strings.offset_bits,
                offsets=strings.offsets,
                data=strings.data,
                first_is_null=has_null_key,
                format=format,
            )
        case Binary(ends=ends, bytes=data, null_adjustment=adjustment):
            end_range, content = range_of(ends, END_BITS), range_of(data, 8)
            if not has_offsets or end_range is None or content is None:
                return None
            return _kernels.PageReader.array_strings(
                num_rows, size=size, ends=end_range, bytes=content, null_adjustment=adjustment, format=format
            )
        case _:
            validity = None
            if isinstance(encoding, Nullable):
                validity = range_of(encoding.validity, 1)
                if validity is None:
                    return None
                encoding = encoding.values
            if list_size is not None:
                if not isinstance(encoding, FixedSizeList) or encoding.dimension != list_size:
                    return None
                values = range_of(encoding.values, bits // list_size)
            else:
                values = range_of(encoding, bits)
            if has_offsets or values is None:
                return None
            return _kernels.PageReader.array_values(
                num_rows, size=size, values=values, validity=validity, format=format, list_size=list_size
            )


def array_test(
    encoding: Encoding, items: Values | None, leaf: pa.DataType, test: ValueTest, *, has_null_key: bool
) -> _kernels.PageTest | bool | None:
    """Returns the test for a page with a reader: one answer for all rows, or a test for the kernels; None if the values
    must be decoded.

    items: of the dictionary, if the page has one
    """
    if encoding == Constant(None):
        return bool(test.wants_null)
    has_nulls = isinstance(encoding, (Nullable, Binary)) or (isinstance(encoding, Dictionary) and has_null_key)
    if test.wants_null is not None:
        return _kernels.PageTest.validity(not test.wants_null) if has_nulls else not test.wants_null
    match encoding:
        case Dictionary():
            assert items is not None
            null = np.zeros(int(has_null_key), np.bool_)
            answers = np.concatenate((null, test.answers(to_array(items.block, leaf))))
        case Binary():
            strings = test.strings
            return None if strings is None else _kernels.PageTest.strings(strings.low, strings.end, strings.inside)
        case _ if pa.types.is_boolean(leaf):
            answers = test.answers(pa.array([False, True]))
        case _:
            return range_test(test.keys) if test.keys is not None and test.keys.num_bits == _width(leaf) else None
    return _kernels.PageTest.items(np.ascontiguousarray(answers).view(np.uint8)) if answers.any() else False


def _width(leaf: pa.DataType) -> int | None:
    """Returns the bits of a value; None for values that are not numbers."""
    format = format_of(leaf) if not isinstance(leaf, pa.BaseExtensionType) and list_size_of(leaf) is None else None
    return format[1] if format is not None and not format[0] else None


def _with_null(items: VariableWidth) -> VariableWidth:
    """Prepends an empty item, which stands for NULL."""
    offsets = np.frombuffer(items.offsets, f"<i{items.offset_bits // 8}", items.num_values + 1)
    moved = np.ascontiguousarray(np.concatenate((offsets[:1], offsets)))
    return VariableWidth(items.num_values + 1, items.offset_bits, pa.py_buffer(moved), items.data)
