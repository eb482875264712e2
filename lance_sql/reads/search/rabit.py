"""Vectors quantized to the signs of their rotated values, and to some more bits of each.

Source: RaBitQ; vector index specification, storage of RQ.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.index_files import rabit_codes
from lance_sql.format.index_files.rotation import rotation_of
from lance_sql.format.index_files.vector_index import Array, Partition, VectorIndex
from lance_sql.values.arrays import F32

_MOST_AT_ONCE: Final = 1 << 22
"""Limit of code values that are unpacked at once."""


class RabitVectors:
    """Codes of sign bits, and up to 8 more bits per value."""

    is_exact = False

    def __init__(self, index: VectorIndex) -> None:
        said = index.storage
        bits, size = said.get("num_bits"), said.get("code_dim", index.dimension)
        if not isinstance(bits, int) or not 1 <= bits <= rabit_codes.MOST_BITS:
            raise UnsupportedFeature(f"RQ codes of {bits} bits are not supported")
        if size != index.dimension:
            raise UnsupportedFeature(f"RQ codes of {size} values for vectors of {index.dimension} are not supported")
        self._size = int(size)
        self._extra = bits - 1
        self._bits = bits
        self._metric = index.metric
        self._is_packed = bool(said.get("packed", False))
        estimator = said.get("query_estimator", "residual_query")
        if estimator not in ("raw_query", "residual_query"):
            raise UnsupportedFeature(f"the RQ estimator {str(estimator)[:40]!r} is not supported")
        self._is_raw = estimator == "raw_query"
        if not self._is_raw and self._extra:
            raise UnsupportedFeature("RQ codes of several bits with the estimator of early releases are not supported")
        self._check_columns(index)
        self._rotation = rotation_of(index)

    def _check_columns(self, index: VectorIndex) -> None:
        if self._extra and rabit_codes.EXTRA not in index.names:
            raise UnsupportedFeature("RQ codes in the form of early releases are not supported")
        for name, width in rabit_codes.widths(self._size, self._bits).items():
            if name == "__error_factors":
                # for skipping rows early, which is not implemented here
                continue
            if name not in index.names:
                raise CorruptFile(f"no column {name!r}")
            if not width and index.type_of(name) != "float":
                raise CorruptFile(f"the column {name!r} is {index.type_of(name)}")
            if width and (index.width(name) != width or index.type_of(name) != "uint8"):
                raise CorruptFile(f"the column {name!r} has {index.width(name)} values, {width} were expected")

    def prepare(self, query: Array) -> Array:
        return query.astype(np.float32)

    def distances(self, prepared: Array, centroid: Array, partition: Partition) -> F32:
        center = centroid.astype(np.float32)
        columns = partition.columns
        count = len(partition.row_ids)
        signs = columns[rabit_codes.SIGNS]
        if self._is_packed:
            signs = rabit_codes.unpacked_signs(signs)
        far = float(np.square(prepared - center).sum())
        towards = float(prepared @ center)
        rotated = self._rotation.apply((prepared if self._is_raw else prepared - center)[None])[0]
        total = float(rotated.sum())
        out = np.empty(count, np.float32)
        step = max(1, _MOST_AT_ONCE // self._size)
        for start in range(0, count, step):
            rows = slice(start, min(start + step, count))
            bits = np.unpackbits(signs[rows], axis=1, bitorder="little")[:, : self._size]
            product = bits.astype(np.float32) @ rotated
            suffix = "_ex" if self._extra else ""
            add, scale = columns[f"__add_factors{suffix}"][rows], columns[f"__scale_factors{suffix}"][rows]
            if not self._is_raw:
                base = far if self._metric != "dot" else -towards
                part = (2 * product - total) / np.sqrt(self._size * self._bits) * scale + add + base
            else:
                if self._extra:
                    codes = rabit_codes.extra_codes(columns[rabit_codes.EXTRA][rows], self._extra, self._size)
                    high = float(1 << self._extra)
                    product = high * product + codes.astype(np.float32) @ rotated - (high - 0.5) * total
                else:
                    product = product - total / 2
                if self._metric == "dot":
                    norm = float(center @ center)
                    weight = towards / norm if norm else 0.0
                    part = product * scale + weight * (add - 1) + 1 - towards
                else:
                    part = product * scale + add + far
            out[rows] = part
        return out
