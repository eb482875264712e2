"""The trained model of a vector index: the centroids of partitions, and the coding of vectors.

Source: vector index specification, sections on product, scalar and RaBitQ quantization.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.index_files import rabit_codes
from lance_sql.format.index_files.clustering import (
    MOST_ROUNDS,
    cluster,
    greatest_products,
    moved_by_products,
    nearest,
    num_threads,
)
from lance_sql.format.index_files.rotation import FastRotation, drawn, rotation_of
from lance_sql.format.index_files.vector_index import VectorIndex
from lance_sql.runtime.cached_property import cached_property
from lance_sql.values.arrays import F32, U8, U32, BoolMask

SAMPLES_OF_A_CENTROID: Final = 256
_MOST_SAMPLES: Final = 1 << 18
_CODEBOOK_SAMPLES: Final = 1 << 16
_RABIT_BITS: Final = 5
"""Default bits of RQ, as in pylance."""


@dataclass(frozen=True)
class VectorModel:
    """An immutable value; without centroids it is untrained.

    kind: FLAT, PQ, SQ or RQ
    metric: l2, cosine, dot, hamming
    type: of the values of vectors
    num_bits: of a code of PQ, and of a value of RQ
    codebook: f32[parts, 2^bits, d / parts], of PQ
    bounds: of SQ
    rotation: of RQ
    """

    kind: str
    metric: str
    type: pa.DataType
    dimension: int
    num_partitions: int
    num_parts: int = 0
    num_bits: int = 8
    centroids: F32 | None = None
    codebook: F32 | None = None
    bounds: tuple[float, float] = (0.0, 0.0)
    rotation: FastRotation | None = None

    @property
    def code_bytes(self) -> int:
        """Bytes of a coded vector."""
        match self.kind:
            case "PQ":
                return self.num_parts * self.num_bits // 8
            case "SQ":
                return self.dimension
            case "RQ":
                return rabit_codes.row_bytes(self.dimension, self.num_bits)
            case _:
                return int(self.dimension * self.type.bit_width // 8)

    @property
    def num_samples(self) -> int:
        """Number of rows to train on, if there are as many."""
        least = _CODEBOOK_SAMPLES if self.kind == "PQ" else 1 << 14
        return max(min(SAMPLES_OF_A_CENTROID * self.num_partitions, _MOST_SAMPLES), least)

    @property
    def num_rounds(self) -> int:
        """Maximum number of training rounds."""
        return MOST_ROUNDS * (1 + (self.num_parts if self.kind == "PQ" else 0))

    def prepared(self, vectors: pa.Array) -> tuple[BoolMask, npt.NDArray[Any]]:
        """Returns the mask of indexed vectors, and these in comparable form: bits of bytes, length 1 for cosine.

        vectors: fixed-size lists
        """
        size = self.dimension
        inner = vectors.values.slice(vectors.offset * size, len(vectors) * size)
        valid = vectors.is_valid().to_numpy(zero_copy_only=False)
        if inner.null_count:
            valid = valid & inner.is_valid().to_numpy(zero_copy_only=False).reshape(-1, size).all(axis=1)
            inner = inner.fill_null(0)
        values = inner.to_numpy().reshape(len(vectors), size)
        if self.metric != "hamming":
            compared = values if values.dtype == np.float64 else values.astype(np.float32, copy=False)
            with np.errstate(over="ignore", invalid="ignore"):
                squares = np.einsum("ij,ij->i", compared, compared)
            valid = valid & np.isfinite(squares)
            if self.metric == "cosine":
                valid = valid & (squares > 0)
                values = compared / np.sqrt(np.where(valid, squares, 1))[:, None].astype(compared.dtype)
        return valid, values if valid.all() else values[valid]

    def comparable(self, values: npt.NDArray[Any]) -> F32:
        """Converts vectors to the form of centroids: bytes to their bits."""
        if self.metric == "hamming":
            return np.unpackbits(values, axis=1).astype(np.float32)
        return np.ascontiguousarray(values, np.float32)

    def trained(
        self, values: npt.NDArray[Any], rng: np.random.Generator, after_round: Callable[[], None] = lambda: None
    ) -> VectorModel:
        """Returns the model with centroids and codes trained on a sample.

        values: of `prepared`, at least one
        after_round: called after each round
        """
        rows = self.comparable(values)
        with ThreadPoolExecutor(num_threads()) as pool:
            some = rows[: max(SAMPLES_OF_A_CENTROID * self.num_partitions, 1)]
            centroids = cluster(
                some, self.num_partitions, rng, is_binary=self.metric == "hamming", pool=pool, after_round=after_round
            )
            if self.metric == "dot":
                centroids = moved_by_products(some, centroids, pool)
            model = replace(self, centroids=self._rounded(centroids))
            if self.kind == "SQ":
                low, high = float(rows.min()), float(rows.max())
                return replace(model, bounds=(low, high if high > low else low + 1))
            if self.kind == "RQ":
                return replace(model, rotation=drawn(rng, self.dimension))
            if self.kind != "PQ":
                return model
            book_rows = model.left_of(rows[:_CODEBOOK_SAMPLES], model.partitions_of(rows[:_CODEBOOK_SAMPLES]))
            size = self.dimension // self.num_parts
            seeds = rng.integers(0, 2**32, self.num_parts)

            def part(number: int) -> F32:
                own = np.random.default_rng(seeds[number])
                return cluster(
                    book_rows, 1 << self.num_bits, own, first=number * size, size=size, after_round=after_round
                )

            return replace(model, codebook=self._rounded(np.stack(list(pool.map(part, range(self.num_parts))))))

    def _rounded(self, values: F32) -> F32:
        """Rounds values to the precision of the files: the type of the column."""
        return values.astype(np.float16).astype(np.float32) if pa.types.is_float16(self.type) else values

    @property
    def filled(self) -> F32:
        """The centroids; bits of bytes for hamming."""
        assert self.centroids is not None
        return self.centroids

    def partitions_of(self, rows: F32) -> U32:
        """Returns the partition of the nearest centroid; for dot that of the greatest product, like the order of
        searches."""
        return greatest_products(rows, self.filled) if self.metric == "dot" else nearest(rows, self.filled)

    def left_of(self, rows: F32, partitions: U32) -> F32:
        """Returns the vectors to code: residuals to their centroids, or the vectors themselves for dot with PQ."""
        return rows if self.kind == "PQ" and self.metric == "dot" else rows - self.filled[partitions]

    @cached_property
    def _turned_centroids(self) -> F32:
        assert self.rotation is not None
        return self.rotation.apply(self.filled)

    def coded(self, values: npt.NDArray[Any]) -> tuple[U32, U8]:
        """Returns the partitions of vectors, and their codes, u8[n, code_bytes].

        values: of `prepared`
        """
        rows = self.comparable(values)
        partitions = self.partitions_of(rows)
        if self.kind == "PQ":
            out = np.empty((len(rows), self.code_bytes), np.uint8)
            left = np.ascontiguousarray(self.left_of(rows, partitions))
            assert self.codebook is not None
            _kernels.product_codes(left, len(rows), self.dimension, self.codebook, self.num_parts, self.num_bits, out)
            return partitions, out
        if self.kind == "RQ":
            return partitions, self._rotated(rows, partitions)
        if self.kind == "SQ":
            low, high = self.bounds
            scaled = (rows - np.float32(low)) * np.float32(255 / (high - low))
            return partitions, np.clip(scaled, 0, 255).astype(np.uint8)
        stored = np.ascontiguousarray(values, self.type.to_pandas_dtype())
        return partitions, stored.view(np.uint8).reshape(len(rows), self.code_bytes)

    def _rotated(self, rows: F32, partitions: U32) -> U8:
        assert self.rotation is not None
        turned, out = (
            self.rotation.apply(self.left_of(rows, partitions)),
            np.empty((len(rows), self.code_bytes), np.uint8),
        )
        centroids, is_dot = self._turned_centroids, self.metric == "dot"
        _kernels.rotated_bits(
            turned, len(rows), self.dimension, partitions, centroids, len(centroids), self.num_bits, is_dot, out
        )
        return out


def model_of(index: VectorIndex, type: pa.DataType) -> VectorModel:
    """Returns the model that a segment was built with.

    type: of the values of the column
    raises: UnsupportedFeature for kinds that cannot be built; CorruptFile
    """
    if index.is_graph:
        raise UnsupportedFeature(f"building vector indices of kind IVF_HNSW_{index.kind} is not supported")
    centroids = index.centroids
    model = VectorModel(index.kind, index.metric, type, index.dimension, len(centroids))
    if index.metric == "hamming":
        return replace(model, centroids=np.unpackbits(centroids, axis=1).astype(np.float32))
    model = replace(model, centroids=np.ascontiguousarray(centroids, np.float32))
    if index.kind == "RQ":
        return _with_rotation(model, index)
    if index.kind == "SQ":
        return replace(model, bounds=index.bounds())
    if index.kind == "PQ":
        codebook = index.codebook()
        parts, codes, _ = codebook.shape
        return replace(model, num_parts=parts, num_bits=codes.bit_length() - 1, codebook=codebook)
    return model


def _with_rotation(model: VectorModel, index: VectorIndex) -> VectorModel:
    said = index.storage
    bits, rotation = said.get("num_bits"), rotation_of(index)
    if not isinstance(bits, int) or not 1 <= bits <= rabit_codes.MOST_BITS or model.dimension % 8:
        raise UnsupportedFeature(
            f"RQ codes of {bits} bits are not supported of vectors of {model.dimension} values are not supported"
        )
    if said.get("query_estimator") != "raw_query" or not isinstance(rotation, FastRotation):
        raise UnsupportedFeature("adding rows to RQ codes of early releases is not supported")
    return replace(model, num_bits=bits, rotation=rotation)


def new_model(kind: str, type: pa.DataType, num_rows: int, options: dict[str, Any]) -> VectorModel:
    """Creates an untrained model.

    kind: FLAT, PQ, SQ or RQ
    type: of the column
    options: metric, num_partitions, for PQ num_sub_vectors and num_bits, for RQ num_bits; all optional
    raises: InvalidArgument for invalid options; UnsupportedFeature for other types
    """
    if not pa.types.is_fixed_size_list(type):
        raise UnsupportedFeature(f"a vector index on a column of type {type} is not supported")
    value, dimension = type.value_type, int(type.list_size)
    is_bytes = pa.types.is_uint8(value)
    if not is_bytes and not pa.types.is_floating(value):
        raise UnsupportedFeature(f"a vector index on vectors of {value} is not supported")
    if is_bytes and kind != "FLAT":
        raise UnsupportedFeature(f"vectors of bytes in an index of kind IVF_{kind} are not supported: build IVF_FLAT")
    metric = str(options.pop("metric", None) or ("hamming" if is_bytes else "l2")).lower()
    metric = {"euclidean": "l2"}.get(metric, metric)
    if metric not in (("hamming",) if is_bytes else ("l2", "cosine", "dot")):
        raise InvalidArgument(f"metric={metric!r} does not fit vectors of {value}")
    count = options.pop("num_partitions", None)
    count = max(1, round(num_rows / 8192)) if count is None else _number("num_partitions", count, 1 << 16)
    model = VectorModel(kind, metric, value, dimension, count)
    if kind == "PQ":
        bits = options.pop("num_bits", None) or 8
        if bits not in (4, 8):
            raise InvalidArgument(f"num_bits={bits!r} is not 4 or 8")
        parts = options.pop("num_sub_vectors", None)
        parts = _parts(dimension) if parts is None else _number("num_sub_vectors", parts, dimension)
        if dimension % parts or parts * bits % 8:
            raise InvalidArgument(
                f"Vectors of {dimension} values cannot be split into {parts} parts of {bits} bits: pass another"
                " num_sub_vectors"
            )
        model = replace(model, num_parts=parts, num_bits=bits)
    if kind == "RQ":
        if dimension % 8:
            raise UnsupportedFeature(
                f"vectors of {dimension} values in an index of kind IVF_RQ are not supported: use vectors of a multiple"
                " of 8 values"
            )
        bits = options.pop("num_bits", None)
        bits = _RABIT_BITS if bits is None else _number("num_bits", bits, rabit_codes.MOST_BITS)
        model = replace(model, num_bits=bits)
    if options:
        raise InvalidArgument(f"An index of kind IVF_{kind} has no option {sorted(options)[0]!r}")
    return model


def _parts(dimension: int) -> int:
    return next((dimension // size for size in (16, 8, 4, 2) if dimension % size == 0), dimension)


def _number(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidArgument(f"{name}={value!r} is not a number from 1 to {most}")
    return value
