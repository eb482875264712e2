"""Rows of mapped files, of several files in one call of the kernels, which become one array for each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.file import mapped_columns
from lance_sql.format.file.mapped_columns import PlainColumn
from lance_sql.format.file.reader import FileReader
from lance_sql.values.row_ranges import RowRanges


class FileRows(NamedTuple):
    """Rows of columns of a file: at least one row, relative to the first one of the file."""

    file: FileReader
    columns: Sequence[PlainColumn]
    rows: RowRanges


def read(files: Sequence[FileRows]) -> list[pa.Array] | None:
    """Reads one array for each column, with its rows in all files, one after the other.

    files: with the same columns in the same types
    returns: None if the kernels do not read them alone: reading the files one by one says why
    """
    columns = files[0].columns
    keys = [column.key for column in columns]
    mappings = []
    wanted = []
    for each in files:
        content = each.file.bytes.content() if mapped_columns.is_possible(each.file) else None
        if content is None:
            return None
        held, mapping = content
        mappings.append(mapping)
        path = None if mapping is None else mapping.local_path
        wanted.append((held, path, mapped_columns.known(each.file, keys), each.rows))
    read = _kernels.read_mapped(wanted)
    if read is None:
        # a page is not open yet
        read = _kernels.read_mapped(
            [
                (held, path, mapped_columns.opened(each.file, keys, each.rows, are_plain=True), each.rows)
                for (held, path, _, _), each in zip(wanted, files, strict=True)
            ]
        )
        if read is None:
            return None
    joined, touched = read
    for mapping, ranges in zip(mappings, touched, strict=True):
        if mapping is not None and ranges:
            mapping.touch(ranges)
    batch = pa.RecordBatch._import_from_c(joined.address, pa.schema([column.field for column in columns]))
    return [column.form.finish(array, column.type) for column, array in zip(columns, batch.columns, strict=True)]
