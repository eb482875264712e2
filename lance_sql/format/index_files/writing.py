"""Writing one file of an index; see `index_file`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from lance_sql.format.file.writer import FileWriter, WrittenFile
from lance_sql.format.schema import Schema
from lance_sql.format.schema.from_arrow import of_index_file
from lance_sql.store import Store


def write(
    store: Store,
    path: str,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    *,
    file_version: str,
    notes: Mapping[str, str],
    buffers: Iterable[bytes] = (),
) -> WrittenFile:
    """Writes a file, durably. Removes partial data on errors.

    notes: the metadata of the schema
    buffers: global buffers, the first of which is number 1; consumed after all batches
    raises: errors of the store
    """
    metadata = {key: value.encode() for key, value in notes.items()}
    writer = FileWriter(store, path, Schema(of_index_file(schema).fields, metadata), file_version)
    try:
        for batch in batches:
            writer.write(batch)
        for buffer in buffers:
            writer.add_buffer(buffer)
        return writer.finish()
    except BaseException:
        writer.abort()
        raise
