"""Kinds of Arrow types: what code asks of a type beside its name, one record for each.

An extension type is of no kind; ask its storage. `pa.types` remains for questions about one type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, TypeAlias

import pyarrow as pa

NANOSECONDS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Of the units of times, coarse to fine."""
UNITS: Final = tuple(NANOSECONDS)
NANOSECONDS_PER_DAY: Final = 86_400 * NANOSECONDS["s"]
EXACT_BITS: Final = {16: 11, 32: 24, 64: 53}
"""Number of integer bits that floats of a width represent exactly."""

_Make: TypeAlias = Callable[[pa.DataType, Sequence[pa.Field]], pa.DataType]


class Family(Enum):
    """Types whose values are alike."""

    BOOLEAN = auto()
    INTEGER = auto()
    FLOAT = auto()
    DECIMAL = auto()
    DATE = auto()
    TIME = auto()
    TIMESTAMP = auto()
    DURATION = auto()
    TEXT = auto()
    BYTES = auto()
    LIST = auto()
    FIXED_SIZE_LIST = auto()
    STRUCT = auto()
    MAP = auto()
    OTHER = auto()
    """NULL, intervals, dictionaries, run ends and extensions."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of types.

    offset_bits: of the offsets of values or items; 0 for views and types without offsets
    make: returns a nested type with other members, as `members` has them
    """

    family: Family
    offset_bits: int = 0
    make: _Make | None = None


def _struct(type: pa.DataType, members: Sequence[pa.Field]) -> pa.DataType:
    return pa.struct(members)


def _fixed_size_list(type: pa.DataType, members: Sequence[pa.Field]) -> pa.DataType:
    return pa.list_(members[0], type.list_size)


def _map(type: pa.DataType, members: Sequence[pa.Field]) -> pa.DataType:
    key, item = members[0].type
    return pa.map_(key, item, keys_sorted=type.keys_sorted)


def _list(make: Callable[[pa.Field], pa.DataType]) -> _Make:
    return lambda type, members: make(members[0])


_EXAMPLES: Final = (
    (pa.bool_(), Kind(Family.BOOLEAN)),
    *((type, Kind(Family.INTEGER)) for type in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    *((type, Kind(Family.INTEGER)) for type in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
    *((type, Kind(Family.FLOAT)) for type in (pa.float16(), pa.float32(), pa.float64())),
    *((make(9, 0), Kind(Family.DECIMAL)) for make in (pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256)),
    *((type, Kind(Family.DATE)) for type in (pa.date32(), pa.date64())),
    *((type, Kind(Family.TIME)) for type in (pa.time32("s"), pa.time64("us"))),
    (pa.timestamp("us"), Kind(Family.TIMESTAMP)),
    (pa.duration("us"), Kind(Family.DURATION)),
    (pa.string(), Kind(Family.TEXT, 32)),
    (pa.large_string(), Kind(Family.TEXT, 64)),
    (pa.string_view(), Kind(Family.TEXT)),
    (pa.binary(), Kind(Family.BYTES, 32)),
    (pa.large_binary(), Kind(Family.BYTES, 64)),
    (pa.binary_view(), Kind(Family.BYTES)),
    (pa.binary(1), Kind(Family.BYTES)),
    (pa.list_(pa.null()), Kind(Family.LIST, 32, _list(pa.list_))),
    (pa.large_list(pa.null()), Kind(Family.LIST, 64, _list(pa.large_list))),
    (pa.list_view(pa.null()), Kind(Family.LIST, 0, _list(pa.list_view))),
    (pa.large_list_view(pa.null()), Kind(Family.LIST, 0, _list(pa.large_list_view))),
    (pa.list_(pa.null(), 1), Kind(Family.FIXED_SIZE_LIST, 0, _fixed_size_list)),
    (pa.struct([]), Kind(Family.STRUCT, 0, _struct)),
    (pa.map_(pa.string(), pa.null()), Kind(Family.MAP, 32, _map)),
)
KINDS: Final = {type.id: kind for type, kind in _EXAMPLES}
"""The kinds by the `id` of a type."""
_OTHER: Final = Kind(Family.OTHER)


def kind(type: pa.DataType) -> Kind:
    return KINDS.get(type.id, _OTHER)


def is_text(type: pa.DataType) -> bool:
    """Whether values are texts, with offsets or as views."""
    return kind(type).family is Family.TEXT


def is_bytes(type: pa.DataType) -> bool:
    """Whether values are bytes, with offsets, as views, or of a fixed size."""
    return kind(type).family is Family.BYTES


def has_offsets(type: pa.DataType) -> bool:
    """Whether values are texts or bytes with offsets."""
    found = kind(type)
    return found.offset_bits > 0 and found.family in _STRINGS


def is_list(type: pa.DataType) -> bool:
    """Whether values are lists with offsets."""
    found = kind(type)
    return found.offset_bits > 0 and found.family is Family.LIST


def has_items(type: pa.DataType) -> bool:
    """Whether values are lists of any kind: with offsets, as views, or of a fixed size."""
    return kind(type).family in _ITEMS


def offset_bits(type: pa.DataType) -> int:
    """Returns the bits of an offset of texts, bytes, lists and maps; 0 for types without offsets."""
    return kind(type).offset_bits


def offset_type(type: pa.DataType) -> pa.DataType:
    """Returns the type of the offsets of a type that has them."""
    return pa.int64() if offset_bits(type) == 64 else pa.int32()


def list_array(type: pa.DataType) -> Any:
    """Returns the class of the arrays of a list with offsets."""
    return pa.LargeListArray if offset_bits(type) == 64 else pa.ListArray


def is_number(type: pa.DataType) -> bool:
    """Whether values are integers, floats or decimals."""
    return kind(type).family in _NUMBERS


def is_clock(type: pa.DataType) -> bool:
    """Whether values are dates, times, timestamps or durations, which Arrow stores as one integer."""
    return kind(type).family in _CLOCKS


def has_date(type: pa.DataType) -> bool:
    """Whether values are dates or timestamps."""
    return kind(type).family in _DATES


_ITEMS: Final = frozenset({Family.LIST, Family.FIXED_SIZE_LIST})
_STRINGS: Final = frozenset({Family.TEXT, Family.BYTES})
_NUMBERS: Final = frozenset({Family.INTEGER, Family.FLOAT, Family.DECIMAL})
_DATES: Final = frozenset({Family.DATE, Family.TIMESTAMP})
_CLOCKS: Final = _DATES | {Family.TIME, Family.DURATION}


def storage(type: pa.DataType) -> pa.DataType:
    """Returns the type under extension types."""
    while isinstance(type, pa.BaseExtensionType):
        type = type.storage_type
    return type


def decoded(type: pa.DataType) -> pa.DataType:
    """Returns the type of the values themselves: no extension, dictionary or run ends."""
    while isinstance(type, pa.BaseExtensionType) or pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        type = type.storage_type if isinstance(type, pa.BaseExtensionType) else type.value_type
    return type


def wide(type: pa.DataType) -> pa.DataType:
    """Returns one type for texts, one for bytes of any length, and decimals of at least 128 bits; others unchanged."""
    found = kind(type).family
    if found is Family.TEXT:
        return pa.large_string()
    if found is Family.BYTES and not pa.types.is_fixed_size_binary(type):
        return pa.large_binary()
    if found is Family.DECIMAL and type.bit_width < 128:
        return pa.decimal128(type.precision, type.scale)
    return type


def members(type: pa.DataType) -> list[pa.Field]:
    """Returns the fields inside a type: members of a struct, items of lists, entries of a map; none for others."""
    count = type.num_fields
    return [type.field(number) for number in range(count)] if count and kind(type).make is not None else []


def with_members(type: pa.DataType, changed: Sequence[pa.Field]) -> pa.DataType:
    """Returns a nested type with other members, as `members` has them; the type itself if it is not nested."""
    make = kind(type).make
    return type if make is None else make(type, changed)


def with_leaves(type: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Returns a type with other innermost types; list views stay, because Arrow casts none of them."""
    found = kind(type)
    if found.family is Family.LIST and not found.offset_bits:
        return type
    if found.make is None:
        return change(type)
    return found.make(type, [field.with_type(with_leaves(field.type, change)) for field in members(type)])


def any_leaf(type: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    """Whether one of the innermost types passes a test."""
    if kind(type).make is None:
        return test(type)
    return any(any_leaf(field.type, test) for field in members(type))
