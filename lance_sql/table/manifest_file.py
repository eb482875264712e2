"""Manifest files: their sections and the offsets of these.

    [index section, transaction section]    each a u32 length and a message; optional
    pos        u32 L
    pos + 4    Manifest message, L bytes
    footer     i64 pos, u16 major, u16 minor, "LANC"

Source: message lance.table.Manifest; table format, manifest files.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from lance_sql.errors import CorruptFile
from lance_sql.store import ByteRange, Store
from lance_sql.store.cached import read_twice

_FOOTER: Final = struct.Struct("<qHH4s")
_LENGTH: Final = struct.Struct("<I")
_MAGIC: Final = b"LANC"
# Major and minor number of the file; readers ignore them.
_FILE_VERSION: Final = (0, 2)
# Most manifests, with their sections, are smaller, so that one request fetches the file.
_TAIL_BYTES: Final = 64 * 1024

# Even tables of millions of fragments have smaller ones.
_MAX_BYTES: Final = 512 * 1024 * 1024


class ReadSections(NamedTuple):
    """Sections in front of a manifest's message, as far as they were read.

    start: file offset of `content`
    """

    start: int
    content: bytes


class NewSections(NamedTuple):
    """Sections in front of the message of a new file.

    index_section, transaction_section: their file offsets; None without
    parts: their content, in order
    """

    index_section: int | None
    transaction_section: int
    parts: tuple[bytes, ...]


def read_message(store: Store, path: str, *, size: int | None = None) -> tuple[bytes, ReadSections]:
    """Reads the serialized message of the manifest file at `path`, and the sections read with it.

    size: of the file, if known
    raises: CorruptFile
    """
    size, tail = store.tail(path, _TAIL_BYTES, size=size)
    position = _message_position(size, tail)
    if size - position > _MAX_BYTES:
        raise CorruptFile(f"a manifest message of {size - position} bytes")
    skipped = size - tail.size
    start = position - skipped
    if start < 0:
        tail, skipped, start = store.get_ranges(path, [ByteRange(position, size)])[0], position, 0
    (length,) = _LENGTH.unpack(tail.slice(start, _LENGTH.size))
    if position + _LENGTH.size + length + _FOOTER.size != size:
        raise CorruptFile(f"a manifest message of {length} bytes does not end at the footer")
    content = memoryview(tail)
    return bytes(content[start + _LENGTH.size :][:length]), ReadSections(skipped, bytes(content[:start]))


def _message_position(size: int, tail: pa.Buffer) -> int:
    """Returns the file offset of the message, from the end of a file.

    size: of the file
    raises: CorruptFile
    """
    if size < _FOOTER.size + _LENGTH.size:
        raise CorruptFile(f"a manifest of {size} bytes")
    position, _, _, magic = _FOOTER.unpack(tail.slice(tail.size - _FOOTER.size))
    if magic != _MAGIC:
        raise CorruptFile("the manifest does not end in LANC")
    if not 0 <= position <= size - _FOOTER.size - _LENGTH.size:
        raise CorruptFile(f"the manifest message is recorded at byte {position} of {size}")
    return int(position)


def read_section(store: Store, path: str, position: int, known: ReadSections | None = None) -> bytes:
    """Reads the message of the section at `position` of the manifest file at `path`.

    known: sections that were read with the manifest
    raises: CorruptFile for a section that is empty, or not in front of the manifest's message
    """
    section = None if known is None else _section_in(known, position)
    return section or read_twice(store, path, lambda: _read_section(store, path, position))


def _read_section(store: Store, path: str, position: int) -> bytes:
    size, tail = store.tail(path, _TAIL_BYTES)
    end = _message_position(size, tail)
    if not 0 <= position <= end - _LENGTH.size:
        raise CorruptFile(f"a section is recorded at byte {position}, and the manifest message at {end}")

    def fetch(start: int, end: int) -> pa.Buffer:
        skipped = size - tail.size
        if start >= skipped:
            return tail.slice(start - skipped, end - start)
        (content,) = store.get_ranges(path, [ByteRange(start, end)])
        return content

    start = position + _LENGTH.size
    (length,) = _LENGTH.unpack(fetch(position, start))
    if start + length > end or length > _MAX_BYTES:
        raise CorruptFile(f"a section of {length} bytes at byte {position}, and the manifest message at {end}")
    if not length:
        # Writers leave such a section out. Without this check, one that was read wrongly has no indices.
        raise CorruptFile(f"an empty section at byte {position}")
    return bytes(memoryview(fetch(start, start + length)))


def _section_in(known: ReadSections, position: int) -> bytes | None:
    """Returns the message of a section; None if `known` does not contain all of it."""
    start = position - known.start + _LENGTH.size
    if not _LENGTH.size <= start <= len(known.content):
        return None
    (length,) = _LENGTH.unpack_from(known.content, start - _LENGTH.size)
    return known.content[start : start + length] if length <= len(known.content) - start else None


def lay_out(*, index: bytes | None, transaction: bytes) -> NewSections:
    """Lays out the sections of a new file, in front of the message that records their offsets.

    index: message IndexSection; None without indices
    transaction: message Transaction
    """
    before = () if index is None else (_LENGTH.pack(len(index)), index)
    position = sum(map(len, before))
    return NewSections(None if index is None else 0, position, (*before, _LENGTH.pack(len(transaction)), transaction))


def join(sections: NewSections, message: Sequence[bytes]) -> bytes:
    """Returns the content of a manifest file.

    message: in consecutive parts
    """
    position = sum(map(len, sections.parts))
    length = sum(map(len, message))
    footer = _FOOTER.pack(position, *_FILE_VERSION, _MAGIC)
    # joined once: sections and message contain row ids of millions of changed rows, and each copy is as large
    return b"".join((*sections.parts, _LENGTH.pack(length), *message, footer))
