"""Searches by vectors, words and both against pylance, one process, tables open:

    python -m benchmarks.search                                 1,000,000 vectors of 128 values, 500,000 texts
    python -m benchmarks.search --rows 100000 --texts 50000     less
    python -m benchmarks.search --extension lance.duckdb_extension

Builds run in their own processes, to measure memory. `--extension` is the official extension of DuckDB, for searches by
both: `pip install duckdb==1.5.5 duckdb-extension-lance==1.5.5`, in a folder of its own that comes first in PYTHONPATH,
has it as `duckdb_extension_lance/extensions/v1.5.5/lance.duckdb_extension`. Without it, two searches of pylance replace
it, whose candidates are merged in NumPy.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
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


def fastest(ours: Callable[[], Any], theirs: Callable[[], Any], times: int) -> tuple[float, float]:
    """Milliseconds of either side: they take turns, so that what else the machine does meets both."""
    least = [float("inf")] * 2
    for _ in range(times):
        for side, run in enumerate((ours, theirs)):
            start = time.perf_counter()
            run()
            least[side] = min(least[side], 1000 * (time.perf_counter() - start))
    return least[0], least[1]


def vectors_of(rng: np.random.Generator, count: int) -> pa.Array:
    values = rng.normal(size=(count, DIMENSION)).astype(np.float32)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), DIMENSION)


def make(path: Path, count: int) -> None:
    """Vectors, and 100 parts of the rows."""
    rng = np.random.default_rng(1)
    columns = {"id": np.arange(count), "part": rng.integers(0, 100, count), "v": vectors_of(rng, count)}
    lance.write_dataset(pa.table(columns), path)


def make_texts(path: Path, count: int) -> None:
    """Texts of eight words, most of which are rare, with vectors."""
    rng = np.random.default_rng(4)
    words = np.array([f"word{number}" for number in range(WORDS)])
    chosen = words[np.minimum(rng.zipf(1.3, (count, 8)) - 1, WORDS - 1)]
    texts = [" ".join(row) for row in chosen.tolist()]
    lance.write_dataset(pa.table({"id": np.arange(count), "v": vectors_of(rng, count), "text": texts}), path)


OURS = "import lance_sql; lance_sql.open({path!r}).indices.create({column!r}, {kind!r}, **{options!r})"
THEIRS = "import lance; lance.dataset({path!r}).{method}({column!r}, {kind!r}, **{options!r})"
# of this process alone: what the system counts for children begins with the memory of their parent
PEAK = """
import sys; sys.stdout.write(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--texts", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--extension", type=Path, help="of DuckDB 1.5, a file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        by_vectors(Path(folder), arguments.rows, arguments.runs)
        by_words(Path(folder), arguments.texts, arguments.runs, arguments.extension)


def by_vectors(folder: Path, rows: int, runs: int) -> None:
    path, copy = folder / "t.lance", folder / "copy.lance"
    make(path, rows)
    query = np.random.default_rng(2).normal(size=DIMENSION).astype(np.float32)
    compare_vectors("exact", path, lance.dataset(path), query, runs, use_index=False)
    shutil.copytree(path, copy)
    options = {"num_partitions": 256, "num_sub_vectors": 16, "metric": "l2"}
    compare_building("building IVF_PQ", copy, path, "v", "IVF_PQ", "create_index", options)
    compare_recall(path, copy)
    theirs = lance.dataset(path)
    for name, settings in (
        ("IVF_PQ, 20 probes", {"nprobes": 20}),
        ("the same, refined 10 times", {"nprobes": 20, "refine_factor": 10}),
        ("the same, 1 % of the rows", {"nprobes": 20, "filter": "part = 7"}),
    ):
        compare_vectors(name, path, theirs, query, runs, **settings)
    shutil.rmtree(path)
    shutil.rmtree(copy)


def by_words(folder: Path, count: int, runs: int, extension: Path | None) -> None:
    path, copy = folder / "texts.lance", folder / "texts-copy.lance"
    make_texts(path, count)
    shutil.copytree(path, copy)
    compare_building("building INVERTED", copy, path, "text", "INVERTED", "create_scalar_index", {})
    lance.dataset(path).create_index("v", "IVF_PQ", num_partitions=128, num_sub_vectors=16)
    ours, theirs = lance_sql.open(path), lance.dataset(path)
    for text in ("word40", "word3 word40 word900 word7000 word12"):
        mine, other = fastest(
            lambda text=text: ours.search(text=text, columns=["id"]).to_table(),
            lambda text=text: theirs.to_table(columns=["id"], full_text_query=text, limit=10),
            runs,
        )
        show(f"{len(text.split())} words", mine, other)
    query, words = np.random.default_rng(5).normal(size=DIMENSION).astype(np.float32), "word3 word40"
    settings = {"column": "v", "text_column": "text", "nprobes": 20}

    def both() -> Any:
        return ours.search(query, text=words, columns=["id"], **settings).to_table()

    if extension is None:
        show("both, of pylance two searches", *fastest(both, lambda: both_sides(theirs, query, words), runs))
        return
    import duckdb

    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{extension}'")
    vector = query.tolist()
    call = f"lance_hybrid_search('{path}', 'v', {vector}::FLOAT[], 'text', '{words}', k := 10, nprobs := 20)"
    statement = f"SELECT id, _hybrid_score FROM {call}"
    show("both, of the extension", *fastest(both, lambda: connection.execute(statement).fetchall(), runs))


def both_sides(theirs: lance.LanceDataset, query: Any, words: str) -> Any:
    """The 10 best by distances and scores, half and half, of 40 candidates by either."""
    near = theirs.to_table(columns=["id", "_distance"], nearest={"column": "v", "q": query, "k": 40, "nprobes": 20})
    alike = theirs.to_table(columns=["id", "_score"], full_text_query=words, limit=40)
    points: dict[int, float] = {}
    for side, name, sign in ((near, "_distance", -1), (alike, "_score", 1)):
        values = sign * side[name].to_numpy()
        low, high = values.min(), values.max()
        scaled = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
        for row, value in zip(side["id"].to_pylist(), scaled.tolist(), strict=True):
            points[row] = points.get(row, 0) + value / 2
    return sorted(points, key=lambda row: -points[row])[:10]


def compare_building(
    name: str, ours: Path, theirs: Path, column: str, kind: str, method: str, options: dict[str, Any]
) -> None:
    """Wall and processor seconds, and the peak memory, each in its own process."""
    mine = measured(OURS.format(path=str(ours), column=column, kind=kind.lower(), options=options))
    other = measured(THEIRS.format(path=str(theirs), method=method, column=column, kind=kind, options=options))
    show(name, 1000 * mine[0], 1000 * other[0])
    for what, place, unit in (("processors", 1, "s"), ("memory", 2, "MB")):
        print(f"{'  ' + what:30} {mine[place]:9.1f} {unit:2}  pylance {other[place]:9.1f} {unit}", flush=True)


def measured(code: str) -> tuple[float, float, float]:
    before, start = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code + PEAK], stdout=subprocess.PIPE, text=True, check=True)
    seconds, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, used, int(done.stdout) / 1024


def compare_recall(path: Path, copy: Path) -> None:
    """Recall of the nearest 10 for 1,000 queries in pylance, with its own index and with ours.

    With fewer than 256 rows a partition, pylance builds fewer partitions of IVF_PQ, and finds more with the same
    probes.
    """
    theirs, ours = lance.dataset(path), lance.dataset(copy)
    queries = np.random.default_rng(3).normal(size=(1_000, DIMENSION)).astype(np.float32)
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
    mine, other = fastest(
        lambda: ours.search(query, column="v", columns=["id"], filter=filter, **options).to_table(),
        lambda: theirs.to_table(columns=["id"], nearest=nearest, filter=filter, prefilter=filter is not None),
        runs,
    )
    show(name, mine, other)


def show(name: str, mine: float, other: float) -> None:
    print(f"{name:30} {mine:9.1f} ms  pylance {other:9.1f} ms  ratio {mine / other:5.2f}", flush=True)


if __name__ == "__main__":
    main()
