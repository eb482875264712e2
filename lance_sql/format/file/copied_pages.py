"""Pages that a new file takes over unchanged: their bytes, and the message with their encoding.

A page depends on its file only by the positions of its buffers, which are written again. That holds for the
layouts below. Blobs refer to other bytes of their file, and array trees to other columns.

Source: data file 2.x, message ColumnMetadata.Page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lance_sql.format.file.metadata_v2 import ColumnMetadata, MetadataV2
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.tree import ConstantLayout, FullZip, MiniBlock
from lance_sql.format.schema import Field

_LAYOUTS: Final = (MiniBlock, FullZip, ConstantLayout)


@dataclass(frozen=True, slots=True)
class PageBytes:
    """One page.

    buffers: in their order
    encoding: the message that wraps its layout
    """

    num_rows: int
    buffers: Sequence[pa.Buffer]
    encoding: bytes


def can_be_copied(column: ColumnMetadata, num_rows: int) -> bool:
    """Whether the pages of a column are valid in another file of the same version.

    num_rows: of the file
    raises: CorruptFile, UnsupportedFeature for a layout that cannot be read
    """
    return column.num_rows == num_rows and all(
        isinstance(page.encoding, bytes) and isinstance(page.layout, _LAYOUTS) for page in column.pages
    )


def is_as_described(file: FileReader, field: Field) -> bool:
    """Whether the file was written with the type and encoding options that the field has now.

    raises: CorruptFile
    """
    if not isinstance(file.metadata, MetadataV2):
        return False
    with file.at():
        described = file.metadata.fields.get(field.id)
    return (
        described is not None
        and described.logical_type == field.logical_type
        and described.metadata == field.metadata
        and described.dictionary == field.dictionary
    )


def read(file: FileReader, columns: Sequence[ColumnMetadata]) -> list[list[PageBytes]]:
    """Reads the pages of some columns of a file with one request, see `can_be_copied`.

    raises: CorruptFile; errors of the store
    """
    buffers = iter(file.bytes.fetch([each for column in columns for page in column.pages for each in page.buffers]))
    pages: list[list[PageBytes]] = []
    for column in columns:
        pages.append([])
        for page in column.pages:
            assert isinstance(page.encoding, bytes)
            pages[-1].append(PageBytes(page.num_rows, [next(buffers) for _ in page.buffers], page.encoding))
    return pages
