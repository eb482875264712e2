"""Record batches of an Arrow IPC file of one column whose compressed buffers are no larger than expected.

Arrow allocates what a compressed buffer claims to become, and a few bytes may claim anything. So the claims are
looked at first, in the flatbuffers of the file:

    file               ..., footer, i32 length of it, "ARROW1"
    table Footer       version, schema, dictionaries, recordBatches      slot 3: Blocks
    struct Block       i64 offset, i32 length of the metadata, 4 bytes, i64 length of the body behind the metadata
    metadata           0xffffffff, i32 length, Message; without the first word in old files
    table Message      version, header type, header                      slot 2: RecordBatch
    table RecordBatch  length, nodes, buffers, compression               slots 2: Buffers, 3
    struct Buffer      i64 offset and i64 length in the body; compressed: i64 length of what it becomes, then the bytes

Source: Arrow columnar format, IPC and body compression.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from lance_sql.errors import CorruptFile

_BLOCKS_SLOT: Final = 3
_HEADER_SLOT: Final = 2
_BUFFERS_SLOT: Final = 2
_COMPRESSION_SLOT: Final = 3
_TAIL: Final = struct.Struct("<i6s")
_U16: Final = struct.Struct("<H")
_U32: Final = struct.Struct("<I")
_I32: Final = struct.Struct("<i")
_I64: Final = struct.Struct("<q")
_BUFFER: Final = struct.Struct("<qq")
_BLOCK: Final = struct.Struct("<qi")
_CONTINUATION: Final = 0xFFFFFFFF
# Validity and values.
_NUM_BUFFERS: Final = 2
# Buffers may be padded to this.
_PADDING: Final = 64


def read(reader: pa.ipc.RecordBatchFileReader, content: pa.Buffer, max_bytes: int) -> Iterator[pa.RecordBatch]:
    """The record batches, in the order of the footer.

    reader: of `content`, the whole file
    max_bytes: of the decompressed values of all batches, padding not counted
    raises: CorruptFile for more, and for other than one column of numbers; OSError and ArrowInvalid as Arrow does
    """
    claimed = 0
    for i, claim in enumerate(_largest_claims(memoryview(content))):
        claimed += max(0, claim - _PADDING)
        if claimed > max_bytes:
            raise CorruptFile(f"compressed buffers claim {claim} bytes where at most {max_bytes} can be")
        yield reader.get_batch(i)


def _largest_claims(data: memoryview) -> Iterator[int]:
    """What the largest compressed buffer of each record batch says that it becomes; 0 without compression."""
    end = len(data) - _TAIL.size
    (num_bytes,) = _unpack(_I32, data, end)
    blocks = _field(data, _target(data, end - num_bytes), _BLOCKS_SLOT)
    if blocks is None:
        return
    vector = _target(data, blocks)
    (count,) = _unpack(_U32, data, vector)
    for i in range(count):
        offset, metadata_bytes = _unpack(_BLOCK, data, vector + 4 + 24 * i)
        (first,) = _unpack(_U32, data, offset)
        message = _target(data, offset + (8 if first == _CONTINUATION else 4))
        yield _largest_claim(data, message, offset + metadata_bytes)


def _largest_claim(data: memoryview, message: int, body: int) -> int:
    header = _field(data, message, _HEADER_SLOT)
    if header is None:
        raise CorruptFile("a message without a header")
    batch = _target(data, header)
    buffers = _field(data, batch, _BUFFERS_SLOT)
    if buffers is None or _field(data, batch, _COMPRESSION_SLOT) is None:
        return 0
    vector = _target(data, buffers)
    (count,) = _unpack(_U32, data, vector)
    if count != _NUM_BUFFERS:
        raise CorruptFile(f"a record batch of {count} buffers is not one column of numbers")
    claims = [0]
    for i in range(count):
        offset, length = _unpack(_BUFFER, data, vector + 4 + 16 * i)
        if length:
            claims += _unpack(_I64, data, body + offset)
    return max(claims)


def _target(data: memoryview, at: int) -> int:
    """Where the offset at `at` points to."""
    (offset,) = _unpack(_U32, data, at)
    return at + offset


def _field(data: memoryview, table: int, slot: int) -> int | None:
    """Position of a field of the table at `table`; None when it is not set."""
    (back,) = _unpack(_I32, data, table)
    vtable = table - back
    (num_bytes,) = _unpack(_U16, data, vtable)
    place = 4 + 2 * slot
    if place + 2 > num_bytes:
        return None
    (offset,) = _unpack(_U16, data, vtable + place)
    return table + offset if offset else None


def _unpack(form: struct.Struct, data: memoryview, at: int) -> tuple[int, ...]:
    if not 0 <= at <= len(data) - form.size:
        raise CorruptFile(f"an Arrow file of {len(data)} bytes refers to byte {at}")
    return form.unpack_from(data, at)
