"""Timing sides in turn, so that a machine whose speed drifts slows all of them alike."""

from __future__ import annotations

import argparse
import math
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RUNS = 7


def medians(sides: Mapping[str, Callable[[], object]], runs: int = RUNS) -> dict[str, float]:
    """Median milliseconds of each side, after one run of each that does not count.

    The sides run in a new random order each time, because caches hold the data of the previous side.
    """
    times: dict[str, list[float]] = {name: [] for name in sides}
    draw = random.Random(0)
    for run in range(runs + 1):
        for name in draw.sample(list(sides), len(sides)):
            start = time.perf_counter()
            result = sides[name]()
            elapsed = time.perf_counter() - start
            # freeing a large result is not timed
            del result
            if run:
                times[name].append(elapsed * 1000)
    return {name: statistics.median(values) for name, values in times.items()}


def report(what: str, times: Mapping[str, float], peer: str = "ours", bound: float | None = None) -> None:
    """One line: every side's time, and its ratio to `peer`; below 1 a side is faster than it.

    bound: the highest ratio that is good enough
    """
    columns = [f"{what:<34}"]
    for name, value in times.items():
        ratio = "" if name == peer else f"  x{value / times[peer]:5.2f}"
        columns.append(f"{name} {value:8.2f} ms{ratio}")
    if bound is not None:
        columns.append(f"bound {bound:.1f}")
    print("   ".join(columns), flush=True)


def equal_rows(a: Sequence[Sequence[object]], b: Sequence[Sequence[object]]) -> bool:
    """Whether two answers are equal; sums of floats depend on the order of the additions."""
    return len(a) == len(b) and all(
        math.isclose(x, y, rel_tol=1e-9) if isinstance(x, float) and isinstance(y, float) else x == y
        for left, right in zip(a, b, strict=True)
        for x, y in zip(left, right, strict=True)
    )


def parser(description: str | None, rows: int | None = None) -> argparse.ArgumentParser:
    """Arguments that all benchmarks share.

    rows: default number of rows; None for a benchmark with fixed tables
    """
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if rows is not None:
        arguments.add_argument("--rows", type=int, default=rows, help="rows of the table")
    arguments.add_argument("--runs", type=int, default=RUNS, help="counted runs of each side")
    default = Path(tempfile.gettempdir()) / "lance-sql-benchmarks"
    arguments.add_argument("--picture", type=Path, help="an SVG of the ratios, where the benchmark has one")
    arguments.add_argument("--data", type=Path, default=default, help="where tables are made and kept")
    return arguments


def print_versions(*packages: str) -> None:
    """Prints the machine and the versions that figures belong to, and the command."""
    print(f"{versions(*packages)}\ncommand: {' '.join([Path(sys.executable).name, *sys.orig_argv[1:]])}", flush=True)


def versions(*packages: str) -> str:
    """The machine and the versions that figures belong to."""
    found = []
    for package in ("lance-sql", "pyarrow", *packages):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} (not installed)")
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"{machine}; {', '.join(found)}"
