"""Peak resident memory of `SELECT sum(price)` in DuckDB, over a column of random doubles and over one ten times longer.

Each query runs in a process of its own. Up to 128 MiB of it are pages of the files, which are mapped.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import lance_sql

from .measure import parser, print_versions
from .tables import cached

BATCH_ROWS = 1024 * 1024
SCHEMA = pa.schema([("price", pa.float64())])

_QUERY = """
import re, sys, lance_sql
connection = lance_sql.connect()
connection.execute("SELECT sum(price) FROM lance_scan(?)", [sys.argv[1]]).fetchall()
# not ru_maxrss, which a process inherits from the one that started it
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


def main() -> None:
    arguments = parser(__doc__, 20_000_000).parse_args()
    print_versions("duckdb")
    small, large = (_peak(_prices(arguments.data, rows)) for rows in (arguments.rows, 10 * arguments.rows))
    print(f"{arguments.rows} rows: {small} MiB; {10 * arguments.rows} rows: {large} MiB; x{large / small:.2f}")


def _prices(folder: Path, rows: int) -> Path:
    return cached(folder / f"prices_{rows}.lance", partial(_write, rows))


def _write(rows: int, to: Path) -> None:
    lance_sql.write(pa.RecordBatchReader.from_batches(SCHEMA, _batches(rows)), to)


def _batches(rows: int) -> Iterator[pa.RecordBatch]:
    random = np.random.default_rng(8)
    for start in range(0, rows, BATCH_ROWS):
        yield pa.record_batch([pa.array(random.random(min(BATCH_ROWS, rows - start)))], schema=SCHEMA)


def _peak(path: Path) -> int:
    done = subprocess.run([sys.executable, "-c", _QUERY, str(path)], check=True, capture_output=True, text=True)
    return int(done.stdout) // 1024


if __name__ == "__main__":
    main()
