"""Rotations applied to vectors before RQ, so that information is spread evenly over the values.

    fast      signs and Walsh-Hadamard transforms, four times; the index stores the signs
    matrix    of releases before 4, as a global buffer

Source: RaBitQ; vector index specification, storage of RQ.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.index_files.vector_index import VectorIndex
from lance_sql.values.arrays import F32, U8

_ROUNDS: Final = 4


class FastRotation:
    """A rotation by signs.

    signs: u8[4 * ceil(size / 8)]; a set bit is a value that is negated in a round
    """

    def __init__(self, signs: U8, size: int) -> None:
        self.signs = signs
        self._size = size

    def apply(self, rows: F32) -> F32:
        """Rotates rows [n, size]."""
        given = np.ascontiguousarray(rows, np.float32)
        turned = np.empty_like(given)
        _kernels.rotate(given, len(given), self._size, self.signs, turned)
        return turned


class MatrixRotation:
    """A rotation by a matrix [size, size]."""

    def __init__(self, matrix: npt.NDArray[Any]) -> None:
        self._matrix = matrix.astype(np.float32)

    def apply(self, rows: F32) -> F32:
        """Rotates rows [n, size]."""
        rotated: F32 = rows @ self._matrix.T
        return rotated


def drawn(rng: np.random.Generator, size: int) -> FastRotation:
    """Draws a rotation for vectors of that many values."""
    return FastRotation(rng.integers(0, 256, _num_signs(size), np.uint8), size)


def rotation_of(index: VectorIndex) -> FastRotation | MatrixRotation:
    """Returns the rotation of an index.

    raises: CorruptFile; UnsupportedFeature for unknown ones
    """
    said, size = index.storage, index.dimension
    kind = said.get("rotation_type", "matrix")
    if kind == "fast":
        signs, wanted = said.get("fast_rotation_signs"), _num_signs(size)
        if not isinstance(signs, list) or len(signs) != wanted or not all(each in range(256) for each in signs):
            raise CorruptFile(f"the rotation has no {wanted} bytes of signs")
        return FastRotation(np.array(signs, np.uint8), size)
    position = said.get("rotate_mat_position")
    if kind != "matrix" or not isinstance(position, int):
        raise UnsupportedFeature(f"the RQ rotation {str(kind)[:40]!r} is not supported")
    matrix = index.tensor(position, 2)
    if matrix.shape != (size, size):
        raise CorruptFile(f"a rotation of {matrix.shape} for vectors of {size} values")
    return MatrixRotation(matrix)


def _num_signs(size: int) -> int:
    return _ROUNDS * ((size + 7) // 8)
