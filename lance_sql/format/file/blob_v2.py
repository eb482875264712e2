"""Blobs of file version 2.2: descriptors in the column, bytes in this file, in files beside it, or below a base path.

    kind 0  inline     bytes of the data file itself
    kind 1  packed     part of `<data file>/<id>.blob`
    kind 2  dedicated  all of such a file
    kind 3  external   its own URI, or a path below a base path of the table

Source: extension type lance.blob.v2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.layouts import blob
from lance_sql.format.schema import Field
from lance_sql.format.schema.field import PACKED_KEYS
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.store import ByteRange, Store
from lance_sql.values.arrays import I64, U64

DESCRIPTOR = pa.struct(
    [
        ("kind", pa.uint8()),
        ("position", pa.uint64()),
        ("size", pa.uint64()),
        ("blob_id", pa.uint32()),
        ("blob_uri", pa.string()),
    ]
)


_Counts: TypeAlias = U64


# The file's metadata of a blob column, whose descriptors are stored like a packed struct.
_METADATA = {PACKED_KEYS[0]: b"true", "lance-encoding:blob": b"true"}


class BlobKind(IntEnum):
    """Location of the bytes of a blob."""

    INLINE = 0
    PACKED = 1
    DEDICATED = 2
    EXTERNAL = 3


def describe(values: pa.Array, put: Callable[[pa.Buffer], int]) -> pa.StructArray:
    """Writes the bytes of values, large_binary, to the data file in one piece. Returns the descriptors; NULL for a
    NULL.

    put: writes bytes, and returns their position
    """
    positions, sizes = blob.put_values(values, put)
    nothing = np.zeros(len(values), np.uint32)
    columns = [
        pa.array(np.full(len(values), BlobKind.INLINE, np.uint8)),
        pa.array(positions),
        pa.array(sizes),
        pa.array(nothing),
        pa.array(pa.repeat("", len(values))),
    ]
    mask = values.is_null() if values.null_count else None
    return pa.StructArray.from_arrays(columns, fields=list(DESCRIPTOR), mask=mask)


def as_filed(field: Field) -> Field:
    """Returns the field with descriptors in place of blobs, in the form that the file's metadata has."""
    if field.is_blob_v2:
        members = [leaf._replace(nullable=False) for leaf in from_arrow(pa.schema(DESCRIPTOR)).fields]
        unnumbered = tuple(member._replace(id=-1, parent_id=-1) for member in members)
        return field._replace(children=unnumbered, metadata=_METADATA)
    return field._replace(children=tuple(as_filed(child) for child in field.children))


@dataclass(frozen=True, slots=True)
class BlobSource:
    """Location of the blobs of one data file.

    fetch: reads ranges of the data file
    store, path: the data file, with the sidecar files beside it
    base: the store below a base path of the table, by its id; raises CorruptFile for an unknown id
    """

    fetch: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]
    store: Store
    path: str
    base: Callable[[int], Store]

    def resolve(self, descriptors: pa.StructArray) -> pa.Array:
        """Reads the bytes of descriptors, as large_binary; NULL for a NULL descriptor.

        raises: UnsupportedFeature for managed blobs and for URIs outside the table's base paths
        """
        count = len(descriptors)
        columns = [descriptors.field(i).to_numpy(zero_copy_only=False) for i in range(4)]
        kinds, positions, sizes, ids = (np.nan_to_num(column).astype(np.uint64) for column in columns)
        uris = descriptors.field(4)
        valid = descriptors.is_valid().to_numpy(zero_copy_only=False)
        # older files omit the kind of a missing blob as well
        valid &= descriptors.field(0).is_valid().to_numpy(zero_copy_only=False)
        pieces: list[pa.Buffer | bytes] = [b""] * count
        for kind in np.unique(kinds[valid]).tolist():
            rows = np.flatnonzero(valid & (kinds == kind))
            for row, piece in zip(rows.tolist(), self._read(kind, rows, positions, sizes, ids, uris), strict=True):
                pieces[row] = piece
        return _binary(pieces, valid)

    def _read(
        self, kind: int, rows: I64, positions: _Counts, sizes: _Counts, ids: _Counts, uris: pa.Array
    ) -> Sequence[pa.Buffer]:
        starts, lengths = positions[rows].tolist(), sizes[rows].tolist()
        ranges = [ByteRange(start, start + length) for start, length in zip(starts, lengths, strict=True)]
        if kind == BlobKind.INLINE:
            # the position of an empty blob is arbitrary
            return self.fetch([where if where.end > where.start else ByteRange(0, 0) for where in ranges])
        if kind in (BlobKind.PACKED, BlobKind.DEDICATED):
            paths = [self._sidecar(blob_id) for blob_id in ids[rows].tolist()]
            return _read_files(self.store, paths, ranges)
        if kind == BlobKind.EXTERNAL:
            return [
                self._external(base_id, uris[row].as_py() or "", where)
                for row, base_id, where in zip(rows.tolist(), ids[rows].tolist(), ranges, strict=True)
            ]
        raise UnsupportedFeature(f"blobs of kind {kind} are not supported")

    def _sidecar(self, blob_id: int) -> str:
        # the id in binary, least significant bit first, spreads neighbors over an object store
        name = f"{blob_id:032b}"[::-1]
        return f"{self.path.removesuffix('.lance')}/{name}.blob"

    def _external(self, base_id: int, uri: str, where: ByteRange) -> pa.Buffer:
        if base_id == 0:
            raise UnsupportedFeature(
                f"the blob at {uri!r} is outside the table and its base paths: read it with its own tool"
            )
        store = self.base(base_id)
        if where.end == where.start:
            with at(file=uri):
                size, _ = store.tail(uri, 0)
            where = ByteRange(where.start, size)
        return _read_files(store, [uri], [where])[0]


def _read_files(store: Store, paths: Sequence[str], ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
    """Reads one range of each path, with one request for each file."""
    by_path: dict[str, list[int]] = {}
    for index, path in enumerate(paths):
        by_path.setdefault(path, []).append(index)
    contents: dict[int, pa.Buffer] = {}
    for path, indices in by_path.items():
        with at(file=path):
            buffers = store.get_ranges(path, [ranges[index] for index in indices])
        contents.update(zip(indices, buffers, strict=True))
    return [contents[index] for index in range(len(paths))]


def _binary(pieces: Sequence[pa.Buffer | bytes], valid: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> pa.Array:
    offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) if isinstance(piece, bytes) else piece.size for piece in pieces], out=offsets[1:])
    if int(offsets[-1]) < 0:
        raise CorruptFile("blobs of more bytes than any file has")
    validity = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    data = pa.py_buffer(b"".join(pieces))
    return pa.Array.from_buffers(pa.large_binary(), len(pieces), [validity, pa.py_buffer(offsets), data])
