"""The form of the arrays of a reader of the kernels, and their conversion to the type of a column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import PageForm
from lance_sql.errors import LanceError
from lance_sql.values import kinds

MAX_LIST_SIZE = 1 << 20
"""Maximum items of a fixed-size list that the kernels read as one value."""


@dataclass(frozen=True, slots=True)
class Form:
    """Arrays of a reader, and their conversion.

    type: of the arrays from the reader
    items: dictionary items of their indices; pages with different items make separate arrays
    makes_items: whether they are strings to be dictionary-encoded
    is_composite: whether a reader of values with parts makes them
    """

    type: pa.DataType
    items: pa.Array | None = None
    makes_items: bool = False
    is_composite: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Form) or self.makes_items != other.makes_items:
            return False
        same_reader = self.is_composite == other.is_composite
        return same_reader and self.type == other.type and self.items is other.items

    def __hash__(self) -> int:
        return hash(self.type)

    def finish(self, array: pa.Array, leaf: pa.DataType) -> pa.Array:
        """Converts the array to the column's type."""
        if self.items is not None:
            return pa.DictionaryArray.from_arrays(array, self.items, ordered=leaf.ordered, safe=False)
        if self.makes_items:
            return array.dictionary_encode()
        if isinstance(leaf, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(leaf, array)
        return array


def makes_items(type: pa.DataType) -> bool:
    """Whether strings without a dictionary can become arrays of the type: indices of the distinct ones among them."""
    if not pa.types.is_dictionary(type) or type.ordered or type.index_type != pa.int32():
        return False
    return kinds.has_offsets(type.value_type)


@lru_cache(maxsize=4096)
def form_of(leaf: pa.DataType, found: PageForm) -> Form | None:
    """Returns the form of a page of files 2.1 and 2.2 whose values are no indices; None if there are no arrays.

    leaf: the type that its values become
    """
    if found == PageForm.NONE:
        return None
    makes = makes_items(leaf)
    type = leaf.value_type if makes else kinds.storage(leaf)
    return Form(type, makes_items=makes, is_composite=found == PageForm.PARTS)


@dataclass(frozen=True, slots=True)
class OpenPage:
    """A reader and its form; without one, it only tests whether values are NULL.

    refusal: the error to raise for the values of a page without a form; None if Python decodes them
    """

    reader: _kernels.PageReader
    form: Form | None
    refusal: LanceError | None = None


def nulls_page(type: pa.DataType, num_rows: int) -> OpenPage | None:
    """Returns the reader of a page of NULLs; None for types whose arrays the kernels cannot build."""
    storage = kinds.storage(type)
    if pa.types.is_dictionary(storage):
        indices = _kernels.PageReader.constant(num_rows, format=(False, storage.index_type.bit_width), value=None)
        return OpenPage(indices, Form(storage.index_type, pa.array([], storage.value_type)))
    format = format_of(storage)
    if format is None:
        return None
    reader = _kernels.PageReader.constant(num_rows, format=format, list_size=list_size_of(storage), value=None)
    return OpenPage(reader, Form(storage))


def format_of(type: pa.DataType) -> tuple[bool, int] | None:
    """Returns whether arrays of the type have offsets, and the bits of an offset or a value; None for other types."""
    if kinds.has_offsets(type):
        return True, kinds.offset_bits(type)
    list_size = list_size_of(type)
    if list_size is not None:
        format = format_of(type.value_type)
        return (False, list_size * format[1]) if format is not None else None
    if pa.types.is_nested(type) or pa.types.is_null(type) or pa.types.is_dictionary(type):
        return None
    try:
        bits = type.bit_width
    except ValueError:
        return None
    return (False, bits) if bits == 1 or (bits > 0 and bits % 8 == 0) else None


def list_size_of(type: pa.DataType) -> int | None:
    """Returns the items of a fixed-size list of values of whole bytes; None for other types."""
    if not pa.types.is_fixed_size_list(type) or not 0 < type.list_size <= MAX_LIST_SIZE:
        return None
    items = type.value_type
    if pa.types.is_nested(items) or pa.types.is_dictionary(items) or isinstance(items, pa.BaseExtensionType):
        return None
    format = format_of(items)
    is_whole = format is not None and not format[0] and format[1] % 8 == 0
    return int(type.list_size) if is_whole else None
