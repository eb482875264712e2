"""Manifest files: the sections of one, and where each lies.

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

_FOOTER: Final = struct.Struct("<qHH4s")
_LENGTH: Final = struct.Struct("<I")
_MAGIC: Final = b"LANC"
# Major and minor number of the file; no reader asks for them.
_FILE_VERSION: Final = (0, 2)
# Most manifests, with their sections, are smaller: one request fetches all of it.
_TAIL_BYTES: Final = 64 * 1024

# Tables of millions of fragments have shorter ones.
_MAX_BYTES: Final = 512 * 1024 * 1024


class ReadSections(NamedTuple):
    """What was read of the sections in front of a manifest's message.

    start: where it begins in the file
    """

    start: int
    content: bytes


class NewSections(NamedTuple):
    """The sections in front of the message of a new file.

    index_section, transaction_section: where they lie in the file; None without
    parts: their content, in order
    """

    index_section: int | None
    transaction_section: int
    parts: tuple[bytes, ...]


def read_message(store: Store, path: str, *, size: int | None = None) -> tuple[bytes, ReadSections]:
    """The message of the manifest file at `path`, serialized, and what of its sections was read with it.

    size: of the file, if known
    raises: CorruptFile
    """
    size, tail = store.tail(path, _TAIL_BYTES, size=size)
    if size < _FOOTER.size + _LENGTH.size:
        raise CorruptFile(f"a manifest of {size} bytes")
    position, _, _, magic = _FOOTER.unpack(tail.slice(tail.size - _FOOTER.size))
    if magic != _MAGIC:
        raise CorruptFile("the manifest does not end in LANC")
    if not 0 <= position <= size - _FOOTER.size - _LENGTH.size:
        raise CorruptFile(f"the manifest message is recorded at byte {position} of {size}")
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


def read_section(store: Store, path: str, position: int, known: ReadSections | None = None) -> bytes:
    """The message of the section at `position` of the manifest file at `path`.

    known: what was read of the file's sections before
    raises: CorruptFile when the section does not lie in the file
    """
    if known is not None and (section := _section_in(known, position)) is not None:
        return section
    size, tail = store.tail(path, _TAIL_BYTES)
    if not 0 <= position <= size - _LENGTH.size:
        raise CorruptFile(f"a section is recorded at byte {position} of {size}")

    def fetch(start: int, end: int) -> pa.Buffer:
        skipped = size - tail.size
        if start >= skipped:
            return tail.slice(start - skipped, end - start)
        (content,) = store.get_ranges(path, [ByteRange(start, end)])
        return content

    start = position + _LENGTH.size
    (length,) = _LENGTH.unpack(fetch(position, start))
    if start + length > size or length > _MAX_BYTES:
        raise CorruptFile(f"a section of {length} bytes at byte {position} of {size}")
    return bytes(memoryview(fetch(start, start + length)))


def _section_in(known: ReadSections, position: int) -> bytes | None:
    """The message of a section; None where not all of it is there."""
    start = position - known.start + _LENGTH.size
    if not _LENGTH.size <= start <= len(known.content):
        return None
    (length,) = _LENGTH.unpack_from(known.content, start - _LENGTH.size)
    return known.content[start : start + length] if length <= len(known.content) - start else None


def lay_out(*, index: bytes | None, transaction: bytes) -> NewSections:
    """The sections of a new file, in front of the message that is to tell where they lie.

    index: message IndexSection; None without indices
    transaction: message Transaction
    """
    before = () if index is None else (_LENGTH.pack(len(index)), index)
    position = sum(map(len, before))
    return NewSections(None if index is None else 0, position, (*before, _LENGTH.pack(len(transaction)), transaction))


def join(sections: NewSections, message: Sequence[bytes]) -> bytes:
    """The content of a manifest file.

    message: in parts, one behind the other
    """
    position = sum(map(len, sections.parts))
    length = sum(map(len, message))
    footer = _FOOTER.pack(position, *_FILE_VERSION, _MAGIC)
    # joined once: row ids of millions of changed rows are in sections and message, and each copy takes as much as they
    return b"".join((*sections.parts, _LENGTH.pack(length), *message, footer))
