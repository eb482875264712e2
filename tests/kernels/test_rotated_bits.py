"""Rotations, and codes of turned vectors, against NumPy; and what distances are worth that are estimated from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from lance_sql import _kernels
from lance_sql.format.index_files import rabit_codes
from lance_sql.format.index_files.rotation import FastRotation, drawn
from tests.kernels import oracles

Array = npt.NDArray[Any]


@pytest.mark.parametrize("dimension", [1, 2, 3, 8, 10, 24, 63, 64, 96, 128, 200])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 30])
def test_rotation(dimension: int, count: int) -> None:
    rng = np.random.default_rng([dimension, count])
    rotation = drawn(rng, dimension)
    rows = rng.normal(size=(count, dimension)).astype(np.float32)
    turned = rotation.apply(rows)
    np.testing.assert_allclose(turned, oracles.rotate(rows, rotation.signs), atol=2e-6)
    if dimension % 2 == 0:
        np.testing.assert_allclose(turned @ turned.T, rows @ rows.T, rtol=1e-5, atol=1e-4)


def coded(
    rows: Array, numbers: Array, centroids: Array, bits: int, *, of_products: bool
) -> tuple[Array, Array, dict[str, Array]]:
    """Codes [n, d] around 0, in steps, of the signs and of all bits; and the factors."""
    count, dimension = rows.shape
    out = np.empty((count, rabit_codes.row_bytes(dimension, bits)), np.uint8)
    given = [np.ascontiguousarray(each, np.float32) for each in (rows, centroids)]
    _kernels.rotated_bits(
        given[0], count, dimension, numbers.astype(np.uint32), given[1], len(centroids), bits, of_products, out
    )
    columns = {name: np.array(array.to_pylist()) for name, array in rabit_codes.columns(out, dimension, bits).items()}
    signs = rabit_codes.unpacked_signs(columns[rabit_codes.SIGNS].astype(np.uint8))
    flags = np.unpackbits(signs, axis=1, bitorder="little")[:, :dimension].astype(np.int64)
    if bits == 1:
        return flags - 0.5, flags - 0.5, columns
    extra = rabit_codes.extra_codes(columns[rabit_codes.EXTRA].astype(np.uint8), bits - 1, dimension)
    return flags - 0.5, (flags << (bits - 1)) + extra - ((1 << bits) - 1) / 2, columns


@pytest.mark.parametrize("of_products", [False, True], ids=["squares", "products"])
@pytest.mark.parametrize("dimension", [8, 24, 64, 72, 136])
@pytest.mark.parametrize("bits", range(1, 10))
def test_codes_and_factors(bits: int, dimension: int, of_products: bool) -> None:
    rng = np.random.default_rng([bits, dimension])
    rows, centroids = rng.normal(size=(70, dimension)), rng.normal(size=(3, dimension))
    numbers = rng.integers(0, 3, 70)
    signs, codes, columns = coded(rows, numbers, centroids, bits, of_products=of_products)
    assert ((signs > 0) == (rows > 0)).all()
    assert ((codes > 0) == (rows > 0)).all()
    for each, suffix in ((signs, ""), (codes, "_ex")) if bits > 1 else ((signs, ""),):
        add, scale = oracles.rabit_factors(rows, each, centroids[numbers], of_products=of_products)
        np.testing.assert_allclose(columns[f"__add_factors{suffix}"], add, rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(columns[f"__scale_factors{suffix}"], scale, rtol=1e-5)


@pytest.mark.parametrize("dimension", [8, 24, 128])
@pytest.mark.parametrize("bits", range(2, 7))
def test_steps_are_nearly_the_best_ones(bits: int, dimension: int) -> None:
    rng = np.random.default_rng([bits, dimension])
    rows = rng.normal(size=(10, dimension))
    _, codes, _ = coded(rows, np.zeros(10), np.zeros((1, dimension)), bits, of_products=False)
    best = np.stack([oracles.nearest_steps(np.abs(row), bits - 1) + 0.5 for row in rows])
    # the angle that is left is what estimates are wrong by
    angles = [
        np.arccos((np.abs(rows) * each).sum(axis=1) / np.linalg.norm(each, axis=1) / np.linalg.norm(rows, axis=1))
        for each in (np.abs(codes), best)
    ]
    assert (angles[0] >= angles[1] - 1e-6).all()
    assert angles[0].mean() <= angles[1].mean() * 1.03


def test_estimates_come_closer_with_each_bit() -> None:
    rng = np.random.default_rng(1)
    rows, center, query = rng.normal(size=(2000, 64)), rng.normal(size=(1, 64)), rng.normal(size=64)
    numbers = np.zeros(len(rows), np.int64)
    true = np.square(rows + center - query).sum(axis=1)
    before = np.inf
    for bits in range(1, 10):
        _, codes, columns = coded(rows, numbers, center, bits, of_products=False)
        suffix = "_ex" if bits > 1 else ""
        far = np.square(query - center[0]).sum()
        estimate = codes @ query * columns[f"__scale_factors{suffix}"] + columns[f"__add_factors{suffix}"] + far
        error = np.abs(estimate - true)
        # a bit less than half of it
        assert error.mean() < before * 0.62
        before = error.mean()
        if bits == 1:
            within = np.abs(estimate - true) <= columns["__error_factors"] * np.linalg.norm(query - center[0])
            assert within.mean() > 0.9
    assert before < 0.001 * true.mean()


def test_rows_that_are_their_centroids() -> None:
    rows, center = np.zeros((40, 16)), np.ones((1, 16))
    for bits in (1, 4):
        for of_products in (False, True):
            _, _, columns = coded(rows, np.zeros(40), center, bits, of_products=of_products)
            for suffix in ("", "_ex") if bits > 1 else ("",):
                assert (columns[f"__scale_factors{suffix}"] == 0).all()
                assert (columns[f"__add_factors{suffix}"] == of_products).all()
            assert (columns["__error_factors"] == 0).all()


def test_mismatched_input_is_refused() -> None:
    rows, out = np.zeros((2, 16), np.float32), np.empty(1000, np.uint8)
    numbers = np.array([0, 1], np.uint32)
    for dimension, centroids, bits in ((16, 1, 1), (12, 2, 1), (16, 2, 0), (16, 2, 10), (16, 3, 1), (0, 2, 1)):
        with pytest.raises(_kernels.InvalidDataError):
            _kernels.rotated_bits(rows, 2, dimension, numbers, rows, centroids, bits, False, out)
    with pytest.raises(_kernels.InvalidDataError):
        _kernels.rotated_bits(rows, 2, 16, numbers, rows, 2, 1, False, out[:27])
    for size in (0, 17):
        with pytest.raises(_kernels.InvalidDataError):
            _kernels.rotate(rows, 2, size, np.zeros(12, np.uint8), out)
    with pytest.raises(_kernels.InvalidDataError):
        FastRotation(np.zeros(7, np.uint8), 16).apply(rows)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 100])
def test_signs_of_rows_that_lie_together(count: int) -> None:
    signs = np.random.default_rng(count).integers(0, 256, (count, 5)).astype(np.uint8)
    packed = rabit_codes.packed_signs(signs)
    assert (rabit_codes.unpacked_signs(packed) == signs).all()
    # the rest lies byte by byte
    whole = count // 32 * 32
    assert (packed.reshape(-1)[whole * 5 :] == signs[whole:].T.reshape(-1)).all()
