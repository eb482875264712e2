"""The last bytes of a data file, with the version of the format and the positions of its tables.

Source: data file 2.x, footer, 40 bytes: u64 column metadata position, u64 column table position, u64 global buffer
table position, u32 number of global buffers, u32 number of columns, u16 major, u16 minor, "LANC". Data file 0.1,
footer, 16 bytes: i64 metadata position, u16 major, u16 minor, "LANC".
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format import file_versions
from lance_sql.format.file_versions import FileVersion
from lance_sql.store import ByteRange

FOOTER = struct.Struct("<QQQIIHH4s")
MAGIC = b"LANC"
_FOOTER_V0_1 = struct.Struct("<QHH4s")
_VERSION = struct.Struct("<HH4s")
_TABLE_ENTRY = struct.Struct("<QQ")


@dataclass(frozen=True, slots=True)
class Footer:
    """Positions of the tables of a data file.

    columns: the table of (position, size) of each column's metadata
    global_buffers: likewise for each global buffer
    """

    file_version: FileVersion
    file_size: int
    columns: ByteRange
    global_buffers: ByteRange

    @property
    def num_columns(self) -> int:
        return (self.columns.end - self.columns.start) // _TABLE_ENTRY.size

    @property
    def num_global_buffers(self) -> int:
        return (self.global_buffers.end - self.global_buffers.start) // _TABLE_ENTRY.size


@dataclass(frozen=True, slots=True)
class LegacyFooter:
    """Position of the metadata of a data file 0.1.

    metadata_position: of its length word
    minor: of the version in the file's spelling
    """

    file_version: FileVersion
    file_size: int
    metadata_position: int
    minor: int


def parse_footer(file_size: int, tail: pa.Buffer) -> Footer | LegacyFooter:
    """Parses the footer at the end of `tail`, the last bytes of a file of `file_size` bytes.

    raises: CorruptFile for a truncated file or one that is not a data file; UnsupportedFeature, with the name, for
        other versions
    """
    raw = memoryview(tail)
    if raw.nbytes < _VERSION.size:
        raise CorruptFile(f"a file of {file_size} bytes is too short for a data file")
    major, minor, magic = _VERSION.unpack_from(raw, raw.nbytes - _VERSION.size)
    if magic != MAGIC:
        raise CorruptFile("the file does not end like a data file: it is cut short, or another kind of file")
    file_version = file_versions.find((major, minor))
    if file_version is None:
        name = file_versions.name_of((major, minor))
        known = ", ".join(version.name for version in file_versions.ALL)
        raise UnsupportedFeature(
            f"data file version {name} is not supported; supported versions: {known}{file_versions.way_out(name)}"
        )
    layout = _FOOTER_V0_1 if file_version is file_versions.V0_1 else FOOTER
    if raw.nbytes < layout.size:
        raise CorruptFile(f"a file of {file_size} bytes is too short for a footer")
    if layout is _FOOTER_V0_1:
        (position, *_) = _FOOTER_V0_1.unpack_from(raw, raw.nbytes - _FOOTER_V0_1.size)
        return LegacyFooter(file_version, file_size, position, minor)
    _, columns, buffers, num_buffers, num_columns, *_ = FOOTER.unpack_from(raw, raw.nbytes - FOOTER.size)
    return Footer(
        file_version,
        file_size,
        _table(columns, num_columns, file_size, "column"),
        _table(buffers, num_buffers, file_size, "global buffer"),
    )


def parse_entry(table: pa.Buffer, index: int, file_size: int) -> ByteRange:
    """Returns the byte range of an entry of a table of (position, size), inside the file."""
    position, size = _TABLE_ENTRY.unpack_from(table, index * _TABLE_ENTRY.size)
    if position + size > file_size:
        raise CorruptFile(f"bytes {position} to {position + size} are outside of the file of {file_size} bytes")
    return ByteRange(position, position + size)


def serialize_footer(
    file_version: FileVersion, columns: Sequence[ByteRange], global_buffers: Sequence[ByteRange], position: int
) -> bytes:
    """Serializes the tables of columns and global buffers, which begin at `position`, and the footer after them."""
    tables = [
        b"".join(_TABLE_ENTRY.pack(start, end - start) for start, end in ranges) for ranges in (columns, global_buffers)
    ]
    first = columns[0].start if columns else position
    second = position + len(tables[0])
    assert file_version.in_footers is not None
    footer = FOOTER.pack(first, position, second, len(global_buffers), len(columns), *file_version.in_footers, MAGIC)
    return b"".join((*tables, footer))


def _table(position: int, count: int, file_size: int, what: str) -> ByteRange:
    end = position + count * _TABLE_ENTRY.size
    if end > file_size - FOOTER.size:
        raise CorruptFile(f"the {what} table at bytes {position} to {end} is outside of the file of {file_size} bytes")
    return ByteRange(position, end)
