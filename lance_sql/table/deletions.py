"""Deletion files: the deleted rows of a fragment.

Two forms: an Arrow IPC file of one uint32 column, in any order, or a roaring bitmap. The values are physical
offsets in the fragment. A file lists all deletions of its fragment, including earlier ones.

Source: message lance.table.DeletionFile; table format, deletion files.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cache, partial
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import IpcCodec
from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.store import Store, checksums, innermost
from lance_sql.store.cached import read_twice
from lance_sql.table.fragment import DeletionFile, DeletionFileType
from lance_sql.table.known_files import KnownFiles
from lance_sql.table.paths import DELETIONS
from lance_sql.values import bitmaps
from lance_sql.values.arrays import U32

# Both forms take fewer bytes per row, and less overhead.
_BYTES_PER_ROW: Final = 8
_MOST_OTHER_BYTES: Final = 1 << 20
MAX_DELETED_ROWS: Final = 1 << 27
"""Limit of deleted rows read from one fragment; each takes some bytes of memory."""

# Arrow's writers may pad buffers to this many bytes.
_PADDING: Final = 64
_SCHEMA: Final = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])

# Other writers choose bitmaps from this number of deleted rows on.
_MIN_BITMAP_ROWS: Final = 5000
_MIN_COMPRESSED_ROWS: Final = 256


def read(store: Store, path: str, file_type: DeletionFileType, physical_rows: int) -> U32:
    """Returns the offsets of the deleted rows, ascending, without duplicates and below `physical_rows`; read-only.

    raises: CorruptFile, with the path, for a file that is missing, truncated, of another form, or names other rows
    """
    offsets = _KNOWN.get(
        store, path, lambda: read_twice(store, path, lambda: _read(store, path, file_type, physical_rows))
    )
    if len(offsets) and int(offsets[-1]) >= physical_rows:
        with at(file=path):
            raise CorruptFile(f"row {offsets[-1]} is deleted in a fragment of {physical_rows} rows")
    return offsets


def _read(store: Store, path: str, file_type: DeletionFileType, max_rows: int) -> U32:
    with at(file=path):
        most_bytes = _MOST_OTHER_BYTES + _BYTES_PER_ROW * max_rows
        size, content = store.tail(path, most_bytes)
        if size > most_bytes:
            raise CorruptFile(f"{size} bytes of deleted rows for a fragment of {max_rows} rows")
        if file_type is DeletionFileType.BITMAP:
            offsets = _bitmap_values(content, max_rows)
        else:
            offsets = _ascending(_arrow_values(content, max_rows))
    offsets.flags.writeable = False
    return offsets


def _memory(offsets: U32) -> int:
    return 1024 + offsets.nbytes


_KNOWN: Final = KnownFiles("deleted rows", 32 * 1024 * 1024, _memory)


def write(
    store: Store,
    fragment_id: int,
    read_version: int,
    offsets: U32,
    *,
    kind: DeletionFileType | None = None,
) -> DeletionFile:
    """Writes a deletion file below the table's root.

    read_version: the version that the change was computed from
    offsets: of all deleted rows of the fragment, including earlier ones; ascending, without duplicates, not empty
    kind: None chooses by the number of rows
    """
    assert len(offsets)
    if kind is None:
        kind = DeletionFileType.BITMAP if len(offsets) >= _MIN_BITMAP_ROWS else DeletionFileType.ARROW
    content = _arrow_file(offsets) if kind is DeletionFileType.ARROW else _bitmap_file(offsets)
    file = DeletionFile(kind, read_version, secrets.randbits(64), len(offsets), checksum=checksums.of(content))
    store.put(f"{DELETIONS}/{file.name(fragment_id)}", content, mode="overwrite")
    return file


def write_all(
    store: Store,
    read_version: int,
    offsets: Mapping[int, U32],
    *,
    kind: DeletionFileType | None = None,
) -> dict[int, DeletionFile]:
    """Writes the deletion files of several fragments concurrently; returns them by fragment id.

    offsets: by the ids of fragments; otherwise as for `write`
    """
    calls = [partial(write, store, each, read_version, deleted, kind=kind) for each, deleted in offsets.items()]
    return dict(zip(offsets, innermost(calls), strict=True))


def _arrow_file(offsets: U32) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    # compression takes five times as long, and does not make files of few rows smaller
    compression = "zstd" if len(offsets) >= _MIN_COMPRESSED_ROWS else None
    with pa.ipc.new_file(sink, _SCHEMA, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(pa.record_batch([pa.array(offsets)], schema=_SCHEMA))
    return sink.getvalue()


def _bitmap_file(offsets: U32) -> bytes:
    bitmap = bitmaps.bitmap(offsets)
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


def _arrow_values(content: pa.Buffer, max_values: int) -> U32:
    # The format's specification requires int32; every known writer uses uint32.
    is_signed, batches = _kernels.ipc_column(content)
    _check_count(sum(num_rows for num_rows, *_ in batches), max_values)
    parts = []
    for num_rows, start, size, num_bytes, codec in batches:
        # a few compressed bytes may claim any decompressed size
        if num_bytes > num_rows * 4 + _PADDING:
            raise CorruptFile(f"{num_rows} deleted rows claim {num_bytes} bytes")
        values = _decompress(content.slice(start, size), num_bytes, codec)
        parts.append(np.frombuffer(values, np.int32 if is_signed else np.uint32, num_rows))
    if is_signed and any(np.any(part < 0) for part in parts):
        raise CorruptFile("a deleted row has a negative offset")
    return np.concatenate(parts).view(np.uint32) if parts else np.empty(0, np.uint32)


def _decompress(data: pa.Buffer, num_bytes: int, codec: IpcCodec) -> pa.Buffer:
    if codec is IpcCodec.NONE:
        return data
    try:
        if codec is IpcCodec.ZSTD:
            return _zstd().decompress(data, num_bytes)
        # Arrow does not return the number of bytes that LZ4 has written to a buffer
        values = pa.CompressedInputStream(pa.BufferReader(data), "lz4").read_buffer(num_bytes + 1)
    except OSError as error:
        raise CorruptFile(f"deleted rows cannot be decompressed: {error}") from error
    if values.size != num_bytes:
        raise CorruptFile(f"deleted rows of {num_bytes} bytes are {values.size} bytes")
    return values


@cache
def _zstd() -> pa.Codec:
    return pa.Codec("zstd")


def _ascending(offsets: U32) -> U32:
    """Returns the offsets in ascending order, without duplicates. Some writers do not sort them, few repeat them."""
    ordered = np.sort(offsets)
    return ordered if (ordered[1:] > ordered[:-1]).all() else np.unique(ordered)


def _bitmap_values(content: pa.Buffer, max_values: int) -> U32:
    if content.size == 0:
        raise CorruptFile("a bitmap of 0 bytes")
    bitmap = bitmaps.deserialize(content.to_pybytes(), "deleted rows")
    # 400 kB of runs can stand for 2^32 values
    _check_count(len(bitmap), max_values)
    return np.array(bitmap.to_array(), np.uint32)


def _check_count(num_values: int, max_values: int) -> None:
    """Makes sure that the number of deleted rows is valid, before anything is allocated for them.

    raises: CorruptFile, UnsupportedFeature
    """
    if num_values > max_values:
        raise CorruptFile(f"{num_values} rows are deleted in a fragment of {max_values} rows")
    if num_values > MAX_DELETED_ROWS:
        raise UnsupportedFeature(
            f"{num_values} rows of one fragment are deleted; this release reads up to {MAX_DELETED_ROWS}"
        )
