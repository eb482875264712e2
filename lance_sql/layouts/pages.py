"""From the metadata of a page to a page that can be read: the one place that tells layouts apart."""

from collections.abc import Sequence

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.layouts import blob, constant, full_zip, mini_block, planar
from lance_sql.layouts.page import Page
from lance_sql.layouts.tree import Blob, Constant, FullZip, MiniBlock, PageLayout, Planar
from lance_sql.store import ByteRange


def head_ranges(layout: PageLayout, buffers: Sequence[ByteRange]) -> list[ByteRange]:
    """The byte ranges that `open_page` needs.

    raises: CorruptFile when the layout cannot have so many buffers
    """
    match layout:
        case MiniBlock():
            return mini_block.head_ranges(layout, buffers)
        case FullZip():
            return full_zip.head_ranges(layout, buffers)
        case Constant():
            return constant.head_ranges(layout, buffers)
        case Planar():
            return planar.head_ranges(layout, buffers)
        case Blob():
            return head_ranges(layout.inner, buffers)
    raise UnsupportedFeature(f"page layout {type(layout).__name__} is not supported")


def open_page(layout: PageLayout, buffers: Sequence[ByteRange], num_rows: int, head: Sequence[pa.Buffer]) -> Page:
    """The page, given the bytes of its `head_ranges`."""
    match layout:
        case MiniBlock():
            return mini_block.MiniBlockPage(layout, buffers, num_rows, head)
        case FullZip():
            return full_zip.FullZipPage(layout, buffers, num_rows, head)
        case Constant():
            return constant.ConstantPage(layout, num_rows, head)
        case Planar():
            return planar.PlanarPage(layout, buffers, num_rows, head)
        case Blob():
            return blob.BlobPage(layout, open_page(layout.inner, buffers, num_rows, head))
    raise UnsupportedFeature(f"page layout {type(layout).__name__} is not supported")
