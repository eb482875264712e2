"""Memory that each verb takes, over tables that are larger than what it may hold: long values, and many short rows.

    long    values of 1 MiB, 2 GiB of them by default
    short   60 million rows of an integer, a double and a short text by default

Each verb runs in its own process, on a clone of the table. The peak of its anonymous memory counts, without mapped
pages of files, which the system can reclaim. `sum`: the peak of all memory of a sum in DuckDB over random doubles, and
over ten times as many.

python -m benchmarks.memory
python -m benchmarks.memory --limit 1024

With a limit, in MiB, the system gives no process more memory than that (`RLIMIT_DATA`: heaps, stacks and other private
memory, whether it was touched or not, but no mapped files), and the tables are five times as large in Arrow.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

import lance_sql

from .measure import parser, print_versions
from .tables import cached

BATCH_ROWS: Final = 1024 * 1024
VALUE_BYTES: Final = 1024 * 1024
SHORT_BYTES: Final = 25
NUM_FILES: Final = 4
TIMES_LIMIT: Final = 5
MOST_MIB: Final = 500

PRICES: Final = pa.schema([("price", pa.float64())])
LONG: Final = pa.schema([("id", pa.int64()), ("g", pa.int64()), ("v", pa.binary())])
SHORT: Final = pa.schema([("id", pa.int64()), ("g", pa.float64()), ("v", pa.string())])

VERBS: Final = {
    "scan": "for _ in table.scan().to_reader(): pass",
    "filter": "for _ in table.scan(filter='id % 3 = 1').to_reader(): pass",
    "count": "table.count_rows('id % 3 = 1')",
    "take": "table.take(np.arange(0, 100).tolist())",
    "changes": "for _ in table.changes().scan().to_reader(): pass",
    "changes, net": "for _ in table.changes(mode='net').scan().to_reader(): pass",
    "write a copy": "lance_sql.write(table, sys.argv[2] + '/copy.lance')",
    "append": "lance_sql.write(table, clone.uri, mode='append')",
    "compact": "clone.maintenance.compact(target_rows=2**30)",
    "update 1 %": "clone.update({'g': 'g + 1'}, 'id % 100 = 0')",
    "update all": "clone.update({'g': 'g + 1'}, 'true')",
    "delete 50 %": "clone.delete('id % 2 = 0')",
    "merge 1,000 rows": "clone.merge({'id': list(range(1000)), 'g': [1] * 1000}, on='id')",
    "add a column": "clone.add_columns({'h': 'id + 1'})",
    "index": "clone.indices.create('id', 'btree')",
    "verify": "lance_sql.verify(table.uri, deep=True)",
    "audit": "lance_sql.audit(table.uri)",
    "sql: sum": "lance_sql.sql(f\"SELECT sum(g) FROM '{table.uri}'\").to_table()",
    "sql: update": "lance_sql.sql(f\"UPDATE '{clone.uri}' SET g = g + 1 WHERE id % 2 = 0\")",
    "sql: delete": "lance_sql.sql(f\"DELETE FROM '{clone.uri}' WHERE id % 2 = 0\")",
    "sql: insert": "lance_sql.sql(f\"INSERT INTO '{clone.uri}' SELECT * FROM '{table.uri}'\")",
    "sql: create": "lance_sql.sql(f\"CREATE TABLE '{sys.argv[2]}/made.lance' AS SELECT * FROM '{table.uri}'\")",
    "sql: merge": "lance_sql.sql(f\"MERGE INTO '{clone.uri}' AS t USING (SELECT i AS id, 7 AS g FROM range(1000) r(i))"
    ' AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET g = s.g")',
}

_RUN: Final = """
import re, resource, sys, threading, time
if len(sys.argv) > 3:
    resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[3]) << 20,) * 2)
import numpy as np
import lance_sql, lance_sql.providers.duckdb.registration

def anonymous():
    # not ru_maxrss, which a process inherits from the one that started it
    return int(re.search(r"RssAnon:\\s+(\\d+) kB", open("/proc/self/status").read())[1])

peak = [0]
def watch():
    while True:
        peak[0] = max(peak[0], anonymous())
        time.sleep(0.002)

table = lance_sql.open(sys.argv[1])
clone = table.branches.shallow_clone(sys.argv[2] + "/clone.lance")
before = anonymous()
threading.Thread(target=watch, daemon=True).start()
start = time.perf_counter()
VERB
print(max(peak[0], anonymous()) // 1024, before // 1024, time.perf_counter() - start)
"""

_QUERY: Final = """
import re, sys, lance_sql
connection = lance_sql.connect()
connection.execute("SELECT sum(price) FROM lance_scan(?)", [sys.argv[1]]).fetchall()
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


def main() -> None:
    parsed = parser(__doc__, 20_000_000)
    parsed.add_argument("--limit", type=int, help="MiB that a process may take")
    parsed.add_argument(
        "--only", action="append", help="verbs whose names have this in them; several times: any of them"
    )
    arguments = parsed.parse_args()
    print_versions("duckdb")
    if arguments.limit is not None:
        num_bytes = TIMES_LIMIT * arguments.limit << 20
        tables = {
            "long": _table(arguments.data, "long", num_bytes // VALUE_BYTES),
            "short": _table(arguments.data, "short", num_bytes // SHORT_BYTES),
        }
        _print_peaks(tables, arguments.only, arguments.limit)
        return
    small, large = (_peak(_prices(arguments.data, rows)) for rows in (arguments.rows, 10 * arguments.rows))
    print(f"sum: {arguments.rows} rows {small} MiB; {10 * arguments.rows} rows {large} MiB; x{large / small:.2f}")
    # as large as their readers' users have them, at the default number of rows
    tables = {
        "long": _table(arguments.data, "long", max(arguments.rows // 10_000, NUM_FILES)),
        "short": _table(arguments.data, "short", max(3 * arguments.rows, NUM_FILES)),
    }
    _print_peaks(tables, arguments.only)


def _print_peaks(tables: Mapping[str, Path], only: Sequence[str] | None, limit: int | None = None) -> None:
    for name, path in tables.items():
        for verb, statement in VERBS.items():
            what = f"{name}: {verb}"
            if not only or any(part in what for part in only):
                _print_peak(what, path, statement, limit)


def _print_peak(what: str, path: Path, statement: str, limit: int | None) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        command = [sys.executable, "-c", _RUN.replace("VERB", statement), str(path), folder]
        command += [] if limit is None else [str(limit)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"{what:<28} failed: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return
    # statements may print as well
    peak, before, seconds = done.stdout.splitlines()[-1].split()
    over = "" if limit is not None or int(peak) <= MOST_MIB else f"   more than {MOST_MIB}"
    print(f"{what:<28} {peak:>6} MiB, of which before it {before:>3}; {float(seconds):6.1f} s{over}", flush=True)


def _table(folder: Path, kind: str, rows: int) -> Path:
    return cached(folder / f"{kind}_{rows}.lance", partial(_write_files, kind, rows))


def _write_files(kind: str, rows: int, to: Path) -> None:
    schema, batches = (LONG, _long_batches) if kind == "long" else (SHORT, _short_batches)
    of_file = -(-rows // NUM_FILES)
    for start in range(0, rows, of_file):
        reader = pa.RecordBatchReader.from_batches(schema, batches(start, min(start + of_file, rows)))
        lance_sql.write(reader, to, mode="append" if start else "create")


def _long_batches(start: int, end: int) -> Iterator[pa.RecordBatch]:
    random = np.random.default_rng(start)
    for first in range(start, end, 8):
        ids = np.arange(first, min(first + 8, end))
        values = pa.array([random.bytes(VALUE_BYTES) for _ in ids], pa.binary())
        yield pa.record_batch([pa.array(ids), pa.array(ids), values], schema=LONG)


def _short_batches(start: int, end: int) -> Iterator[pa.RecordBatch]:
    random = np.random.default_rng(start)
    for first in range(start, end, BATCH_ROWS):
        ids = np.arange(first, min(first + BATCH_ROWS, end))
        words = pa.array(["open", "paid", "shipped"]).take(pa.array(random.integers(0, 3, len(ids))))
        yield pa.record_batch([pa.array(ids), pa.array(random.random(len(ids))), words], schema=SHORT)


def _prices(folder: Path, rows: int) -> Path:
    return cached(folder / f"prices_{rows}.lance", partial(_write_prices, rows))


def _write_prices(rows: int, to: Path) -> None:
    lance_sql.write(pa.RecordBatchReader.from_batches(PRICES, _price_batches(rows)), to)


def _price_batches(rows: int) -> Iterator[pa.RecordBatch]:
    random = np.random.default_rng(8)
    for start in range(0, rows, BATCH_ROWS):
        yield pa.record_batch([pa.array(random.random(min(BATCH_ROWS, rows - start)))], schema=PRICES)


def _peak(path: Path) -> int:
    done = subprocess.run([sys.executable, "-c", _QUERY, str(path)], check=True, capture_output=True, text=True)
    # DuckDB may print its progress
    return int(done.stdout.splitlines()[-1]) // 1024


if __name__ == "__main__":
    main()
