"""Scalar indices: building them, and queries that they answer, against pylance with its own; ratios below 1: we are
faster, or smaller. Each library reads the table with the indices that it built itself.

    range of a 10,000th of a clustered column    zone map, from an open handle
    one key of a shuffled column                 BTREE, from an open handle
    one of 1,000 values                          BITMAP, from an open handle
    100 row ids                                  filter on _rowid, against pylance's take
    the same range without indices               what scans have learned, against DuckDB over Parquet
    what learning costs                          the first filter on a column, against a scan that learns nothing
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import lance_sql
from lance_sql.format.file.learned import LEARNED

from .measure import medians, parser, print_versions, report

INDICES = {"ordered": "zonemap", "shuffled": "btree", "kind": "bitmap"}
COLUMNS = ["ordered", "price", "text"]

_BUILD = """
import sys, time
path, library, column, kind = sys.argv[1:]
if library == "ours":
    # modules that only writing needs are loaded late, those of pylance with the package
    import lance_sql.writes.statements.indices
    table = lance_sql.open(path)
    start = time.perf_counter()
    table.indices.create(column, kind)
else:
    import lance
    table = lance.dataset(path)
    start = time.perf_counter()
    table.create_scalar_index(column, kind.upper())
seconds = time.perf_counter() - start
# the maximum that getrusage gives begins with that of the process that started this one
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(seconds, int(peak) / 1024)
"""


def make(path: Path, rows: int) -> None:
    """A clustered column, a shuffled one, one of few values, and two more to read."""
    random = np.random.default_rng(7)
    content = pa.table(
        {
            "ordered": np.arange(rows),
            "shuffled": random.permutation(rows),
            "kind": random.integers(0, 1000, rows).astype(np.int32),
            "price": random.random(rows),
            "text": pa.array([f"number {i:04d}" for i in range(5000)]).take(pa.array(random.integers(0, 5000, rows))),
        }
    )
    shutil.rmtree(path, ignore_errors=True)
    lance.write_dataset(content, path, data_storage_version="2.2", enable_stable_row_ids=True)


def build(path: Path, library: str) -> None:
    """Builds the indices, each in its own process, and prints time and memory."""
    for column, kind in INDICES.items():
        before = size(path)
        command = [sys.executable, "-c", _BUILD, str(path), library, column, kind]
        seconds, memory = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        megabytes = (size(path) - before) / 1e6
        print(
            f"{library:<8} builds {kind:<8} {float(seconds):7.2f} s   {megabytes:8.2f} MB on disk"
            f"   {float(memory):6.0f} MB of memory",
            flush=True,
        )


def size(path: Path) -> int:
    """Bytes of all files of indices."""
    return sum(file.stat().st_size for file in path.glob("_indices/*/*"))


def read_ours(table: lance_sql.Dataset, filter: str) -> pa.Table:
    return table.scan(COLUMNS, filter).to_table()


def read_pylance(table: lance.LanceDataset, filter: str) -> pa.Table:
    return table.to_table(COLUMNS, filter=filter)


def open_and_read_ours(path: Path, filter: str) -> pa.Table:
    return read_ours(lance_sql.open(path, learn_statistics=False), filter)


def open_and_read_pylance(path: Path, filter: str) -> pa.Table:
    return read_pylance(lance.dataset(path), filter)


def queries(ours: Path, theirs: Path, rows: int, runs: int) -> None:
    """Prints the times of both, from open handles and from tables that are opened for each query, and their ratio."""
    mine, others = lance_sql.open(ours, learn_statistics=False), lance.dataset(theirs)
    without = lance_sql.open(ours, use_indices=False, learn_statistics=False)
    random = np.random.default_rng(8)
    ids = np.sort(random.choice(rows, 100, replace=False)).tolist()
    first = rows // 3
    filters = {
        "range of 0.01 %, zone map": (f"ordered >= {first} AND ordered < {first + rows // 10_000}", 0.7),
        "one key, BTREE": (f"shuffled = {rows // 7}", 1.0),
        "one of 1,000 values, BITMAP": ("kind = 77", None),
    }
    for name, (condition, bound) in filters.items():
        assert read_ours(mine, condition).num_rows == read_pylance(others, condition).num_rows
        sides: dict[str, Callable[[], object]] = {
            "pylance": partial(read_pylance, others, condition),
            "ours": partial(read_ours, mine, condition),
            "without": partial(read_ours, without, condition),
        }
        report(name, medians(sides, runs), peer="pylance", bound=bound)
        if bound is not None:
            sides = {
                "pylance": partial(open_and_read_pylance, theirs, condition),
                "ours": partial(open_and_read_ours, ours, condition),
            }
            report(f"{name}, opened anew", medians(sides, runs), peer="pylance", bound=1.0)
    listed = f"_rowid IN ({', '.join(map(str, ids))})"
    sides = {
        "pylance": lambda: others._take_rows(ids, columns=COLUMNS),
        "ours": partial(read_ours, mine, listed),
        "take": lambda: mine.take(ids, COLUMNS),
    }
    report("100 row ids, pylance's take", medians(sides, runs), peer="pylance", bound=1.0)


def learned(path: Path, rows: int, runs: int) -> None:
    """Prints what scans of a table without indices gain by what others have learned, and what learning costs."""
    parquet = path.with_suffix(".parquet")
    pq.write_table(lance.dataset(path).to_table(), parquet, compression="zstd")
    table = lance_sql.open(path, use_indices=False)
    without = lance_sql.open(path, use_indices=False, learn_statistics=False)
    connection = lance_sql.connect()
    first = rows // 3
    condition = f"ordered >= {first} AND ordered < {first + rows // 10_000}"
    listed = ", ".join(COLUMNS)

    def over_parquet() -> pa.Table:
        return connection.sql(f"SELECT {listed} FROM '{parquet}' WHERE {condition}").to_arrow_table()

    def through_duckdb() -> pa.Table:
        source = f"lance_scan('{path}', use_indices := false)"
        return connection.sql(f"SELECT {listed} FROM {source} WHERE {condition}").to_arrow_table()

    def first_scan(filter: str, *, learns: bool) -> None:
        LEARNED.clear()
        read_ours(lance_sql.open(path, use_indices=False, learn_statistics=learns), filter)

    assert read_ours(table, condition).num_rows == over_parquet().num_rows == through_duckdb().num_rows
    sides: dict[str, Callable[[], object]] = {
        "parquet": over_parquet,
        "ours": partial(read_ours, table, condition),
        "without": partial(read_ours, without, condition),
    }
    report("range of 0.01 %, learned", medians(sides, runs), peer="parquet", bound=0.3)
    sides = {"parquet": over_parquet, "ours": through_duckdb}
    report("the same through DuckDB", medians(sides, runs), peer="parquet", bound=0.5)
    for filter in (condition, f"shuffled < {rows // 2}", "price < 0.01", "kind = 77", "text = 'number 0077'"):
        sides = {
            "without": partial(first_scan, filter, learns=False),
            "ours": partial(first_scan, filter, learns=True),
        }
        report(f"learning, {filter.partition(' ')[0]}", medians(sides, runs), peer="without", bound=None)


def main() -> None:
    given = parser(__doc__, 6_000_000).parse_args()
    print_versions("pylance")
    given.data.mkdir(parents=True, exist_ok=True)
    paths = {library: given.data / f"indices_{library}_{given.rows}.lance" for library in ("ours", "pylance")}
    for library, path in paths.items():
        make(path, given.rows)
        build(path, library)
    queries(paths["ours"], paths["pylance"], given.rows, given.runs)
    learned(paths["ours"], given.rows, given.runs)


if __name__ == "__main__":
    main()
