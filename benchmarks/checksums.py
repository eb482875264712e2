"""What checksums cost: an append of one row and a write of numbers with and without them; reads that compare them; and
how fast files are checked.

    python -m benchmarks.checksums
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa

import lance_sql
from benchmarks.measure import medians, report
from lance_sql.store import compared
from lance_sql.store.checksums import Hasher
from lance_sql.writes.commit import written_files


def without(run: Callable[[], object]) -> None:
    """Neither computes nor records checksums."""
    nothing = mock.patch.object(written_files, "checksums", return_value={})
    with nothing, mock.patch.object(Hasher, "update", return_value=None):
        run()


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=int, default=8_000_000)
    rows = arguments.parse_args().rows
    rng = np.random.default_rng(0)
    numbers = pa.table({"a": rng.integers(0, 1 << 62, rows), "b": rng.random(rows), "c": rng.integers(0, 1000, rows)})
    with tempfile.TemporaryDirectory() as folder:
        lance_sql.write({"id": [0]}, f"{folder}/t")

        def append() -> None:
            lance_sql.write({"id": [1]}, f"{folder}/t", mode="append")

        def write() -> None:
            lance_sql.write(numbers, f"{folder}/w", mode="overwrite")

        for name, run, runs in (("append one row", append, 200), ("write numbers", write, 7)):
            sides = {"without": lambda run=run: without(run), "with": run}
            report(name, medians(sides, runs), "without")
        lance_sql.open(f"{folder}/w").maintenance.cleanup(retain_versions=1)

        def scan(*, compares: bool, again: bool = False) -> None:
            if not again:
                compared._compared.clear()
            lance_sql.open(f"{folder}/w", checksums=compares).to_table()

        sides = {
            "plain": lambda: scan(compares=False),
            "compared, first": lambda: scan(compares=True),
            "compared, again": lambda: scan(compares=True, again=True),
        }
        report("read numbers", medians(sides, 7), "plain")

        def point(*, compares: bool) -> None:
            compared._compared.clear()
            lance_sql.open(f"{folder}/w", checksums=compares).scan(limit=1).to_table()

        sides = {"plain": lambda: point(compares=False), "compared, first": lambda: point(compares=True)}
        report("read one row", medians(sides, 20), "plain")
        size = sum(file.stat().st_size for file in Path(f"{folder}/w/data").iterdir())
        for name, options in (("checksums", {"checksums": True}), ("deep", {"deep": True})):
            started = time.perf_counter()
            lance_sql.verify(f"{folder}/w", **options)
            print(f"verify, {name:<26}{size / (time.perf_counter() - started) / 1e9:6.2f} GB/s")


if __name__ == "__main__":
    main()
