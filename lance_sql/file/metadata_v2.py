"""The metadata of a data file 2.x: how many rows it has, and the pages of each column.

Source: messages FileDescriptor (global buffer 0) and ColumnMetadata.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.any_pb2 import Any

from lance_sql.encodings import wire_v2_0
from lance_sql.encodings.tree import List, OffsetList
from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.file.footer import FileVersion, Footer, parse_table
from lance_sql.layouts import wire_v2_1
from lance_sql.layouts.tree import ArrayTree, Constant, PageLayout
from lance_sql.proto import encodings_v2_0_pb2, file2_pb2, file_pb2
from lance_sql.schema import Schema
from lance_sql.schema.wire import to_messages
from lance_sql.store import ByteRange

MAX_ROWS = 1 << 48
"""No file or page may claim more rows or items than this."""


@dataclass(frozen=True)
class PageMetadata:
    """One page: its rows, its buffers (absolute), and its layout, parsed when asked for.

    num_rows: top-level rows; below a fixed-size list of structs, the items of the list
    encoding: the message, or the layout itself
    estimated_bytes: of the page, where its buffers do not tell
    """

    num_rows: int
    buffers: tuple[ByteRange, ...]
    encoding: bytes | PageLayout = field(repr=False)
    estimated_bytes: int | None = None

    @cached_property
    def layout(self) -> PageLayout:
        """The page's layout.

        raises: UnsupportedFeature for a page of another version of the format, CorruptFile
        """
        if isinstance(self.encoding, PageLayout):
            return self.encoding
        message = Any.FromString(self.encoding)
        match message.type_url.rpartition("/")[2]:
            case "lance.encodings21.PageLayout":
                return wire_v2_1.layout_from_wire(message.value)
            case "lance.encodings.ArrayEncoding":
                array = encodings_v2_0_pb2.ArrayEncoding.FromString(message.value)
                return ArrayTree((), wire_v2_0.encoding_from_wire(array))
            case name:
                raise UnsupportedFeature(f"page encoding '{name}' is not supported")

    @property
    def num_bytes(self) -> int:
        if self.estimated_bytes is not None:
            return self.estimated_bytes
        return sum(end - start for start, end in self.buffers)

    @property
    def row_bytes(self) -> float:
        """Bytes of one row on disk, on average; the whole scalar for a constant page."""
        if isinstance(self.layout, Constant):
            start, end = self.buffers[0] if len(self.buffers) in (1, 3) else (0, 0)
            return float(len(self.layout.inline_value or b"") + end - start)
        return self.num_bytes / max(self.num_rows, 1)


@dataclass(frozen=True)
class ColumnMetadata:
    """The pages of one column, in row order.

    is_blob: the values are descriptors of bytes elsewhere in the file (file version 2.0)
    """

    pages: tuple[PageMetadata, ...]
    is_blob: bool = False

    @cached_property
    def row_starts(self) -> npt.NDArray[np.int64]:
        """First row of each page, then the number of rows: int64[pages + 1]."""
        return np.array([0, *accumulate(page.num_rows for page in self.pages)], np.int64)

    @property
    def num_rows(self) -> int:
        return int(self.row_starts[-1])

    @cached_property
    def item_starts(self) -> npt.NDArray[np.int64]:
        """For a column of lists, the first item of each page, then the number of items: int64[pages + 1].

        raises: CorruptFile when a page does not hold lists
        """
        counts = []
        for number, page in enumerate(self.pages):
            with at(page=number):
                encoding = page.layout.encoding if isinstance(page.layout, ArrayTree) else None
                if not isinstance(encoding, (List, OffsetList)):
                    raise CorruptFile(f"a page of {type(encoding or page.layout).__name__} cannot hold lists")
                counts.append(encoding.num_items)
        return np.array([0, *accumulate(counts)], np.int64)

    @cached_property
    def num_bytes(self) -> int:
        """Bytes of all pages."""
        return sum(page.num_bytes for page in self.pages)


class MetadataV2:
    """What a file of version 2.x says about its columns; each is parsed when it is first asked for. Thread-safe."""

    def __init__(self, footer: Footer, read: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]) -> None:
        """
        read: the bytes of ranges of the file
        """
        self._footer = footer
        self._read = read
        self._lock = Lock()
        self._parsed: dict[int, ColumnMetadata] = {}
        columns, buffers = read([footer.columns, footer.global_buffers])
        self._columns = parse_table(columns, footer.file_size)
        global_buffers = parse_table(buffers, footer.file_size)
        if not global_buffers:
            raise CorruptFile("a data file without a descriptor")
        self.num_rows = parse_num_rows(bytes(read(global_buffers[:1])[0]))

    @property
    def num_columns(self) -> int:
        return len(self._columns)

    def column(self, index: int) -> ColumnMetadata:
        """The metadata of column `index`.

        raises: CorruptFile when the file has no such column
        """
        column = self._parsed.get(index)
        if column is None:
            if not 0 <= index < len(self._columns):
                raise CorruptFile(f"column {index} of {len(self._columns)} columns")
            (data,) = self._read([self._columns[index]])
            column = parse_column(bytes(data), self._footer.file_size)
            with self._lock:
                self._parsed[index] = column
        return column

    @cached_property
    def has_path_columns(self) -> bool:
        """Lists and structs have columns of their own: in version 2.0, and in early files that call themselves 2.1."""
        if self._footer.file_version is not FileVersion.V2_1:
            return self._footer.file_version is FileVersion.V2_0
        columns = (self.column(index) for index in range(self.num_columns))
        first = next((column.pages[0] for column in columns if column.pages), None)
        return first is not None and isinstance(first.layout, ArrayTree)


def parse_num_rows(descriptor: bytes) -> int:
    """The number of rows that a serialized FileDescriptor names."""
    num_rows: int = file_pb2.FileDescriptor.FromString(descriptor).length
    if num_rows > MAX_ROWS:
        raise CorruptFile(f"a file of {num_rows} rows is not possible")
    return num_rows


def parse_column(data: bytes, file_size: int) -> ColumnMetadata:
    """The column that a serialized ColumnMetadata describes.

    raises: CorruptFile for buffers outside of the file of `file_size` bytes; UnsupportedFeature for deferred encodings
    """
    message = file2_pb2.ColumnMetadata.FromString(data)
    return ColumnMetadata(tuple(_page(page, file_size) for page in message.pages), _is_blob(message.encoding))


def serialize_descriptor(schema: Schema, num_rows: int) -> bytes:
    """The FileDescriptor of a file."""
    described = file_pb2.Schema(fields=to_messages(schema), metadata=schema.metadata)
    serialized: bytes = file_pb2.FileDescriptor(schema=described, length=num_rows).SerializeToString()
    return serialized


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """One page that has been written.

    encoding: the serialized message that wraps its layout
    priority: its first row in the file
    """

    num_rows: int
    buffers: tuple[ByteRange, ...]
    encoding: bytes
    priority: int


def serialize_column(pages: Sequence[WrittenPage], *, is_blob: bool = False) -> bytes:
    """The ColumnMetadata of a column.

    is_blob: the values are descriptors of bytes elsewhere in the file (file version 2.0)
    """
    encoding = encodings_v2_0_pb2.ColumnEncoding()
    encoding.values.SetInParent()
    if is_blob:
        encoding = encodings_v2_0_pb2.ColumnEncoding(blob=encodings_v2_0_pb2.Blob(inner=encoding))
    wrapped = Any(type_url="/lance.encodings.ColumnEncoding", value=encoding.SerializeToString())
    message = file2_pb2.ColumnMetadata(encoding=_direct(wrapped.SerializeToString()))
    for page in pages:
        message.pages.add(
            buffer_offsets=[start for start, _ in page.buffers],
            buffer_sizes=[end - start for start, end in page.buffers],
            length=page.num_rows,
            encoding=_direct(page.encoding),
            priority=page.priority,
        )
    serialized: bytes = message.SerializeToString()
    return serialized


def _direct(encoding: bytes) -> file2_pb2.Encoding:
    return file2_pb2.Encoding(direct=file2_pb2.DirectEncoding(encoding=encoding))


def _is_blob(message: file2_pb2.Encoding) -> bool:
    """Whether a ColumnEncoding of file version 2.0 says so; later ones say it in the page."""
    wrapped = Any.FromString(message.direct.encoding)
    if wrapped.type_url.rpartition("/")[2] != "lance.encodings.ColumnEncoding":
        return False
    encoding = encodings_v2_0_pb2.ColumnEncoding.FromString(wrapped.value)
    # statistics around a column do not change its pages
    while encoding.WhichOneof("column_encoding") == "zone_index":
        encoding = encoding.zone_index.inner
    return bool(encoding.WhichOneof("column_encoding") == "blob")


def _page(message: file2_pb2.ColumnMetadata.Page, file_size: int) -> PageMetadata:
    if len(message.buffer_offsets) != len(message.buffer_sizes):
        raise CorruptFile(f"{len(message.buffer_offsets)} buffer offsets for {len(message.buffer_sizes)} sizes")
    if message.length > MAX_ROWS:
        raise CorruptFile(f"a page of {message.length} rows is not possible")
    buffers = []
    for position, size in zip(message.buffer_offsets, message.buffer_sizes, strict=True):
        if position + size > file_size:
            raise CorruptFile(f"a buffer at bytes {position} to {position + size} of a file of {file_size} bytes")
        buffers.append(ByteRange(position, position + size))
    location = message.encoding.WhichOneof("location")
    if location != "direct":
        raise UnsupportedFeature(f"a page encoding stored as '{location}' is not supported")
    return PageMetadata(message.length, tuple(buffers), message.encoding.direct.encoding)
