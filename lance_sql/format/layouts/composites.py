"""Values with parts, in the form for the kernels: fixed-size lists whose items may be NULL, structs that are stored as
one value, and the null type. Also values between the levels of full-zip pages.

The kernels get the shape of the Arrow array and the encoding of a value, each as a tree of tuples.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeAlias

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import fixed_size_list
from lance_sql.format.encodings.blocks import makes_items
from lance_sql.format.encodings.fsst import offset_bits
from lance_sql.format.encodings.general import KERNEL_COMPRESSIONS
from lance_sql.format.encodings.tree import (
    Constant,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    PackedField,
    PackedStruct,
    Variable,
    VariablePackedStruct,
)
from lance_sql.format.layouts.native import Form, NativePage, format_of
from lance_sql.format.layouts.value_codecs import uncompressed
from lance_sql.values import kinds

Tree: TypeAlias = tuple[object, ...]
"""A node: its kind, its numbers, and its children. See `_kernels.PageReader.nested_zip`."""


def form_of(type: pa.DataType) -> Form:
    """Returns the form of arrays of values with parts.

    raises: UnsupportedFeature for a type that has no shape
    """
    if makes_items(type):
        return Form(type.value_type, makes_items=True, is_composite=True)
    return Form(kinds.storage(type), is_composite=True)


@lru_cache(maxsize=1024)
def shape_of(type: pa.DataType) -> Tree:
    """Returns the shape of an array.

    raises: UnsupportedFeature for dictionaries, lists with offsets and maps inside of a value
    """
    type = kinds.storage(type)
    if pa.types.is_null(type):
        return ("null",)
    if pa.types.is_fixed_size_list(type):
        return "lists", type.list_size, shape_of(type.value_type)
    if pa.types.is_struct(type):
        return "struct", tuple(shape_of(type.field(i).type) for i in range(type.num_fields))
    if pa.types.is_fixed_size_binary(type) and type.byte_width == 0:
        return "plain", False, 0, False
    format = format_of(type)
    if format is None:
        raise UnsupportedFeature(f"values of {type} are not supported without a dictionary or levels")
    return "plain", *format, pa.types.is_decimal64(type)


def chunk_values(table: _kernels.ChunkTable, values: Encoding, leaf: pa.DataType) -> NativePage:
    """Returns the reader of values in chunks.

    raises: CorruptFile for values that cannot become the type, UnsupportedFeature
    """
    form = form_of(leaf)
    compression, inner = uncompressed(values)
    shape, cells = shape_of(form.type), _in_chunks(inner)
    with becoming(leaf):
        return NativePage(_kernels.PageReader.chunk_composites(table, shape, cells, compression=compression), form)


def repeated(leaf: pa.DataType, num_rows: int, value: bytes | None) -> NativePage:
    """Returns the reader of one value for all rows; None: all of them are NULL.

    value: of fixed width
    raises: CorruptFile for a value of another width, UnsupportedFeature
    """
    form = form_of(leaf)
    with becoming(leaf):
        return NativePage(_kernels.PageReader.repeated_composites(shape_of(form.type), num_rows, value), form)


@contextmanager
def becoming(leaf: pa.DataType) -> Iterator[None]:
    """Adds the type that values become to errors of readers that do not fit it.

    raises: CorruptFile
    """
    try:
        yield
    except _kernels.InvalidDataError as error:
        raise CorruptFile(f"{error}: the column has {leaf}") from None


def _in_chunks(values: Encoding) -> Tree:
    match values:
        case Flat(bits_per_value=bits):
            return "numbers", bits
        case FixedSizeList():
            return _lists(values)
        case PackedStruct(field_bits=bits, values=inner):
            if not bits or any(width % 8 for width in bits):
                raise UnsupportedFeature(f"packed structs with fields of {bits} bits are not supported")
            if inner != Flat(sum(bits)):
                raise CorruptFile(f"packed structs of {sum(bits)} bits encoded as {inner}")
            return "fields", bits
    raise UnsupportedFeature(f"encoding {type(values).__name__} is not supported in a mini-block page")


def _lists(values: FixedSizeList) -> Tree:
    lists, items = fixed_size_list.levels(values)
    tree: Tree = ("numbers", items.bits_per_value) if isinstance(items, Flat) else ("nulls",)
    for level in reversed(lists):
        tree = ("lists", level.dimension, level.has_validity, tree)
    return tree


def fixed_values(values: Encoding) -> Tree:
    """Returns the tree of values of one width between levels.

    raises: UnsupportedFeature, CorruptFile
    """
    match values:
        case Flat(bits_per_value=bits):
            return "numbers", bits
        case FixedSizeList():
            return _lists(values)
        case Constant(value=None):
            return ("nulls",)
    raise UnsupportedFeature(f"encoding {type(values).__name__} is not supported in a full-zip page of fixed width")


def variable_values(values: Encoding) -> Tree:
    """Returns the tree of byte strings between levels.

    raises: UnsupportedFeature, CorruptFile
    """
    match values:
        case Variable():
            return ("strings",)
        case Fsst(symbol_table=table):
            offset_bits(values)
            return "symbols", table
        case General(compression=compression, values=inner):
            return "compressed", KERNEL_COMPRESSIONS[compression], variable_values(inner)
        case VariablePackedStruct(fields=fields):
            return "packed", tuple(map(_field, fields))
        case Constant(value=None):
            return ("nulls",)
    raise UnsupportedFeature(f"encoding {type(values).__name__} is not supported in a full-zip page of variable width")


def _field(field: PackedField) -> Tree:
    if field.bits_per_value is not None:
        return field.bits_per_value, fixed_values(field.values)
    assert field.bits_per_length is not None
    return field.bits_per_length, variable_values(field.values)
