"""Deletion files: which rows of a fragment are gone.

Two forms: an Arrow IPC file of one uint32 column, in any order, or a roaring bitmap. The values are physical
offsets in the fragment. A file lists all deletions of its fragment, earlier ones included.

Source: message lance.table.DeletionFile; table format, deletion files.
"""

from __future__ import annotations

import secrets
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import bitmaps
from lance_sql.errors import CorruptFile, at
from lance_sql.store import Store
from lance_sql.table import ipc_batches
from lance_sql.table.fragment import DeletionFile, DeletionFileType
from lance_sql.table.paths import DELETIONS

_ALL_BYTES: Final = 2**62
# Handing the one small buffer of such a file to other threads takes longer than decompressing it.
_READ_OPTIONS: Final = pa.ipc.IpcReadOptions(use_threads=False)
_SCHEMA: Final = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])

# From so many deleted rows on other writers choose bitmaps.
_MIN_BITMAP_ROWS: Final = 5000


def read(store: Store, path: str, file_type: DeletionFileType, physical_rows: int) -> npt.NDArray[np.uint32]:
    """The offsets of the deleted rows, ascending, each once, and below `physical_rows`; read-only.

    raises: CorruptFile, with the path, when the file is missing, cut, of another form, or names other rows
    """
    with at(file=path):
        _, content = store.tail(path, _ALL_BYTES)
        if file_type is DeletionFileType.BITMAP:
            offsets = _bitmap_values(content, physical_rows)
        else:
            offsets = _ascending(_arrow_values(content, physical_rows))
        if len(offsets) and int(offsets[-1]) >= physical_rows:
            raise CorruptFile(f"row {offsets[-1]} is deleted in a fragment of {physical_rows} rows")
    offsets.flags.writeable = False
    return offsets


def write(
    store: Store,
    fragment_id: int,
    read_version: int,
    offsets: npt.NDArray[np.uint32],
    *,
    kind: DeletionFileType | None = None,
) -> DeletionFile:
    """Writes a deletion file below the table's root.

    read_version: the version that the change was computed from
    offsets: of all deleted rows of the fragment, those of earlier deletions too; ascending, each once, at least one
    kind: None for what suits the number of rows
    """
    assert len(offsets)
    if kind is None:
        kind = DeletionFileType.BITMAP if len(offsets) >= _MIN_BITMAP_ROWS else DeletionFileType.ARROW
    file = DeletionFile(kind, read_version, secrets.randbits(64), len(offsets))
    content = _arrow_file(offsets) if kind is DeletionFileType.ARROW else _bitmap_file(offsets)
    store.put(f"{DELETIONS}/{file.name(fragment_id)}", content, mode="overwrite")
    return file


def _arrow_file(offsets: npt.NDArray[np.uint32]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, _SCHEMA, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(pa.record_batch([pa.array(offsets)], schema=_SCHEMA))
    return sink.getvalue()


def _bitmap_file(offsets: npt.NDArray[np.uint32]) -> bytes:
    from pyroaring import BitMap

    bitmap = BitMap(offsets)
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


def _arrow_values(content: pa.Buffer, max_values: int) -> npt.NDArray[np.uint32]:
    try:
        reader = pa.ipc.open_file(content, options=_READ_OPTIONS)
        # The format's text says int32; every writer that is known uses uint32.
        if len(reader.schema) != 1 or reader.schema.field(0).type not in (pa.uint32(), pa.int32()):
            raise CorruptFile(f"a deletion file has one column of uint32, not {reader.schema.to_string()!r}")
        batches = list(ipc_batches.read(reader, content, max_values * 4))
    except OSError as error:
        # how Arrow reports bytes that are no messages, or do not decompress
        raise CorruptFile(f"not an Arrow file of deleted rows ({error})") from error
    num_values = sum(batch.num_rows for batch in batches)
    if num_values > max_values:
        raise CorruptFile(f"{num_values} rows are deleted in a fragment of {max_values} rows")
    parts = []
    for batch in batches:
        column = batch.column(0)
        column.validate()
        if column.null_count:
            raise CorruptFile("a deleted row is null")
        part = column.to_numpy()
        if part.dtype == np.int32 and np.any(part < 0):
            raise CorruptFile("a deleted row has a negative offset")
        parts.append(part.astype(np.uint32, copy=False))
    return np.concatenate(parts) if parts else np.empty(0, np.uint32)


def _ascending(offsets: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The offsets in order, each once. Some writers do not order them, and hardly one repeats them."""
    ordered = np.sort(offsets)
    return ordered if (ordered[1:] > ordered[:-1]).all() else np.unique(ordered)


def _bitmap_values(content: pa.Buffer, max_values: int) -> npt.NDArray[np.uint32]:
    if content.size == 0:
        raise CorruptFile("a bitmap of 0 bytes")
    bitmap = bitmaps.deserialize(content.to_pybytes(), "deleted rows")
    # 400 kB of runs can stand for 2^32 values
    if len(bitmap) > max_values:
        raise CorruptFile(f"{len(bitmap)} rows are deleted in a fragment of {max_values} rows")
    return np.array(bitmap.to_array(), np.uint32)
