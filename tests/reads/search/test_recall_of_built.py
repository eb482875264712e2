"""The recall of pylance with our indices equals that with its own, measured to a hundredth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_sql

NUM_ROWS, DIMENSION, NUM_QUERIES, NUM_PARTITIONS, K = 20_000, 32, 1_000, 32, 10
SEEDS = range(3)
NUM_BUILDS = 3
"""pylance's indices over one table differ by as much as what is told apart here."""

KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("IVF_FLAT", "l2", {}),
    ("IVF_SQ", "cosine", {}),
    ("IVF_PQ", "l2", {"num_sub_vectors": 8}),
    ("IVF_PQ", "cosine", {"num_sub_vectors": 8}),
    ("IVF_PQ", "dot", {"num_sub_vectors": 16, "num_bits": 4}),
    ("IVF_RQ", "l2", {"num_bits": 1}),
    ("IVF_RQ", "cosine", {"num_bits": 3}),
    ("IVF_RQ", "dot", {"num_bits": 1}),
    ("IVF_RQ", "dot", {"num_bits": 5}),
]
SETTINGS: list[dict[str, Any]] = [{"nprobes": 4}, {"nprobes": 4, "refine_factor": 10}, {"nprobes": 16}]
F32 = npt.NDArray[np.float32]


def points(rng: np.random.Generator, count: int, centers: F32 | None) -> F32:
    noise = rng.normal(size=(count, DIMENSION))
    values = noise if centers is None else centers[rng.integers(0, len(centers), count)] + noise
    return values.astype(np.float32)


def nearest(values: F32, queries: F32, metric: str) -> npt.NDArray[np.int64]:
    if metric == "cosine":
        values = values / np.linalg.norm(values, axis=1)[:, None]
    far = -(queries @ values.T)
    if metric == "l2":
        far = np.square(values).sum(axis=1)[None, :] + 2 * far
    return np.argpartition(far, K, axis=1)[:, :K]


def found_by(path: Path, queries: F32, settings: dict[str, Any]) -> npt.NDArray[np.int64]:
    """Of each query; -1 where there are fewer rows."""
    nearest = {"column": "v", "q": queries.tolist(), "k": K, **settings}
    rows = lance.dataset(path).to_table(columns=["id", "_distance"], nearest=nearest)
    found = np.full((len(queries), K), -1, np.int64)
    numbers = rows["query_index"].to_numpy()
    place = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)
    found[numbers, place] = rows["id"].to_numpy()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("is_clustered", [True, False], ids=["clustered", "random"])
@pytest.mark.parametrize(("kind", "metric", "options"), KINDS, ids=lambda each: str(each))
def test_recall(tmp_path: Path, kind: str, metric: str, options: dict[str, Any], is_clustered: bool) -> None:
    ours = np.zeros((len(SEEDS), len(SETTINGS)))
    theirs = np.zeros((len(SEEDS), NUM_BUILDS, len(SETTINGS)))
    for number, seed in enumerate(SEEDS):
        rng = np.random.default_rng(seed)
        centers = (rng.normal(size=(100, DIMENSION)) * 2).astype(np.float32) if is_clustered else None
        values, queries = points(rng, NUM_ROWS, centers), points(rng, NUM_QUERIES, centers)
        wanted = nearest(values, queries, metric)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), DIMENSION)
        path = tmp_path / f"{seed}"
        lance.write_dataset(pa.table({"id": np.arange(NUM_ROWS), "v": vectors}), path)
        chosen = {"metric": metric, "num_partitions": NUM_PARTITIONS, **options}
        for build in range(NUM_BUILDS):
            lance.dataset(path).create_index("v", kind, replace=True, **chosen)
            theirs[number, build] = shares_found(path, queries, wanted)
        lance.dataset(path).drop_index("v_idx")
        lance_sql.open(path).indices.create("v", kind.lower(), **chosen)
        ours[number] = shares_found(path, queries, wanted)
    here, there = ours.mean(axis=0), theirs.mean(axis=(0, 1))
    print(f"\n{kind} {metric}, clustered {is_clustered}: ours {here.round(4)}, pylance's {there.round(4)}")
    assert (there > 0.05).all()
    assert (here >= there - 0.01).all(), (here, there)


def shares_found(path: Path, queries: F32, wanted: npt.NDArray[np.int64]) -> list[float]:
    """By settings, how much of the nearest rows pylance finds."""
    found = [found_by(path, queries, settings) for settings in SETTINGS]
    return [sum(len(np.intersect1d(*each)) for each in zip(rows, wanted, strict=True)) / wanted.size for rows in found]
