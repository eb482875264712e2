"""Damage inside the messages of a file: they still parse, with other contents."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from lance_sql.format.proto import (
    encodings_v2_0_pb2,
    encodings_v2_1_pb2,
    file2_pb2,
    table_pb2,
)

from .tables import metadata_start

_NUMBERS = (0, 1, 2, 3, 7, 8, 9, 16, 31, 32, 64, 255, 1000, 2**15, 2**16, 2**20, 2**31 - 1, 2**31, 2**32 - 1)
_LONG = (2**32, 2**40, 2**48, 2**60, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
_LONG_TYPES = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)

_LAYOUTS: dict[str, type[Message]] = {
    "ArrayEncoding": encodings_v2_0_pb2.ArrayEncoding,
    "PageLayout": encodings_v2_1_pb2.PageLayout,
}


def damage_message(rng: np.random.Generator, message: Message) -> None:
    """One field somewhere below `message` is changed, dropped, or repeated."""
    places = list(_places(message))
    if places:
        owner, field = places[int(rng.integers(len(places)))]
        _damage_field(rng, owner, field)


def damage_columns(rng: np.random.Generator, data: bytes) -> bytes:
    """A data file in whose column metadata, page layouts included, one field is damaged."""
    columns, others = _parts(data)
    damaged = int(rng.integers(len(columns)))
    column = file2_pb2.ColumnMetadata.FromString(columns[damaged])
    if column.pages and rng.random() < 0.8:
        page = column.pages[int(rng.integers(len(column.pages)))]
        encoding = AnyMessage.FromString(page.encoding.direct.encoding)
        layout = _LAYOUTS[encoding.type_url.rpartition(".")[2]]()
        layout.MergeFromString(encoding.value)
        damage_message(rng, layout)
        encoding.value = layout.SerializeToString()
        page.encoding.direct.encoding = encoding.SerializeToString()
    else:
        damage_message(rng, column)
    columns[damaged] = column.SerializeToString()
    return _file(data, columns, others)


def column_messages(data: bytes) -> list[file2_pb2.ColumnMetadata]:
    """The metadata of every column of a data file."""
    return [file2_pb2.ColumnMetadata.FromString(column) for column in _parts(data)[0]]


def with_columns(data: bytes, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """A data file with other column metadata, given what it has."""
    columns, others = _parts(data)
    return _file(data, change(columns), others)


def with_manifest(data: bytes, change: Callable[[table_pb2.Manifest], None]) -> bytes:
    """A manifest file whose message is changed."""
    (position,) = struct.unpack_from("<Q", data, len(data) - 16)
    (length,) = struct.unpack_from("<I", data, position)
    manifest = table_pb2.Manifest.FromString(data[position + 4 : position + 4 + length])
    change(manifest)
    content = bytes(manifest.SerializeToString())
    return data[:position] + struct.pack("<I", len(content)) + content + data[-16:]


def damage_manifest(rng: np.random.Generator, data: bytes) -> bytes:
    """A manifest in which one field is damaged."""
    return with_manifest(data, lambda manifest: damage_message(rng, manifest))


def _parts(data: bytes) -> tuple[list[bytes], list[bytes]]:
    """The metadata of the columns, and the global buffers."""
    _, columns, buffers, num_buffers, num_columns, *_ = struct.unpack_from("<QQQIIHH4s", data, len(data) - 40)
    return _table(data, columns, num_columns), _table(data, buffers, num_buffers)


def _table(data: bytes, position: int, count: int) -> list[bytes]:
    entries = struct.iter_unpack("<QQ", data[position : position + 16 * count])
    return [data[start : start + size] for start, size in entries]


def _file(data: bytes, columns: list[bytes], others: list[bytes]) -> bytes:
    """The pages of `data` under other metadata."""
    out = bytearray(data[: metadata_start(data)])
    start = len(out)
    tables = []
    for parts in (columns, others):
        table = b""
        for part in parts:
            table += struct.pack("<QQ", len(out), len(part))
            out += part
        tables.append(table)
    positions = [len(out), len(out) + len(tables[0])]
    counts = struct.pack("<II", len(others), len(columns))
    return bytes(out + b"".join(tables) + struct.pack("<QQQ", start, *positions) + counts + data[-8:])


def _places(message: Message) -> Iterator[tuple[Message, FieldDescriptor]]:
    """Every field of the message and of those below it; unset ones too."""
    for field in message.DESCRIPTOR.fields:
        yield message, field
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE and not field.message_type.GetOptions().map_entry:
            for child in value if _repeated(field) else [value]:
                yield from _places(child)


def _damage_field(rng: np.random.Generator, owner: Message, field: FieldDescriptor) -> None:
    if rng.random() < 0.1:
        owner.ClearField(field.name)
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        _damage_children(rng, owner, field)
    elif _repeated(field):
        values = getattr(owner, field.name)
        if len(values) and rng.random() < 0.7:
            values[int(rng.integers(len(values)))] = _scalar(rng, field, values[0])
        elif len(values) and rng.random() < 0.5:
            del values[-1]
        else:
            values.append(_scalar(rng, field, values[0] if len(values) else None))
    else:
        setattr(owner, field.name, _scalar(rng, field, getattr(owner, field.name)))


def _damage_children(rng: np.random.Generator, owner: Message, field: FieldDescriptor) -> None:
    if field.message_type.GetOptions().map_entry:
        owner.ClearField(field.name)
    elif not _repeated(field):
        getattr(owner, field.name).SetInParent()
    else:
        children = getattr(owner, field.name)
        if len(children) and rng.random() < 0.5:
            del children[int(rng.integers(len(children)))]
        elif len(children):
            children.add().CopyFrom(children[int(rng.integers(len(children)))])
        else:
            children.add()


def _scalar(rng: np.random.Generator, field: FieldDescriptor, old: Any) -> Any:
    match field.type:
        case FieldDescriptor.TYPE_BOOL:
            return not old
        case FieldDescriptor.TYPE_ENUM:
            return int(rng.integers(0, 9))
        case FieldDescriptor.TYPE_BYTES:
            content = bytearray(old or b"")
            for _ in range(rng.integers(1, 5) if content else 0):
                content[int(rng.integers(len(content)))] = int(rng.integers(256))
            return bytes(content[: int(rng.integers(len(content) + 1))]) if rng.random() < 0.3 else bytes(content)
        case FieldDescriptor.TYPE_STRING:
            return str(rng.choice(["", "x", "../x", "struct", "list", "string", "int64", "a" * 2000, f"{old}0"]))
        case FieldDescriptor.TYPE_INT32 | FieldDescriptor.TYPE_SINT32:
            return int(rng.choice([-(2**31), -5, -1, 0, 1, 2, 100, 2**31 - 1]))
        case FieldDescriptor.TYPE_INT64 | FieldDescriptor.TYPE_SINT64:
            return int(rng.choice([-(2**63), -1, 0, 1, 2**40, 2**63 - 1]))
        case FieldDescriptor.TYPE_DOUBLE | FieldDescriptor.TYPE_FLOAT:
            return float(rng.choice([0.0, -1.0, float("inf"), float("nan")]))
    if old and rng.random() < 0.4:
        most = 2**64 - 1 if field.type in _LONG_TYPES else 2**32 - 1
        return min(most, max(0, int(old) + int(rng.integers(-3, 4))))
    numbers = _NUMBERS + (_LONG if field.type in _LONG_TYPES else ())
    return numbers[int(rng.integers(len(numbers)))]


def _repeated(field: FieldDescriptor) -> bool:
    return bool(field.is_repeated)
