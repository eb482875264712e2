"""Lookup of the pages of a data file by byte ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lance_sql.errors import LanceError
from lance_sql.format.file.metadata_v2 import MetadataV2
from lance_sql.format.schema import Field
from lance_sql.store import ByteRange
from lance_sql.table.fragment import DataFile
from lance_sql.table.snapshot import Snapshot


def pages_in(snapshot: Snapshot, file: DataFile, ranges: Sequence[ByteRange]) -> list[tuple[str, int]]:
    """Returns the pages of a file with bytes in the ranges, as names of top-level columns and numbers of pages; none if
    the file does not record pages.

    ranges: ascending
    """
    try:
        return sorted(set(_pages(snapshot, file, ranges)))
    except LanceError:
        return []


def _pages(snapshot: Snapshot, file: DataFile, ranges: Sequence[ByteRange]) -> Iterator[tuple[str, int]]:
    opened = snapshot.open_fragments.files.open(file)
    if not isinstance(opened.metadata, MetadataV2):
        return
    fields = snapshot.manifest.schema.by_id
    for field_id, index in file.columns().items():
        field = fields.get(field_id)
        if field is None:
            continue
        name = _top(fields, field).name
        for number, page in enumerate(opened.column(index).pages):
            if any(start < end for buffer in page.buffers for start, end in _overlaps(buffer, ranges)):
                yield name, number


def _overlaps(buffer: ByteRange, ranges: Sequence[ByteRange]) -> Iterator[ByteRange]:
    for each in ranges:
        yield ByteRange(max(buffer.start, each.start), min(buffer.end, each.end))


def _top(fields: Mapping[int, Field], field: Field) -> Field:
    above = fields.get(field.parent_id)
    return field if above is None else _top(fields, above)
