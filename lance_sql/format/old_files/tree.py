"""Pages without levels as values: NULLs, lists and strings are nodes of the tree of encodings as well.

Its leaves name their buffer of the page (`Stored`). Files 2.0 store the tree (`wire`); version 0.1 leaves it out
(`pages_v0_1`).
"""

from dataclasses import dataclass

from lance_sql.format.encodings.tree import Encoding
from lance_sql.format.layouts.tree import PageLayout


@dataclass(frozen=True, slots=True)
class Stored(Encoding):
    """Values in one buffer of the page, by its number."""

    buffer_index: int
    values: Encoding


@dataclass(frozen=True, slots=True)
class Nullable(Encoding):
    """Values with a bitmap in which a set bit is a valid value; NULLs have slots among the values."""

    validity: Encoding
    values: Encoding


@dataclass(frozen=True, slots=True)
class Bitpacked(Encoding):
    """Words truncated to `num_bits` bits, adjacent from the least significant bit on."""

    word_bits: int
    num_bits: int
    is_signed: bool


@dataclass(frozen=True, slots=True)
class Binary(Encoding):
    """Byte strings by their ends: string i is `bytes[end i - 1:end i]`, the first one begins at 0.

    A NULL adds `null_adjustment` to its end.
    """

    ends: Encoding
    bytes: Encoding
    null_adjustment: int


@dataclass(frozen=True, slots=True)
class OffsetBinary(Encoding):
    """Byte strings by their offsets, one more than strings; empty ones are NULL if `empty_is_null`."""

    offsets: Encoding
    bytes: Encoding
    empty_is_null: bool


@dataclass(frozen=True, slots=True)
class FixedSizeBinary(Encoding):
    """Byte strings that all have `num_bytes` bytes."""

    num_bytes: int
    values: Encoding


@dataclass(frozen=True, slots=True)
class Dictionary(Encoding):
    """Indices into `num_items` items."""

    indices: Encoding
    items: Encoding
    num_items: int


@dataclass(frozen=True, slots=True)
class List(Encoding):
    """Lists by their ends among `num_items` items of another column; a NULL adds `null_adjustment` to its end."""

    ends: Encoding
    null_adjustment: int
    num_items: int


@dataclass(frozen=True, slots=True)
class OffsetList(Encoding):
    """Lists by their offsets into `num_items` items of another column, one more than lists."""

    offsets: Encoding
    num_items: int


@dataclass(frozen=True, slots=True)
class StructHeader(Encoding):
    """Structs whose members have their own columns; none is NULL, and nothing is stored."""


@dataclass(frozen=True, slots=True)
class ArrayTree(PageLayout):
    """A page without levels; lists and structs have columns of their own. See `array_page`."""

    encoding: Encoding
