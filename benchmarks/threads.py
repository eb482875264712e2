"""Streams of columns that are slow to decode, by one core and by all: how much the threads of the kernels gain.

Each measurement is a separate process, limited to this many cores. Ratios above 1: all cores are faster
than one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median

import lance_sql

from .measure import parser, print_versions
from .streams import drain
from .tables import column_table, columns
from .tpch import geometric_mean

KINDS = ("string 36 bytes", "string 18 bytes", "int64 signed", "decimal", "double", "string of 4")


def main() -> None:
    arguments = parser(__doc__, 5_000_000)
    arguments.add_argument("--kinds", nargs="*", default=KINDS, help="names of columns")
    arguments.add_argument("--cores", nargs="*", type=int, help="numbers of cores; one and all without them")
    arguments.add_argument("--only", type=Path, help="print the milliseconds of one stream of this table")
    arguments.add_argument("--on", nargs="*", type=int, help="the cores that it runs on")
    given = arguments.parse_args()
    if given.only:
        os.sched_setaffinity(0, given.on)
        print(measure(given.only, given.runs))
        return
    print_versions()
    available = sorted(os.sched_getaffinity(0))
    counts = given.cores or sorted({1, len(available)})
    content = columns(given.rows, nullable=False)
    gains: dict[int, list[float]] = {count: [] for count in counts}
    for name in given.kinds:
        path = column_table(given.data, name, content[name], "2.2", nullable=False)
        times = {count: on_cores(available[:count], path, given.runs) for count in counts}
        slowest = times[counts[0]]
        for count in counts:
            gains[count].append(slowest / times[count])
        shown = (f"{count} cores {times[count]:8.2f} ms  x{slowest / times[count]:5.2f}" for count in counts)
        print(f"{name:<24} {'   '.join(shown)}", flush=True)
    for count in counts[1:]:
        print(f"{count} cores: geometric mean {geometric_mean(gains[count]):.2f} times as fast as {counts[0]}")


def on_cores(cores: Iterable[int], path: Path, runs: int) -> float:
    """Milliseconds of a stream in a process that runs on these cores."""
    command = [sys.executable, "-m", "benchmarks.threads", "--only", str(path), "--runs", str(runs), "--on"]
    found = subprocess.run([*command, *map(str, cores)], check=True, capture_output=True, text=True)
    return float(found.stdout)


def measure(path: Path, runs: int) -> float:
    """Median milliseconds of a stream, after one that does not count."""
    table = lance_sql.open(path)
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        drain(table.scan().to_reader())
        times.append(1000 * (time.perf_counter() - start))
    return median(times[1:])


if __name__ == "__main__":
    main()
