"""What pylance finds by our indices is as much as by its own: enough queries and trainings to tell a hundredth."""

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
KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("IVF_FLAT", "l2", {}),
    ("IVF_SQ", "cosine", {}),
    ("IVF_PQ", "l2", {"num_sub_vectors": 8}),
    ("IVF_PQ", "cosine", {"num_sub_vectors": 8}),
    ("IVF_PQ", "dot", {"num_sub_vectors": 16, "num_bits": 4}),
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
    shares = np.zeros((len(SETTINGS), 2, len(SEEDS)))
    for number, seed in enumerate(SEEDS):
        rng = np.random.default_rng(seed)
        centers = (rng.normal(size=(100, DIMENSION)) * 2).astype(np.float32) if is_clustered else None
        values, queries = points(rng, NUM_ROWS, centers), points(rng, NUM_QUERIES, centers)
        wanted = nearest(values, queries, metric)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), DIMENSION)
        paths = tmp_path / f"ours-{seed}", tmp_path / f"theirs-{seed}"
        for path in paths:
            lance.write_dataset(pa.table({"id": np.arange(NUM_ROWS), "v": vectors}), path)
        chosen = {"metric": metric, "num_partitions": NUM_PARTITIONS, **options}
        lance_sql.open(paths[0]).create_index("v", kind.lower(), **chosen)
        lance.dataset(paths[1]).create_index("v", kind, **chosen)
        for which, settings in enumerate(SETTINGS):
            for side, path in enumerate(paths):
                found = found_by(path, queries, settings)
                shared = sum(len(np.intersect1d(a, b)) for a, b in zip(found, wanted, strict=True))
                shares[which, side, number] = shared / wanted.size
    ours, theirs = shares.mean(axis=2).T
    print(f"\n{kind} {metric}, clustered {is_clustered}: ours {ours.round(4)}, pylance's {theirs.round(4)}")
    assert (theirs > 0.05).all()
    assert (ours >= theirs - 0.01).all(), (ours, theirs)
