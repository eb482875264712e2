"""The encodings of the format as values: a tree of frozen dataclasses.

A page describes the conversion of its values to buffers by such a tree, and codecs see only the tree. `wire_v2_1` has
its messages. Pages of files up to 2.0 have more nodes: see `format.old_files.tree`.
"""

import re
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Encoding:
    """One node of the tree."""


class Compression(Enum):
    """General purpose compressors (message BufferCompression)."""

    LZ4 = "lz4"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True)
class Flat(Encoding):
    """Contiguous values, `bits_per_value` bits each, least significant bit first."""

    bits_per_value: int


@dataclass(frozen=True, slots=True)
class Variable(Encoding):
    """Byte strings: offsets of `offset_bits` bits, then the bytes."""

    offset_bits: int


@dataclass(frozen=True, slots=True)
class Constant(Encoding):
    """Every value equals `value`; without one every value is null and takes no bytes."""

    value: bytes | None


@dataclass(frozen=True, slots=True)
class InlineBitpacking(Encoding):
    """Groups of 1024 words in FastLanes order, each group after a word with its width."""

    word_bits: int


@dataclass(frozen=True, slots=True)
class OutOfLineBitpacking(Encoding):
    """Groups of 1024 words in FastLanes order, all `num_bits` wide, without a header."""

    word_bits: int
    num_bits: int


@dataclass(frozen=True, slots=True)
class Fsst(Encoding):
    """Byte strings whose bytes are codes of a table of at most 255 symbols."""

    symbol_table: bytes
    values: Encoding


@dataclass(frozen=True, slots=True)
class Rle(Encoding):
    """Runs: run i repeats `values[i]` for `run_lengths[i]` items."""

    values: Encoding
    run_lengths: Encoding


@dataclass(frozen=True, slots=True)
class ByteStreamSplit(Encoding):
    """The first bytes of all values, then all second bytes, and so on."""

    values: Encoding


@dataclass(frozen=True, slots=True)
class General(Encoding):
    """Buffers of `values`, compressed as opaque bytes."""

    compression: Compression
    values: Encoding


@dataclass(frozen=True, slots=True)
class FixedSizeList(Encoding):
    """Lists of `dimension` items each; `has_validity` puts a bitmap of the items before them."""

    dimension: int
    values: Encoding
    has_validity: bool


@dataclass(frozen=True, slots=True)
class PackedStruct(Encoding):
    """Rows of a struct whose fields have fixed widths, one row after the other."""

    field_bits: tuple[int, ...]
    values: Encoding


@dataclass(frozen=True, slots=True)
class PackedField:
    """One field of a `VariablePackedStruct`: of `bits_per_value`, or after a length of `bits_per_length`."""

    values: Encoding
    bits_per_value: int | None
    bits_per_length: int | None


@dataclass(frozen=True, slots=True)
class VariablePackedStruct(Encoding):
    """Rows of a struct with some fields of variable length."""

    fields: tuple[PackedField, ...]


def title(node: object) -> str:
    """Returns the words for a page layout or an encoding, from the outside: "general of flat"."""
    words = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
    if isinstance(node, FixedSizeList) and node.has_validity:
        words += " with NULL items"
    names = ("inner", "encoding", "values", "indices")
    inside = next((getattr(node, name) for name in names if hasattr(node, name)), None)
    return words if inside is None else f"{words} of {title(inside)}"
