"""Pages that this library encodes: from Arrow arrays, read again by its own readers or put into files for pylance."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.any_pb2 import Any as AnyMessage

from lance_sql.format import file_versions
from lance_sql.format.layouts.encode import encode_page
from lance_sql.format.layouts.shredded import EncodedPage, ShreddedPage
from lance_sql.format.layouts.tree import Layer, Layers, PageLayout
from lance_sql.format.layouts.wire_v2_1 import layout_from_wire
from lance_sql.format.proto import file2_pb2, file_pb2
from lance_sql.format.schema import Field
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.format.schema.wire import to_messages

from .by_hand import HandPage
from .shredding import shred

ITEM, NULLABLE = Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM
ALIGNMENT = 64


def flat_page(array: pa.Array, *, nullable: bool | None = None) -> ShreddedPage:
    """A page of a column without structs and lists."""
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    if not (array.null_count > 0 if nullable is None else nullable):
        return ShreddedPage(array, (ITEM,), None, None, len(array))
    return ShreddedPage(array, (NULLABLE,), None, nulls.astype(np.uint16), len(array))


def nested_page(rows: list[Any], layers: Layers, pool: pa.Array) -> ShreddedPage:
    """A page of rows in Python form, whose leaves are positions in `pool`."""
    shredded = shred(rows, layers)
    return ShreddedPage(pool.take(pa.array(shredded.items, pa.int64())), layers, shredded.rep, shredded.def_, len(rows))


def field_of(type: pa.DataType, metadata: dict[str, str] | None = None) -> Field:
    return from_arrow(pa.schema([pa.field("c", type, metadata=metadata)])).fields[0]


def encode(page: ShreddedPage, minor: int = 2, metadata: dict[str, str] | None = None) -> EncodedPage:
    fields = {key: value.encode() for key, value in (metadata or {}).items()}
    version = file_versions.find((2, minor))
    assert version is not None
    assert version.pages is not None
    return encode_page(page, Field("c", 0, -1, "int32", metadata=fields), version.pages)


def layout_of(page: EncodedPage) -> PageLayout:
    return layout_from_wire(AnyMessage.FromString(page.layout).value)


def opened(page: EncodedPage) -> HandPage:
    """The page, ready to be read."""
    return HandPage(layout_of(page), [bytes(buffer) for buffer in page.buffers], page.num_rows)


def write_file(path: Path, schema: pa.Schema, columns: Sequence[Sequence[EncodedPage]], minor: int) -> None:
    """A data file with these columns, which pylance can open."""
    out = bytearray()

    def put(data: pa.Buffer | bytes) -> tuple[int, int]:
        out.extend(bytes(-len(out) % ALIGNMENT))
        position = len(out)
        out.extend(memoryview(data))
        return position, len(out) - position

    encoding = AnyMessage(type_url="/lance.encodings.ColumnEncoding", value=b"\x0a\x00").SerializeToString()
    messages = []
    for pages in columns:
        message = file2_pb2.ColumnMetadata()
        message.encoding.direct.encoding = encoding
        row = 0
        for page in pages:
            places = [put(buffer) for buffer in page.buffers]
            stored = message.pages.add(length=page.num_rows, priority=row)
            stored.buffer_offsets.extend(position for position, _ in places)
            stored.buffer_sizes.extend(size for _, size in places)
            stored.encoding.direct.encoding = page.layout
            row += page.num_rows
        messages.append(message.SerializeToString())
    descriptor = file_pb2.FileDescriptor(length=sum(page.num_rows for page in columns[0]))
    descriptor.schema.fields.extend(to_messages(from_arrow(schema)))
    global_buffer = put(descriptor.SerializeToString())
    places = []
    for data in messages:
        places.append((len(out), len(data)))
        out.extend(data)
    tables = len(out)
    for position, size in (*places, global_buffer):
        out.extend(struct.pack("<QQ", position, size))
    start = places[0][0]
    out.extend(struct.pack("<QQQIIHH4s", start, tables, tables + 16 * len(places), 1, len(places), 2, minor, b"LANC"))
    path.write_bytes(out)
