"""The metadata of a data file 2.x: its number of rows, and the pages of each column.

Source: messages FileDescriptor (global buffer 0) and ColumnMetadata.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from threading import Lock
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from google.protobuf.any_pb2 import Any

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.fsst import MAX_EXPANSION
from lance_sql.format.encodings.tree import General
from lance_sql.format.file.footer import Footer, parse_entry
from lance_sql.format.file.old_files import old_files
from lance_sql.format.file.page_cache import KNOWN
from lance_sql.format.layouts import wire_v2_1
from lance_sql.format.layouts.tree import Blob, ConstantLayout, FullZip, MiniBlock, PageLayout
from lance_sql.format.proto import encodings_v2_0_pb2, file_pb2
from lance_sql.format.schema import Field, Schema
from lance_sql.format.schema.fields import without_children
from lance_sql.format.schema.wire import from_messages, to_messages
from lance_sql.runtime.cached_property import cached_property
from lance_sql.store import ByteRange
from lance_sql.values.arrays import I64

# Longer messages contain the value of a constant page.
_MAX_SHARED_BYTES = 1024

# Estimated memory of a parsed column: Python objects, plus a few bytes for each byte of the message.
_COLUMN_BYTES = 2048
_NUM_COPIES = 6

# The message of a page without levels.
_ARRAY = "lance.encodings.ArrayEncoding"


@dataclass(frozen=True)
class PageMetadata:
    """One page: its rows, its buffers (absolute), and its layout, parsed on first use.

    num_rows: top-level rows; below a fixed-size list of structs, the items of the list
    encoding: the message, or the layout itself; None for a message that is stored elsewhere
    estimated_bytes: of the page, if its buffers do not determine it
    """

    num_rows: int
    buffers: tuple[ByteRange, ...]
    encoding: bytes | PageLayout | None = field(repr=False)
    estimated_bytes: int | None = None

    @property
    def message(self) -> bytes:
        """The message of the page's layout.

        raises: UnsupportedFeature for one that is not in the file's metadata
        """
        if not isinstance(self.encoding, bytes):
            raise UnsupportedFeature("a page encoding that is not stored beside its page is not supported")
        return self.encoding

    @cached_property
    def layout(self) -> PageLayout:
        """The page's layout.

        raises: UnsupportedFeature for a page of another version of the format, CorruptFile
        """
        match self.encoding:
            case PageLayout() as layout:
                return layout
            case _:
                encoding = self.message
                return _layout(encoding) if len(encoding) <= _MAX_SHARED_BYTES else parse_layout(encoding)

    @property
    def num_bytes(self) -> int:
        if self.estimated_bytes is not None:
            return self.estimated_bytes
        return sum(end - start for start, end in self.buffers)

    @property
    def row_bytes(self) -> float:
        """Average bytes of one row on disk; the whole scalar for a constant page, an item of the dictionary if
        rows refer to long ones."""
        stored = self.num_bytes / max(self.num_rows, 1)
        match self.layout:
            case ConstantLayout(inline_value=value):
                start, end = self.buffers[0] if len(self.buffers) in (1, 3) else (0, 0)
                return float(len(value or b"") + end - start)
            case MiniBlock(dictionary=encoding, num_dictionary_items=count) if encoding and len(self.buffers) > 2:
                start, end = self.buffers[2]
                item = (end - start) / max(count, 1)
                # assumes that values grow in memory, as uncompressed items do
                return max(stored, item if isinstance(encoding, General) else item / MAX_EXPANSION)
        return stored

    @property
    def items_per_row(self) -> float:
        """Average number of values in one row of lists, by the page layout."""
        match self.layout:
            case MiniBlock(num_items=count) | FullZip(num_items=count) | ConstantLayout(num_rep_values=count):
                return count / max(self.num_rows, 1)
        return 0.0


@dataclass(frozen=True)
class ColumnMetadata:
    """The pages of one column, in row order.

    encoding: the bytes that describe the column as a whole, which only files of version 2.0 need
    """

    pages: tuple[PageMetadata, ...]
    encoding: bytes = b""

    @cached_property
    def row_starts(self) -> I64:
        """First row of each page, then the number of rows: int64[pages + 1]."""
        return np.array([0, *accumulate([page.num_rows for page in self.pages])], np.int64)

    @property
    def num_rows(self) -> int:
        return int(self.row_starts[-1])

    @cached_property
    def row_bytes(self) -> float | None:
        """Average bytes of one row on disk, in the page with the most; None if pages refer to bytes elsewhere.

        raises: CorruptFile, UnsupportedFeature
        """
        if any(isinstance(page.layout, Blob) for page in self.pages):
            return None
        return max((page.row_bytes for page in self.pages), default=0.0)

    @cached_property
    def items_per_row(self) -> float:
        """Average number of values in one row of lists, in the page with the most.

        raises: CorruptFile, UnsupportedFeature
        """
        return max((page.items_per_row for page in self.pages), default=0.0)

    @cached_property
    def num_bytes(self) -> int:
        """Bytes of all pages."""
        return sum(page.num_bytes for page in self.pages)


@dataclass(frozen=True, slots=True)
class _KnownColumn:
    """A column of a file, shared by readers.

    num_bytes: approximate memory
    """

    metadata: ColumnMetadata
    num_bytes: int


class MetadataV2:
    """Column metadata of a file of version 2.x. Each column is parsed on first use. Thread-safe."""

    def __init__(
        self,
        footer: Footer,
        read: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]],
        identity: str | None = None,
    ) -> None:
        """
        read: reads ranges of the file
        identity: of the file; see `Store.identity`. With an identity, parsed metadata is cached for all tables
        """
        self._identity = identity
        self._footer = footer
        self._read = read
        self._lock = Lock()
        self._parsed: dict[int, ColumnMetadata] = {}
        self._columns, self._buffers = read([footer.columns, footer.global_buffers])
        if self._buffers.size == 0:
            raise CorruptFile("a data file without a descriptor")
        self._descriptor = self.global_buffer(0)
        self.num_rows = _kernels.num_rows_of_file(self._descriptor)

    @property
    def num_columns(self) -> int:
        return self._footer.num_columns

    @property
    def column_table(self) -> pa.Buffer:
        """The position and size of the metadata of each column."""
        return self._columns

    def global_buffer(self, number: int) -> pa.Buffer:
        """Returns the bytes of a global buffer; number 0 is the descriptor.

        raises: CorruptFile if the file has no such buffer
        """
        if not 0 <= number < self._footer.num_global_buffers:
            raise CorruptFile(f"global buffer {number} of {self._footer.num_global_buffers}")
        (data,) = self._read([parse_entry(self._buffers, number, self._footer.file_size)])
        return data

    @cached_property
    def schema(self) -> Schema:
        """The schema of a file that does not belong to a table.

        raises: ValueError for a descriptor that is not a message; CorruptFile
        """
        described = self._described
        return from_messages(described.fields, dict(described.metadata))

    @cached_property
    def fields(self) -> Mapping[int, Field]:
        """The fields that the file itself describes, by id and without children; a table's files are read by the schema
        of the table. Parts of a blob have no id.

        raises: ValueError for a descriptor that is not a message
        """
        return {field.id: without_children(field) for field in self._described.fields if field.id >= 0}

    @property
    def _described(self) -> file_pb2.Schema:
        described: file_pb2.Schema = file_pb2.FileDescriptor.FromString(memoryview(self._descriptor).tobytes()).schema
        return described

    def column(self, index: int) -> ColumnMetadata:
        """Returns the metadata of column `index`.

        raises: CorruptFile if the file has no such column
        """
        column = self._parsed.get(index)
        if column is not None:
            return column
        key = (self._identity, index)
        known = KNOWN.get(key) if self._identity is not None else None
        if isinstance(known, _KnownColumn):
            column = known.metadata
        else:
            if not 0 <= index < self.num_columns:
                raise CorruptFile(f"column {index} of {self.num_columns} columns")
            (data,) = self._read([parse_entry(self._columns, index, self._footer.file_size)])
            column = parse_column(data, self._footer.file_size)
            if self._identity is not None:
                KNOWN.keep(key, _KnownColumn(column, _COLUMN_BYTES + _NUM_COPIES * data.size))
        with self._lock:
            self._parsed[index] = column
        return column

    @cached_property
    def has_path_columns(self) -> bool:
        """Whether lists and structs have their own columns: in version 2.0, and in early files labeled as 2.1."""
        said = self._footer.file_version.path_columns
        if said is not None:
            return said
        columns = (self.column(index) for index in range(self.num_columns))
        first = next((column.pages[0] for column in columns if column.pages), None)
        return first is not None and Any.FromString(first.message).type_url.endswith(_ARRAY)


def parse_column(data: pa.Buffer, file_size: int) -> ColumnMetadata:
    """Parses a serialized ColumnMetadata.

    raises: InvalidDataError for buffers outside the file of `file_size` bytes, and for bytes that are not a message
    """
    encoding, stored = _kernels.parse_column(data, file_size)
    pages = tuple(
        PageMetadata(num_rows, tuple(map(ByteRange._make, buffers)), page_encoding)
        for num_rows, buffers, page_encoding in stored
    )
    return ColumnMetadata(pages, encoding)


def serialize_descriptor(schema: Schema, num_rows: int) -> bytes:
    """Serializes the FileDescriptor of a file."""
    described = file_pb2.Schema(fields=to_messages(schema), metadata=schema.metadata)
    serialized: bytes = file_pb2.FileDescriptor(schema=described, length=num_rows).SerializeToString()
    return serialized


class WrittenPage(NamedTuple):
    """One page that has been written. A tuple, as the kernels take it.

    encoding: the serialized message that wraps its layout
    priority: its first row in the file
    """

    num_rows: int
    buffers: tuple[ByteRange, ...]
    encoding: bytes
    priority: int


def serialize_column(pages: Sequence[WrittenPage], *, is_blob: bool = False) -> bytes:
    """Serializes the ColumnMetadata of a column.

    is_blob: the values are descriptors of bytes elsewhere in the file (file version 2.0)
    """
    return _kernels.serialize_column(_column_encoding(is_blob), pages)


@lru_cache
def _column_encoding(is_blob: bool) -> bytes:
    encoding = encodings_v2_0_pb2.ColumnEncoding()
    encoding.values.SetInParent()
    if is_blob:
        encoding = encodings_v2_0_pb2.ColumnEncoding(blob=encodings_v2_0_pb2.Blob(inner=encoding))
    wrapped: bytes = Any(
        type_url="/lance.encodings.ColumnEncoding", value=encoding.SerializeToString()
    ).SerializeToString()
    return wrapped


def parse_layout(encoding: bytes) -> PageLayout:
    """Parses the layout of a page encoding.

    raises: InvalidDataError for bytes that are not a message; UnsupportedFeature
    """
    message = Any.FromString(encoding)
    match message.type_url.rpartition("/")[2]:
        case "lance.encodings21.PageLayout":
            return wire_v2_1.layout_from_wire(message.value)
        case name if name == _ARRAY:
            return old_files().layout(message.value)
        case name:
            raise UnsupportedFeature(f"page encoding '{name}' is not supported")


# Pages of equal columns and fragments of equal size have the same encoding bytes.
_layout = lru_cache(maxsize=4096)(parse_layout)
