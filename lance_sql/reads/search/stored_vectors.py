"""Distances of a query to the vectors stored in an index: exact ones, or by codes.

Source: vector index specification, sections on product, scalar and RaBitQ quantisation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.index_files.vector_index import Array, Partition, VectorIndex
from lance_sql.reads.search.rabit import RabitVectors
from lance_sql.values.arrays import F32, I64, BoolMask

_MOST_CODES: Final = 1 << 16

_lock: Final = Lock()
_vectors_by_index: Final[WeakKeyDictionary[VectorIndex, StoredVectors]] = WeakKeyDictionary()


class Probed(NamedTuple):
    """A partition to be searched.

    rows: the numbers of its rows, negative for missing ones
    """

    centroid: Array
    partition: Partition
    rows: I64


class StoredVectors(Protocol):
    """Stored vectors of a segment.

    is_exact: distances are those of the vectors themselves
    """

    is_exact: bool

    def prepare(self, query: Array) -> Any:
        """Prepares a query for the distances to all partitions."""
        ...

    def show(
        self, nearest: _kernels.NearestRows, query: int, prepared: Any, probed: Sequence[Probed], allowed: BoolMask
    ) -> int:
        """Adds the allowed rows of partitions; returns their number.

        query: number of the query
        allowed: mask of the allowed rows, by their numbers
        """
        ...


def show_distances(nearest: _kernels.NearestRows, query: int, distances: F32, rows: I64, allowed: BoolMask) -> int:
    """Adds the allowed ones of some rows with known distances; returns their number."""
    passed = (rows >= 0) & allowed[np.maximum(rows, 0)] if len(allowed) else np.zeros(len(rows), np.bool_)
    nearest.add_distances(query, distances, passed.view(np.uint8), rows.view(np.uint64), len(rows))
    return int(passed.sum())


class WithDistances(ABC):
    """Vectors whose distances are computed for a whole partition."""

    @abstractmethod
    def distances(self, prepared: Any, centroid: Array, partition: Partition) -> F32:
        """Returns the distance of each row of a partition."""

    def show(
        self, nearest: _kernels.NearestRows, query: int, prepared: Any, probed: Sequence[Probed], allowed: BoolMask
    ) -> int:
        """Adds rows like `StoredVectors.show`."""
        return sum(
            show_distances(nearest, query, self.distances(prepared, each.centroid, each.partition), each.rows, allowed)
            for each in probed
        )


def stored_vectors(index: VectorIndex) -> StoredVectors:
    """Opens the stored vectors of a segment; codebooks and rotations are read once.

    raises: CorruptFile, UnsupportedFeature
    """
    with _lock:
        stored = _vectors_by_index.get(index)
    if stored is None:
        kinds: dict[str, type[FlatVectors | ProductCodes | ScalarCodes | RotatedBits]]
        kinds = {"FLAT": FlatVectors, "PQ": ProductCodes, "SQ": ScalarCodes, "RQ": RotatedBits}
        stored = kinds[index.kind](index)
        with _lock:
            _vectors_by_index[index] = stored
    return stored


def vector_distances(metric: str, query: Array, vectors: Array, value_bits: int | None = None) -> F32:
    """Returns the distances of rows [n, d] to a query; both of one type.

    value_bits: of the rows, if these have 16 bits and the query has 32
    """
    rows = np.ascontiguousarray(vectors)
    out = np.empty(len(rows), np.float32)
    bits = rows.dtype.itemsize * 8 if value_bits is None else value_bits
    _kernels.vector_distances(
        _kernels.Metric[metric.upper()],
        bits,
        rows.shape[1],
        np.ascontiguousarray(query),
        rows.view(np.uint8),
        len(rows),
        out,
    )
    return out


class FlatVectors(WithDistances):
    """Unquantized vectors; normalized for cosine."""

    is_exact = True

    def __init__(self, index: VectorIndex) -> None:
        self._metric = index.metric
        type = np.dtype(index.type_of("flat").to_pandas_dtype())
        wanted = index.centroids.dtype
        as_compared = np.dtype(np.float32) if type == np.float16 else type
        if index.width("flat") != index.dimension or as_compared != wanted:
            raise CorruptFile(f"vectors of {index.width('flat')} {type} in an index of {index.dimension} {wanted}")

    def prepare(self, query: Array) -> Array:
        return query

    def distances(self, prepared: Array, centroid: Array, partition: Partition) -> F32:
        return vector_distances(self._metric, prepared, partition.columns["flat"])


class ProductCodes:
    """Product quantization: each part of a vector is a code of 8 or 4 bits for an item of a codebook."""

    is_exact = False

    def __init__(self, index: VectorIndex) -> None:
        self._book = index.codebook()
        parts, codes, _ = self._book.shape
        bits = codes.bit_length() - 1
        if parts > _MOST_CODES:
            raise CorruptFile(f"vectors of {index.dimension} values in {parts} parts of {bits} bits")
        if index.width("__pq_code") != parts * bits // 8 or index.type_of("__pq_code") != "uint8":
            raise CorruptFile(f"codes of {index.width('__pq_code')} bytes for {parts} parts of {bits} bits")
        self._bits = bits
        self._metric = index.metric
        self._columns = bool(index.storage.get("transposed", False))

    def prepare(self, query: Array) -> Array:
        return query.astype(np.float32)

    def show(
        self, nearest: _kernels.NearestRows, query: int, prepared: Array, probed: Sequence[Probed], allowed: BoolMask
    ) -> int:
        parts, _, size = self._book.shape
        is_dot = self._metric == "dot"
        partitions = _kernels.CodedPartitions(self._book, parts, self._bits, size, is_dot, self._columns)
        for each in probed:
            asked = prepared if is_dot else prepared - each.centroid.astype(np.float32, copy=False)
            codes = each.partition.columns["__pq_code"]
            partitions.add(asked, codes, each.rows, len(codes))
        return partitions.show(nearest, query, allowed.view(np.uint8))


class ScalarCodes(WithDistances):
    """Scalar quantization: each value is a byte between two bounds."""

    is_exact = False

    def __init__(self, index: VectorIndex) -> None:
        if index.storage.get("num_bits") != 8:
            raise UnsupportedFeature(f"scalar codes of {index.storage.get('num_bits')} bits are not supported")
        start, end = index.bounds()
        if index.width("__sq_code") != index.dimension or index.type_of("__sq_code") != "uint8":
            raise CorruptFile(f"codes of {index.width('__sq_code')} values for vectors of {index.dimension}")
        self._start, self._range = start, end - start
        self._step = np.float32(self._range) / np.float32(255)
        self._metric = index.metric

    def prepare(self, query: Array) -> Array:
        if self._metric == "dot":
            return query.astype(np.float32)
        coded = np.trunc((query.astype(np.float64) - self._start) * 255 / self._range)
        return np.clip(coded, 0, 255).astype(np.uint8)

    def distances(self, prepared: Array, centroid: Array, partition: Partition) -> F32:
        codes = partition.columns["__sq_code"]
        distances: F32
        if self._metric == "dot":
            product = codes.astype(np.float32) @ prepared
            distances = 1 - (np.float32(self._start) * prepared.sum(dtype=np.float32) + self._step * product)
        else:
            distances = vector_distances("l2", prepared, codes) * (self._step * self._step)
        return distances.astype(np.float32)


class RotatedBits(RabitVectors, WithDistances):
    """RaBitQ codes: bits of rotated vectors."""
