"""Opening of pages by their metadata: the one place that distinguishes layouts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.format.layouts import blob, constant, full_zip, mini_block
from lance_sql.format.layouts.page import Page
from lance_sql.format.layouts.tree import Blob, ConstantLayout, FullZip, MiniBlock, PageLayout
from lance_sql.store import ByteRange


@dataclass(frozen=True, slots=True)
class Opening:
    """Functions that open pages of a layout.

    head_ranges: takes the layout and the buffers of a page; raises CorruptFile if the layout cannot have this many
    open_page: takes the layout, the buffers, the number of rows, and the bytes of the `head_ranges`
    """

    head_ranges: Callable[[Any, Sequence[ByteRange]], list[ByteRange]]
    open_page: Callable[[Any, Sequence[ByteRange], int, Sequence[pa.Buffer]], Page]


def head_ranges(layout: PageLayout, buffers: Sequence[ByteRange]) -> list[ByteRange]:
    """Returns the byte ranges that `open_page` needs.

    raises: CorruptFile if the layout cannot have this many buffers
    """
    return _opening(layout).head_ranges(layout, buffers)


def open_page(layout: PageLayout, buffers: Sequence[ByteRange], num_rows: int, head: Sequence[pa.Buffer]) -> Page:
    """Opens the page, given the bytes of its `head_ranges`."""
    return _opening(layout).open_page(layout, buffers, num_rows, head)


def _opening(layout: PageLayout) -> Opening:
    opening = LAYOUTS.get(type(layout))
    if opening is None:
        raise UnsupportedFeature(f"page layout {type(layout).__name__} is not supported")
    return opening


def _blob_ranges(layout: Blob, buffers: Sequence[ByteRange]) -> list[ByteRange]:
    return head_ranges(layout.inner, buffers)


def _open_blob(layout: Blob, buffers: Sequence[ByteRange], num_rows: int, head: Sequence[pa.Buffer]) -> Page:
    return blob.BlobPage(layout, open_page(layout.inner, buffers, num_rows, head), num_rows)


def _open_constant(
    layout: ConstantLayout, buffers: Sequence[ByteRange], num_rows: int, head: Sequence[pa.Buffer]
) -> Page:
    return constant.ConstantPage(layout, num_rows, head)


LAYOUTS: Final[Mapping[type[PageLayout], Opening]] = {
    MiniBlock: Opening(mini_block.head_ranges, mini_block.MiniBlockPage),
    FullZip: Opening(full_zip.head_ranges, full_zip.FullZipPage),
    ConstantLayout: Opening(constant.head_ranges, _open_constant),
    Blob: Opening(_blob_ranges, _open_blob),
}
