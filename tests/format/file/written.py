"""Files that the writer makes, as tables that both readers open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import lance
import pyarrow as pa

import lance_sql
from lance_sql.format.file.writer import FileWriter, WrittenFile
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.store import LocalStore


def write_file(
    root: Path, batches: Sequence[pa.RecordBatch], file_version: str, schema: pa.Schema | None = None
) -> WrittenFile:
    """The batches as `data/0.lance` below `root`."""
    schema = schema or batches[0].schema
    fields = from_arrow(schema, file_version=file_version)
    writer = FileWriter(LocalStore(str(root)), "data/0.lance", fields, file_version)
    try:
        for batch in batches:
            writer.write(batch)
        return writer.finish()
    except BaseException:
        writer.abort()
        raise


def commit(root: Path, file: WrittenFile, schema: pa.Schema) -> lance.LanceDataset:
    """A table of the one file, with pylance's own manifest."""
    major, minor = file.file_version
    data_file = lance.fragment.DataFile(
        "0.lance", list(file.fields), list(file.column_indices), major, minor, file.size_bytes
    )
    fragment = lance.fragment.FragmentMetadata(0, [data_file], file.num_rows)
    operation = lance.LanceOperation.Overwrite(schema, [fragment])
    return lance.LanceDataset.commit(str(root), operation)


def open_both(
    root: Path, batches: Sequence[pa.RecordBatch], file_version: str
) -> tuple[lance.LanceDataset, lance_sql.Dataset]:
    """The batches written by us, as pylance and as this library open them."""
    written = write_file(root, batches, file_version)
    theirs = commit(root, written, batches[0].schema)
    return theirs, lance_sql.open(str(root))
