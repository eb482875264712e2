"""The encodings of the format as values: one tree of frozen dataclasses for every file version.

A page says how its values became buffers by such a tree. File versions spell it differently (`wire_v2_0`,
`wire_v2_1`, `wire_v2_3`; files of version 0.1 do not spell it at all, see `format.layouts.plain`); codecs see only the
tree.

File versions up to 2.0 have no levels: NULLs, lists and strings are nodes of the tree as well, and its leaves name the
buffer of the page that they are in (`Stored`).
"""

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
    """Values side by side, `bits_per_value` bits each, least significant bit first."""

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
    """Groups of 1024 words in FastLanes order, each group behind a word that holds its width."""

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
    """One field of a `VariablePackedStruct`: of `bits_per_value`, or behind a length of `bits_per_length`."""

    values: Encoding
    bits_per_value: int | None
    bits_per_length: int | None


@dataclass(frozen=True, slots=True)
class VariablePackedStruct(Encoding):
    """Rows of a struct in which some fields vary in length."""

    fields: tuple[PackedField, ...]


@dataclass(frozen=True, slots=True)
class Range(Encoding):
    """start, start + step, start + 2 * step, ...: no buffer (file version 2.3, as the next three)."""

    bits_per_value: int
    start: int
    step: int


@dataclass(frozen=True, slots=True)
class Delta(Encoding):
    """`base`, and what each further value is larger than the one before."""

    bits_per_value: int
    base: int
    deltas: Encoding


@dataclass(frozen=True, slots=True)
class DictionaryBlock(Encoding):
    """Indices and the items that they mean, one after the other in one buffer."""

    indices: Encoding
    items: Encoding
    num_items: int


@dataclass(frozen=True, slots=True)
class OffsetVariable(Encoding):
    """Byte strings whose offsets are encoded, in a buffer of their own."""

    offsets: Encoding


@dataclass(frozen=True, slots=True)
class Stored(Encoding):
    """Values in one buffer of the page, by its number."""

    buffer_index: int
    values: Encoding


@dataclass(frozen=True, slots=True)
class Nullable(Encoding):
    """Values beside a bitmap in which a set bit is a valid value; NULLs take room among the values."""

    validity: Encoding
    values: Encoding


@dataclass(frozen=True, slots=True)
class Bitpacked(Encoding):
    """Words cut to `num_bits` bits, side by side from the least significant bit on."""

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
    """Byte strings by their offsets, one more than there are strings; NULL where one is empty and may be NULL."""

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
    """Lists by their offsets into `num_items` items of another column, one more than there are lists."""

    offsets: Encoding
    num_items: int


@dataclass(frozen=True, slots=True)
class StructHeader(Encoding):
    """Structs whose members have columns of their own; none is NULL, and nothing is stored."""
