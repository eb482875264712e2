"""Distances in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def distances(metric: str, vectors: npt.NDArray[Any], query: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The distance of each row of [n, d] to the query; NaN where there is none."""
    if metric == "hamming":
        different: npt.NDArray[np.uint8] = np.bitwise_xor(vectors, query.astype(np.uint8))
        counted: npt.NDArray[np.float64] = np.unpackbits(different, axis=1).sum(axis=1).astype(np.float64)
        return counted
    rows, asked = vectors.astype(np.float64), query.astype(np.float64)
    found: npt.NDArray[np.float64]
    with np.errstate(all="ignore"):
        product = rows @ asked
        if metric == "l2":
            found = ((rows - asked) ** 2).sum(axis=1)
        elif metric == "dot":
            found = 1 - product
        else:
            found = 1 - product / (np.sqrt((rows**2).sum(axis=1)) * np.sqrt((asked**2).sum()))
    return found


def best(
    far: npt.NDArray[np.float64], k: int | None, allowed: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The rows with the smallest distances, in their order, and these."""
    rows = np.flatnonzero(allowed & np.isfinite(far))
    order = rows[np.argsort(far[rows], kind="stable")][:k]
    return order, far[order]
