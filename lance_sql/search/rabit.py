"""Vectors by the signs of their rotated values, and by some more bits of each.

Source: RaBitQ; vector index specification, storage of RQ.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.index_files.vector_index import Array, Partition, VectorIndex

F32 = npt.NDArray[np.float32]
U8 = npt.NDArray[np.uint8]

_GROUP: Final = 32
_ORDER: Final = np.array([0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15])
_BLOCK: Final = 64
_ROUNDS: Final = 4
_MOST_AT_ONCE: Final = 1 << 22
"""Values of codes that are unpacked at once."""


class RabitVectors:
    """Sign bits, and up to 8 more bits a value."""

    is_exact = False

    def __init__(self, index: VectorIndex) -> None:
        said = index.storage
        bits, size = said.get("num_bits"), said.get("code_dim", index.dimension)
        if not isinstance(bits, int) or not 1 <= bits <= 9:
            raise UnsupportedFeature(f"RQ codes of {bits} bits")
        if size != index.dimension:
            raise UnsupportedFeature(f"RQ codes of {size} values for vectors of {index.dimension}")
        self._size = int(size)
        self._extra = bits - 1
        self._bits = bits
        self._metric = index.metric
        self._is_packed = bool(said.get("packed", False))
        estimator = said.get("query_estimator", "residual_query")
        if estimator not in ("raw_query", "residual_query"):
            raise UnsupportedFeature(f"the RQ estimator {str(estimator)[:40]!r} is not known")
        self._is_raw = estimator == "raw_query"
        if not self._is_raw and self._extra:
            raise UnsupportedFeature("RQ codes of several bits with the estimator of early releases")
        self._check_columns(index)
        self._rotation = _rotation(index, self._size)

    def _check_columns(self, index: VectorIndex) -> None:
        needed = {"_rabit_codes": (self._size + 7) // 8}
        factors = ["__add_factors", "__scale_factors"]
        if self._extra:
            if "__blocked_ex_codes" not in index.names:
                raise UnsupportedFeature("RQ codes in the form of early releases")
            needed["__blocked_ex_codes"] = -(-self._size // _BLOCK) * 8 * self._extra
            factors += ["__add_factors_ex", "__scale_factors_ex"]
        for name in (*needed, *factors):
            if name not in index.names:
                raise CorruptFile(f"there is no column {name!r}")
        for name, width in needed.items():
            if index.width(name) != width or index.type_of(name) != "uint8":
                raise CorruptFile(f"the column {name!r} has {index.width(name)} values, {width} were expected")
        for name in factors:
            if index.type_of(name) != "float":
                raise CorruptFile(f"the column {name!r} is {index.type_of(name)}")

    def prepare(self, query: Array) -> Array:
        return query.astype(np.float32)

    def distances(self, prepared: Array, centroid: Array, partition: Partition) -> F32:
        center = centroid.astype(np.float32)
        columns = partition.columns
        count = len(partition.row_ids)
        signs = columns["_rabit_codes"]
        if self._is_packed:
            signs = _unpacked(signs)
        far = float(np.square(prepared - center).sum())
        towards = float(prepared @ center)
        rotated = self._rotation.apply(prepared if self._is_raw else prepared - center)
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
                    codes = extra_codes(columns["__blocked_ex_codes"][rows], self._extra, self._size)
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


def _unpacked(packed: U8) -> U8:
    """Sign bits [n, bytes], of which groups of 32 rows lie byte by byte, with nibbles of two rows in a byte."""
    count, width = packed.shape
    whole = count // _GROUP * _GROUP
    flat = packed.reshape(-1)
    found = np.empty_like(packed)
    blocks = flat[: whole * width].reshape(-1, width, _GROUP)
    low, high = blocks[:, :, :16], blocks[:, :, 16:]
    rows = np.empty((len(blocks), width, _GROUP), np.uint8)
    rows[:, :, _ORDER] = (low & 15) | (high & 15) << 4
    rows[:, :, _ORDER + 16] = low >> 4 | high & 0xF0
    found[:whole] = rows.transpose(0, 2, 1).reshape(whole, width)
    rest = count - whole
    found[whole:] = flat[whole * width :].reshape(width, rest).T
    return found


def extra_codes(stored: U8, bits: int, size: int) -> U8:
    """The codes of `bits` bits beside the signs, [n, size], of blocks of 64 values."""
    blocks = stored.reshape(len(stored), -1, 8 * bits)
    found = np.zeros((*blocks.shape[:2], _BLOCK), np.uint8)
    base = {1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 6, 7: 6, 8: 8}[bits]
    if base == 1:
        found[:] = np.unpackbits(blocks, axis=2, bitorder="little")
    elif base == 8:
        found[:] = blocks
    elif base == 2:
        for run in range(4):
            found[:, :, 16 * run : 16 * run + 16] = blocks[:, :, :16] >> (2 * run) & 3
    elif base == 4 and bits == 4:
        for run in range(4):
            eights = blocks[:, :, 8 * run : 8 * run + 8]
            found[:, :, 16 * run : 16 * run + 8] = eights & 15
            found[:, :, 16 * run + 8 : 16 * run + 16] = eights >> 4
    elif base == 4:
        for half in range(2):
            sixteen = blocks[:, :, 16 * half : 16 * half + 16]
            found[:, :, 32 * half : 32 * half + 16] = sixteen & 15
            found[:, :, 32 * half + 16 : 32 * half + 32] = sixteen >> 4
    else:
        for run in range(3):
            sixteen = blocks[:, :, 16 * run : 16 * run + 16]
            found[:, :, 16 * run : 16 * run + 16] = sixteen & 63
            found[:, :, 48:] |= (sixteen >> 6) << (2 * run)
    if bits in (3, 5, 7):
        top = np.unpackbits(blocks[:, :, -8:], axis=2, bitorder="little")
        for run in range(4):
            for value in range(16):
                place = 8 * (value % 8) + 2 * run + value // 8
                found[:, :, 16 * run + value] |= top[:, :, place] << base
    return found.reshape(len(stored), -1)[:, :size]


class _FastRotation:
    """Signs and Walsh-Hadamard transforms, four times."""

    def __init__(self, signs: U8, size: int) -> None:
        flags = np.unpackbits(signs.reshape(_ROUNDS, -1), axis=1, bitorder="little")[:, :size]
        self._signs = 1 - 2 * flags.astype(np.float32)
        self._size = size
        self._part = 1 << (size.bit_length() - 1)

    def apply(self, vector: F32) -> F32:
        values = vector.copy()
        part, half = self._part, self._size // 2
        for number, signs in enumerate(self._signs):
            values = values * signs
            chosen = slice(0, part) if number % 2 == 0 else slice(self._size - part, self._size)
            values[chosen] = _walsh_hadamard(values[chosen]) / np.float32(np.sqrt(part))
            if part < self._size:
                first, second = values[:half].copy(), values[half : 2 * half].copy()
                values[:half], values[half : 2 * half] = first + second, first - second
        return values if part == self._size else values * np.float32(0.25)


class _MatrixRotation:
    """A matrix."""

    def __init__(self, matrix: Array) -> None:
        self._matrix = matrix.astype(np.float32)

    def apply(self, vector: F32) -> F32:
        found: F32 = self._matrix @ vector
        return found


def _rotation(index: VectorIndex, size: int) -> _FastRotation | _MatrixRotation:
    said: dict[str, Any] = index.storage
    kind = said.get("rotation_type", "matrix")
    if kind == "fast":
        signs = said.get("fast_rotation_signs")
        wanted = _ROUNDS * ((size + 7) // 8)
        if not isinstance(signs, list) or len(signs) != wanted or not all(each in range(256) for each in signs):
            raise CorruptFile(f"the rotation has no {wanted} bytes of signs")
        return _FastRotation(np.array(signs, np.uint8), size)
    position = said.get("rotate_mat_position")
    if kind != "matrix" or not isinstance(position, int):
        raise UnsupportedFeature(f"the RQ rotation {str(kind)[:40]!r} is not known")
    matrix = index.tensor(position, 2)
    if matrix.shape != (size, size):
        raise CorruptFile(f"a rotation of {matrix.shape} for vectors of {size} values")
    return _MatrixRotation(matrix)


def _walsh_hadamard(values: F32) -> F32:
    """The transform in natural order; as many values as a power of two."""
    width = 1
    while width < len(values):
        pairs = values.reshape(-1, 2, width)
        values = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(-1)
        width *= 2
    return values
