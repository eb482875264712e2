"""Types of columns, each with values that numbers stand for. A new type is one line."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

VERSIONS = ("2.0", "2.1", "2.2")


@dataclass(frozen=True)
class Kind:
    """A type.

    type: of the column
    value: of a number, in the storage type
    versions: of files that hold it
    encode: of the arrays of values; for example with a new dictionary for each batch
    """

    type: pa.DataType
    value: Callable[[int], Any]
    versions: Sequence[str] = VERSIONS
    encode: Callable[[pa.Array, pa.DataType], pa.Array] | None = None

    def array(self, numbers: Sequence[int | None]) -> pa.Array:
        """The values of some numbers, NULL for None."""
        values = [None if number is None else self.value(number) for number in numbers]
        if self.encode is not None:
            return self.encode(pa.array(values), self.type)
        if isinstance(self.type, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(self.type, pa.array(values, self.type.storage_type))
        return pa.array(values, self.type)


def _dictionary(array: pa.Array, type: pa.DataType) -> pa.Array:
    """With items in the order in which they come, and one that no row has."""
    items = array.unique().drop_null()
    keys = pa.array([None if value is None else items.to_pylist().index(value) for value in array.to_pylist()])
    more = pa.concat_arrays([items, items.slice(0, 0)])
    return pa.DictionaryArray.from_arrays(keys.cast(type.index_type), more.cast(type.value_type))


def _json(array: pa.Array, type: pa.DataType) -> pa.Array:
    return pa.ExtensionArray.from_storage(type, array.cast(pa.string()))


def _inside(type: pa.DataType) -> Callable[[pa.Array, pa.DataType], pa.Array]:
    def encode(array: pa.Array, outer: pa.DataType) -> pa.Array:
        values = pa.ExtensionArray.from_storage(type, array.cast(type.storage_type))
        return pa.StructArray.from_arrays([values], fields=list(outer), mask=array.is_null())

    return encode


def _day(number: int) -> dt.date:
    return dt.date(2026, 1, 1) + dt.timedelta(days=number)


def _moment(number: int) -> dt.datetime:
    return dt.datetime(2026, 1, 1) + dt.timedelta(seconds=number)


def _utc(number: int) -> dt.datetime:
    return _moment(number).replace(tzinfo=dt.UTC)


def _time(number: int) -> dt.time:
    return (dt.datetime(2026, 1, 1) + dt.timedelta(seconds=number)).time()


def _span(number: int) -> dt.timedelta:
    return dt.timedelta(seconds=number)


def _text(number: int) -> str:
    return f"v{number}"


def _bytes(number: int) -> bytes:
    return b"%03d" % number


NULL_STRUCTS = VERSIONS[1:]
MAPS = VERSIONS[2:]
MEMBER = pa.field("a", pa.int64(), nullable=False)
TYPES: dict[str, Kind] = {
    "bool": Kind(pa.bool_(), lambda number: number % 2 == 0),
    **{name: Kind(getattr(pa, name)(), int) for name in ("int8", "int16", "int32", "int64")},
    **{name: Kind(getattr(pa, name)(), int) for name in ("uint8", "uint16", "uint32", "uint64")},
    **{name: Kind(getattr(pa, name)(), lambda number: number / 2) for name in ("float16", "float32", "float64")},
    "string": Kind(pa.string(), _text),
    "large_string": Kind(pa.large_string(), _text),
    "binary": Kind(pa.binary(), _bytes),
    "large_binary": Kind(pa.large_binary(), _bytes),
    "fixed_binary": Kind(pa.binary(3), _bytes),
    "decimal128": Kind(pa.decimal128(10, 2), lambda number: Decimal(number) / 4),
    "decimal256": Kind(pa.decimal256(50, 2), lambda number: Decimal(number) / 4),
    "date32": Kind(pa.date32(), _day),
    "date64": Kind(pa.date64(), _day),
    "time32": Kind(pa.time32("ms"), _time),
    "time64": Kind(pa.time64("us"), _time),
    **{f"timestamp_{unit}": Kind(pa.timestamp(unit), _moment) for unit in ("s", "ms", "us", "ns")},
    "timestamp_utc": Kind(pa.timestamp("us", "UTC"), _utc),
    "timestamp_offset": Kind(pa.timestamp("ms", "+05:30"), _utc),
    **{f"duration_{unit}": Kind(pa.duration(unit), _span) for unit in ("s", "ms", "us", "ns")},
    **{
        f"dictionary_{name}": Kind(pa.dictionary(getattr(pa, name)(), pa.string()), _text, encode=_dictionary)
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
    },
    "dictionary_binary": Kind(pa.dictionary(pa.int16(), pa.binary()), _bytes, encode=_dictionary),
    "dictionary_ints": Kind(pa.dictionary(pa.int8(), pa.int64()), int, encode=_dictionary),
    "uuid": Kind(pa.uuid(), lambda number: UUID(int=number).bytes),
    "json": Kind(pa.json_(pa.string()), lambda number: f'{{"k":{number}}}', encode=_json),
    "bool8": Kind(pa.bool8(), lambda number: number % 2),
    "opaque": Kind(pa.opaque(pa.binary(), "blob", "test"), _bytes),
    "vector": Kind(pa.list_(pa.float32(), 2), lambda number: [number, number / 2]),
    "half_vector": Kind(pa.list_(pa.float16(), 2), lambda number: [number, number / 2]),
    "list": Kind(pa.list_(pa.int64()), lambda number: list(range(number % 4))),
    "large_list": Kind(pa.large_list(pa.string()), lambda number: [_text(number), None]),
    "list_of_lists": Kind(pa.list_(pa.list_(pa.int32())), lambda number: [[number], []]),
    "struct": Kind(pa.struct([("a", pa.int64()), ("b", pa.string())]), lambda n: {"a": n, "b": _text(n)}, NULL_STRUCTS),
    "strict_struct": Kind(pa.struct([MEMBER]), lambda number: {"a": number}, NULL_STRUCTS),
    "deep_struct": Kind(
        pa.struct([pa.field("s", pa.struct([MEMBER]), nullable=False)]),
        lambda number: {"s": {"a": number}},
        NULL_STRUCTS,
    ),
    "list_of_structs": Kind(
        pa.list_(pa.struct([("a", pa.int64())])), lambda number: [{"a": number}, None], NULL_STRUCTS
    ),
    "struct_of_json": Kind(
        pa.struct([pa.field("j", pa.json_(pa.string()))]),
        lambda number: f'{{"k":{number}}}',
        NULL_STRUCTS,
        _inside(pa.json_(pa.string())),
    ),
    "struct_of_uuid": Kind(
        pa.struct([pa.field("u", pa.uuid())]), lambda number: UUID(int=number).bytes, NULL_STRUCTS, _inside(pa.uuid())
    ),
    "map": Kind(pa.map_(pa.string(), pa.int64()), lambda number: [(_text(number), number)], MAPS),
}
