"""The metadata of a data file 2.x: how many rows it has, and the pages of each column.

Source: messages FileDescriptor (global buffer 0) and ColumnMetadata.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt
from google.protobuf.any_pb2 import Any

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.layouts.tree import Constant, PageLayout
from lance_sql.layouts.wire_v2_1 import TYPE_URL, layout_from_wire
from lance_sql.proto import file2_pb2, file_pb2
from lance_sql.store import ByteRange

MAX_ROWS = 1 << 48
"""No file or page may claim more rows or items than this."""


@dataclass(frozen=True)
class PageMetadata:
    """One page: its rows, its buffers (absolute), and its layout, parsed when asked for.

    num_rows: top-level rows; below a fixed-size list of structs, the items of the list
    """

    num_rows: int
    buffers: tuple[ByteRange, ...]
    encoding: bytes = field(repr=False)

    @cached_property
    def layout(self) -> PageLayout:
        """The page's layout.

        raises: UnsupportedFeature for a page of another version of the format, CorruptFile
        """
        message = Any.FromString(self.encoding)
        if message.type_url != TYPE_URL:
            raise UnsupportedFeature(f"page encoding '{message.type_url.rpartition('/')[2]}' is not supported")
        return layout_from_wire(message.value)

    @property
    def num_bytes(self) -> int:
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
    """The pages of one leaf column, in row order."""

    pages: tuple[PageMetadata, ...]

    @cached_property
    def row_starts(self) -> npt.NDArray[np.int64]:
        """First row of each page, then the number of rows: int64[pages + 1]."""
        return np.array([0, *accumulate(page.num_rows for page in self.pages)], np.int64)

    @property
    def num_rows(self) -> int:
        return int(self.row_starts[-1])


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
    return ColumnMetadata(tuple(_page(page, file_size) for page in message.pages))


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
