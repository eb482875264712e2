"""Pages of files 2.1 and 2.2 as they are stored. The kernels make their readers, and decide which bytes they need."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import PageForm
from lance_sql.errors import CorruptFile, LanceError, UnsupportedFeature
from lance_sql.format.layouts.column_type import column_type
from lance_sql.format.layouts.form import Form, OpenPage, form_of
from lance_sql.format.layouts.matching import items_of
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.page import PAGE_BYTES
from lance_sql.store import ByteRange
from lance_sql.values import kinds


def head_ranges(encoding: bytes, buffers: Sequence[ByteRange]) -> list[ByteRange]:
    """Returns the buffers that a page is opened with, which are its head.

    encoding: the message of the page's layout
    raises: CorruptFile if the layout cannot have this many buffers; UnsupportedFeature
    """
    return [buffers[number] for number in _kernels.page_head(encoding, len(buffers))]


class StoredPage:
    """One page, and its head.

    num_bytes: its memory
    """

    __slots__ = ("_buffers", "_encoding", "_head", "_num_rows", "num_bytes")

    def __init__(self, encoding: bytes, buffers: Sequence[ByteRange], num_rows: int, head: Sequence[pa.Buffer]) -> None:
        """
        encoding: the message of its layout
        head: the contents of its `head_ranges`
        """
        self._encoding = encoding
        self._buffers = buffers
        self._num_rows = num_rows
        self._head = list(head)
        self.num_bytes = PAGE_BYTES + len(encoding) + sum(buffer.size for buffer in head)

    def reader(self, chain: Chain, *, is_nested: bool, are_places: bool = False) -> tuple[OpenPage, ByteRange] | None:
        """Returns the reader of the page, or one that only tests for NULL, and its bytes in the file; None if it has
        none.

        chain: the type that the page has
        is_nested, are_places: as for `column_type`
        raises: CorruptFile, UnsupportedFeature, ValueError if the page cannot have the values
        """
        type = column_type(chain, is_nested=is_nested, are_places=are_places)
        reader = _kernels.PageReader.stored(self._encoding, self._num_rows, self._buffers, self._head, type)
        place = reader.place
        if place is None:
            return None
        is_indexed = reader.form == PageForm.INDICES
        form = indices_form(chain.leaf, reader.items) if is_indexed else form_of(chain.leaf, reader.form)
        return OpenPage(reader, form, _refusal(reader)), ByteRange(*place)


def indices_form(leaf: pa.DataType, items: _kernels.Items | None) -> Form:
    """Returns the form of a page of indices.

    leaf: the type of the indices
    raises: CorruptFile if the items cannot be those of the type
    """
    storage = kinds.storage(leaf)
    assert items is not None
    return Form(storage.index_type, items_of(items, storage.value_type))


def _refusal(reader: _kernels.PageReader) -> LanceError | None:
    if reader.refusal is None:
        return None
    message, is_unsupported = reader.refusal
    return UnsupportedFeature(message) if is_unsupported else CorruptFile(message)
