"""Searches by vectors and words against pylance, one process, table open: python -m benchmarks.search [--rows N]"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

import lance_sql

DIMENSION = 128
WORDS = 20_000


def fastest(run: Callable[[], Any], times: int) -> float:
    """Milliseconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(1000 * (time.perf_counter() - start))
    return min(found)


def make(path: Path, count: int) -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(count, DIMENSION)).astype(np.float32)
    words = np.array([f"word{number}" for number in range(WORDS)])
    chosen = words[np.minimum(rng.zipf(1.3, (count, 8)) - 1, WORDS - 1)]
    table = pa.table(
        {
            "id": np.arange(count),
            "part": rng.integers(0, 100, count),
            "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIMENSION),
            "text": [" ".join(row) for row in chosen.tolist()],
        }
    )
    lance.write_dataset(table, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.lance"
        make(path, arguments.rows)
        theirs = lance.dataset(path)
        query = np.random.default_rng(2).normal(size=DIMENSION).astype(np.float32)
        compare_vectors("exact", path, theirs, query, arguments.runs, use_index=False)
        copy = Path(folder) / "copy.lance"
        shutil.copytree(path, copy)
        options = {"num_partitions": 256, "num_sub_vectors": 16, "metric": "l2"}
        compare_building(
            "building IVF_PQ",
            lambda: lance_sql.open(copy).create_index("v", "ivf_pq", **options),
            lambda: theirs.create_index("v", "IVF_PQ", **options),
        )
        compare_building(
            "building INVERTED",
            lambda: lance_sql.open(copy).create_index("text", "inverted"),
            lambda: lance.dataset(path).create_scalar_index("text", "INVERTED"),
        )
        compare_recall(path, copy)
        theirs = lance.dataset(path)
        for name, options in (
            ("IVF_PQ, 20 probes", {"nprobes": 20}),
            ("the same, refined 10 times", {"nprobes": 20, "refine_factor": 10}),
            ("the same, 1 % of the rows", {"nprobes": 20, "filter": "part = 7"}),
        ):
            compare_vectors(name, path, theirs, query, arguments.runs, **options)
        ours = lance_sql.open(path)
        for text in ("word40", "word3 word40 word900 word7000 word12"):
            mine = fastest(lambda text=text: ours.search(text=text, columns=["id"]).to_table(), arguments.runs)
            other = fastest(
                lambda text=text: theirs.to_table(columns=["id"], full_text_query=text, limit=10), arguments.runs
            )
            show(f"{len(text.split())} words", mine, other)


def compare_building(name: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    mine, other = fastest(ours, 1), fastest(theirs, 1)
    show(name, mine, other)


def compare_recall(path: Path, copy: Path) -> None:
    """Of the nearest 10 of 200 queries, how many pylance finds by its own index, and by ours."""
    theirs, ours = lance.dataset(path), lance.dataset(copy)
    queries = np.random.default_rng(3).normal(size=(200, DIMENSION)).astype(np.float32)
    exact = lance_sql.open(path).search(queries, column="v", columns=["id"], use_index=False).to_table()
    nearest = exact["id"].to_numpy().reshape(len(queries), 10)
    for settings in ({"nprobes": 20}, {"nprobes": 20, "refine_factor": 10}):
        shares = []
        for dataset in (ours, theirs):
            shared = 0
            for query, wanted in zip(queries, nearest, strict=True):
                asked = {"column": "v", "q": query, "k": 10, **settings}
                found = dataset.to_table(columns=["id", "_distance"], nearest=asked)["id"].to_numpy()
                shared += len(np.intersect1d(found, wanted))
            shares.append(shared / nearest.size)
        print(f"recall of pylance, {settings}: ours {shares[0]:.3f}, its own {shares[1]:.3f}", flush=True)


def compare_vectors(
    name: str, path: Path, theirs: lance.LanceDataset, query: Any, runs: int, filter: str | None = None, **options: Any
) -> None:
    ours = lance_sql.open(path)
    nearest = {"column": "v", "q": query, "k": 10, **options}
    mine = fastest(lambda: ours.search(query, column="v", columns=["id"], filter=filter, **options).to_table(), runs)
    other = fastest(
        lambda: theirs.to_table(columns=["id"], nearest=nearest, filter=filter, prefilter=filter is not None), runs
    )
    show(name, mine, other)


def show(name: str, mine: float, other: float) -> None:
    print(f"{name:30} {mine:9.1f} ms  pylance {other:9.1f} ms  ratio {mine / other:5.2f}", flush=True)


if __name__ == "__main__":
    main()
