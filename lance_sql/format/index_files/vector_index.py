"""The files of a vector index: centroids of partitions, and the coded vectors of each partition.

    index.idx        the kind, the metric, the centroids; the graph of HNSW, which is not read
    auxiliary.idx    `_rowid` and the codes of all rows, in the order of partitions

Source: vector index specification; messages IVF and Tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.message import DecodeError

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.index_files.index_file import IndexFile, json_note
from lance_sql.format.proto import vector_index_pb2
from lance_sql.runtime.caches import LruCache
from lance_sql.values import row_ranges
from lance_sql.values.arrays import F32, U64

INDEX: Final = "index.idx"
AUXILIARY: Final = "auxiliary.idx"
ROW_ID: Final = "_rowid"

METRICS: Final = ("l2", "cosine", "dot", "hamming")
_TYPES: Final = {1: np.float16, 2: np.float32, 3: np.float64, 4: np.uint8}
_MOST_PARTITIONS: Final = 1 << 22
_MOST_HELD: Final = 128 << 20
_MOST_READ: Final = 64 << 20

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Partition:
    """The rows of one partition. Equality is identity.

    row_ids: u64[n]
    columns: by name, [n, width] of a list and [n] of a number
    """

    number: int
    row_ids: U64
    columns: dict[str, Array]

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays."""
        return self.row_ids.nbytes + sum(each.nbytes for each in self.columns.values())


class VectorIndex:
    """An open segment of a vector index. Thread-safe.

    kind: of the stored vectors: FLAT, PQ, SQ or RQ
    is_graph: whether the index also has a graph
    metric: one of `METRICS`
    centroids: [partitions, d], f32 for a column of f16, else in the column's type
    """

    def __init__(self, index: IndexFile, auxiliary: IndexFile) -> None:
        """
        raises: CorruptFile; UnsupportedFeature for unknown kinds and metrics
        """
        self._file = auxiliary
        with at(file=index.path):
            said = json_note(index.note("lance:index"), dict)
            parts = str(said.get("type", "")).split("_")
            self.is_graph = parts[1:2] == ["HNSW"]
            self.kind = parts[-1]
            self.metric = str(said.get("distance_type", ""))
            if parts[0] != "IVF" or self.kind not in COLUMNS or len(parts) != 2 + self.is_graph:
                raise UnsupportedFeature(f"vector indices of kind {'_'.join(parts)[:40]!r} are not supported")
            if self.metric not in METRICS:
                raise UnsupportedFeature(f"vector indices with the metric {self.metric[:40]!r} are not supported")
            self.centroids = tensor(_ivf(index).centroids_tensor, 2)
        with at(file=auxiliary.path):
            ivf = _ivf(auxiliary)
            self.offsets = np.array(ivf.offsets, np.uint64).astype(np.int64)
            self.lengths = np.array(ivf.lengths, np.uint32).astype(np.int64)
            count = len(self.centroids)
            if not 0 < count <= _MOST_PARTITIONS or len(self.offsets) != count or len(self.lengths) != count:
                raise CorruptFile(
                    f"{count} centroids, and {len(self.offsets)} offsets and {len(self.lengths)} lengths of partitions"
                )
            ends = self.offsets + self.lengths
            if (self.offsets < 0).any() or (ends > auxiliary.num_rows).any():
                raise CorruptFile(f"a partition behind the end of the {auxiliary.num_rows} rows")
            stored = json_note(auxiliary.note("storage_metadata"), list)
            self.storage = json_note(stored[0] if stored and isinstance(stored[0], str) else None, dict)
            self.names = tuple(name for name in COLUMNS[self.kind] if auxiliary.has(name))
            if not self.names or not auxiliary.has(ROW_ID) or auxiliary.type_of(ROW_ID) != pa.uint64():
                raise CorruptFile(f"the columns are {', '.join(auxiliary.names)[:100]}")
        # counted by the owner of the index
        self._cache: LruCache[int, Partition] = LruCache(
            None, most_bytes=_MOST_HELD, num_bytes=lambda each: each.num_bytes + 1
        )

    @property
    def path(self) -> str:
        """Path of the file with the codes."""
        return self._file.path

    @property
    def dimension(self) -> int:
        """Number of values in a vector."""
        return int(self.centroids.shape[1])

    @property
    def num_bytes(self) -> int:
        """Maximum memory, including cached partitions."""
        return int(self.centroids.nbytes) + min(self._file.num_bytes, _MOST_HELD)

    def width(self, name: str) -> int:
        """Returns the number of values of a row in a column of lists.

        raises: CorruptFile for a column of another type, or a missing one
        """
        type = self._file.type_of(name)
        if not pa.types.is_fixed_size_list(type):
            raise CorruptFile(f"the column {name!r} is {type}")
        return int(type.list_size)

    def codebook(self) -> F32:
        """Returns the items of product codes: [parts, 16 or 256 codes, values of a part].

        raises: CorruptFile; UnsupportedFeature for codes of other lengths
        """
        said, dimension = self.storage, self.dimension
        bits, parts, position = (said.get(name) for name in ("nbits", "num_sub_vectors", "codebook_position"))
        if bits not in (4, 8) or not isinstance(parts, int) or not isinstance(position, int):
            raise UnsupportedFeature(f"product codes of {bits} bits in {parts} parts are not supported")
        if not 0 < parts <= dimension or dimension % parts or parts * bits % 8:
            raise CorruptFile(f"vectors of {dimension} values in {parts} parts of {bits} bits")
        book = self.tensor(position, 2)
        if book.size != dimension << bits:
            raise CorruptFile(f"a codebook of {book.size} numbers for {dimension} values of {bits} bits")
        return np.ascontiguousarray(book.reshape(parts, 1 << bits, dimension // parts), np.float32)

    def bounds(self) -> tuple[float, float]:
        """Returns the values of the first and the last scalar code.

        raises: CorruptFile
        """
        said = self.storage.get("bounds")
        low, high = (said.get(name) for name in ("start", "end")) if isinstance(said, dict) else (None, None)
        if not isinstance(low, int | float) or not isinstance(high, int | float) or not low < high:
            raise CorruptFile(f"values from {low} to {high}")
        return float(low), float(high)

    def type_of(self, name: str) -> pa.DataType:
        """Returns the type of a column, or of the items of its lists."""
        type = self._file.type_of(name)
        return type.value_type if pa.types.is_fixed_size_list(type) else type

    def tensor(self, number: int, num_axes: int) -> Array:
        """Reads a global buffer with numbers.

        raises: CorruptFile
        """
        with at(file=self._file.path):
            return tensor(_parsed(vector_index_pb2.Tensor, self._file.buffer(number)), num_axes)

    def partitions(self, numbers: Sequence[int]) -> Iterator[Partition]:
        """Yields the rows of these partitions, in any order; empty ones are left out.

        raises: CorruptFile
        """
        missing = []
        for number in numbers:
            cached = self._cache.get(number)
            if cached is not None:
                yield cached
            elif self.lengths[number]:
                missing.append(number)
        row_bytes = max(self._file.row_bytes([*self.names, ROW_ID]), 1)
        missing.sort(key=lambda number: int(self.offsets[number]))
        group: list[int] = []
        for number in missing:
            if group and row_bytes * (self.lengths[group].sum() + self.lengths[number]) > _MOST_READ:
                yield from self._read(group)
                group = []
            group.append(number)
        if group:
            yield from self._read(group)

    def _read(self, numbers: Sequence[int]) -> Iterator[Partition]:
        """Reads partitions together, and yields them in the order of their rows."""
        ranges = np.stack((self.offsets[numbers], self.offsets[numbers] + self.lengths[numbers]), axis=1)
        if (ranges[1:, 0] < ranges[:-1, 1]).any():
            with at(file=self._file.path):
                raise CorruptFile("two partitions have the same rows")
        arrays = self._file.read([ROW_ID, *self.names], row_ranges.coalesce(ranges, 0))
        with at(file=self._file.path):
            row_ids, *columns = (_numbers(array) for array in arrays)
        start = 0
        for number in numbers:
            end = start + int(self.lengths[number])
            # copies, because a slice of an array would hold all of it
            partition = Partition(
                number,
                row_ids[start:end].copy(),
                {name: column[start:end].copy() for name, column in zip(self.names, columns, strict=True)},
            )
            start = end
            if partition.num_bytes < _MOST_HELD:
                self._cache.put(number, partition)
            yield partition


COLUMNS: Final = {
    "FLAT": ("flat",),
    "PQ": ("__pq_code",),
    "SQ": ("__sq_code",),
    "RQ": (
        "_rabit_codes",
        "__add_factors",
        "__scale_factors",
        "__blocked_ex_codes",
        "__ex_codes",
        "__add_factors_ex",
        "__scale_factors_ex",
    ),
}
"""The columns beside `_rowid` of each kind of stored vectors that distances need."""


def tensor(message: vector_index_pb2.Tensor, num_axes: int) -> Array:
    """Returns the numbers of a message; f32 for f16.

    raises: CorruptFile; UnsupportedFeature for other types
    """
    type = _TYPES.get(message.data_type)
    if type is None:
        raise UnsupportedFeature(f"vectors of type {message.data_type} are not supported")
    shape = tuple(message.shape)
    # with Python's integers, because the product of hostile ones could overflow
    count = 1
    for size in shape:
        count *= size
    if len(shape) != num_axes or count * np.dtype(type).itemsize != len(message.data):
        raise CorruptFile(f"numbers in the shape {shape[:8]} of {len(message.data)} bytes")
    numbers = np.frombuffer(message.data, np.dtype(type).newbyteorder("<")).reshape(shape)
    return numbers.astype(np.float32) if type is np.float16 else numbers.astype(type)


def _ivf(file: IndexFile) -> vector_index_pb2.IVF:
    number = file.number("lance:ivf")
    if number is None:
        raise CorruptFile("the metadata 'lance:ivf' is missing")
    ivf: vector_index_pb2.IVF = _parsed(vector_index_pb2.IVF, file.buffer(number))
    return ivf


def _parsed(message: Any, data: bytes) -> Any:
    try:
        return message.FromString(data)
    except DecodeError as error:
        raise CorruptFile(f"a buffer of {len(data)} bytes is not a {message.DESCRIPTOR.name}") from error


def _numbers(array: pa.Array) -> Array:
    """Converts numbers or lists of numbers to NumPy, without a copy.

    raises: CorruptFile for NULLs
    """
    values = array
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        values = array.values.slice(array.offset * size, len(array) * size)
    if array.null_count or values.null_count:
        raise CorruptFile("a code is NULL")
    numbers: Array = values.to_numpy(zero_copy_only=True)
    return numbers.reshape(len(array), -1) if values is not array else numbers
