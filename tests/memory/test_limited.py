"""Each verb on a table five times as large as the memory that its process may take."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pytest

import lance_sql

LIMIT_MIB: Final = 512
"""Heaps, stacks and other private memory of a process, whether it was touched or not; DuckDB is loaded in each."""

ROW_BYTES: Final = 25
NUM_ROWS: Final = 5 * (LIMIT_MIB << 20) // ROW_BYTES
NUM_FILES: Final = 4
BATCH_ROWS: Final = 1 << 20
WORDS: Final = pa.array(["open", "paid", "shipped"])

VALUE_BYTES: Final = 1 << 20
NUM_VALUES: Final = 5 * LIMIT_MIB

BEGIN: Final = """
import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (MEBIBYTES << 20,) * 2)
import lance_sql, lance_sql.providers.duckdb.registration
table = lance_sql.open(sys.argv[1])
clone = table.branches.shallow_clone(sys.argv[2])
n = table.count_rows()
"""

VERBS: Final = {
    "scan": "assert sum(batch.num_rows for batch in table.scan().to_reader()) == n",
    "filter": "assert sum(b.num_rows for b in table.scan(filter='id % 3 = 1').to_reader()) == (n + 1) // 3",
    "append": "assert lance_sql.write(table, clone, mode='append').count_rows() == 2 * n",
    "compact": "assert clone.maintenance.compact(target_rows=2**30).count_rows() == n",
    "update 1 %": "assert clone.update({'g': '-1'}, 'id % 100 = 0').count_rows('g = -1') == -(-n // 100)",
    "delete 50 %": "assert clone.delete('id % 2 = 0').count_rows() == n // 2",
    "merge": "assert clone.merge({'id': range(n - 500, n + 500), 'g': [1] * 1000}, on='id').count_rows() == n + 500",
    "add a column": "assert clone.add_columns({'h': 'id + 1'}).count_rows('h = 1') == 1",
    "index": "assert clone.indices.create('id', 'btree').scan(['id'], 'id = 777').to_table().num_rows == 1",
    "index of words": "assert clone.indices.create('v', 'btree').count_rows() == n",
    "verify": "assert lance_sql.verify(table.uri, deep=True).is_healthy",
    "changes": "assert sum(batch.num_rows for batch in table.changes().scan().to_reader()) == n",
    "sql update": "lance_sql.sql(f\"UPDATE '{clone.uri}' SET g = -1 WHERE id % 100 = 0\")",
    "sql delete": "lance_sql.sql(f\"DELETE FROM '{clone.uri}' WHERE id % 2 = 0\")",
    "sql insert": "lance_sql.sql(f\"INSERT INTO '{clone.uri}' SELECT * FROM '{table.uri}'\")",
    "sql merge": "lance_sql.sql(f\"MERGE INTO '{clone.uri}' AS t USING (SELECT i AS id FROM range(1000) r(i)) AS s"
    ' ON t.id = s.id WHEN MATCHED THEN UPDATE SET g = 7")',
}
OF_LONG_VALUES: Final = ("scan", "append", "compact", "update 1 %", "merge", "add a column", "index", "sql insert")


def short_rows(start: int, end: int) -> Iterator[pa.RecordBatch]:
    random = np.random.default_rng(start)
    for first in range(start, end, BATCH_ROWS):
        count = min(BATCH_ROWS, end - first)
        words = WORDS.take(pa.array(random.integers(0, 3, count)))
        yield pa.record_batch({"id": np.arange(first, first + count), "g": random.random(count), "v": words})


def long_rows(start: int, end: int) -> Iterator[pa.RecordBatch]:
    random = np.random.default_rng(start)
    for first in range(start, end, 8):
        values = [random.bytes(VALUE_BYTES) for _ in range(min(8, end - first))]
        ids = np.arange(first, first + len(values))
        yield pa.record_batch({"id": ids, "g": ids.astype(float), "v": pa.array(values, pa.binary())})


def written(folder: Path, rows: int, make: object) -> Path:
    path = folder / "t.lance"
    for start in range(0, rows, -(-rows // NUM_FILES)):
        batches = make(start, min(start + -(-rows // NUM_FILES), rows))  # type: ignore[operator]  # not None here
        first = next(batches)
        reader = pa.RecordBatchReader.from_batches(first.schema, (each for part in ([first], batches) for each in part))
        lance_sql.write(reader, path, mode="append" if start else "create")
    return path


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many short rows."""
    return written(tmp_path_factory.mktemp("short"), NUM_ROWS, short_rows)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Few long values."""
    return written(tmp_path_factory.mktemp("long"), NUM_VALUES, long_rows)


def limited(statement: str, table: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """A process that has run a statement. Stacks of threads count, whatever is used of them, so they are of 1 MiB."""
    code = BEGIN.replace("MEBIBYTES", str(LIMIT_MIB)) + statement
    python = [sys.executable, "-c", code, str(table), str(folder / "clone.lance")]
    command = ["sh", "-c", 'ulimit -s 1024; exec "$@"', "sh", *python]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)


def run(verb: str, table: Path, folder: Path) -> None:
    done = limited(VERBS[verb], table, folder)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_many_rows(short: Path, tmp_path: Path, verb: str) -> None:
    run(verb, short, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("verb", OF_LONG_VALUES)
def test_long_values(long: Path, tmp_path: Path, verb: str) -> None:
    run(verb, long, tmp_path)


def test_a_process_has_no_more_than_its_limit(tmp_path: Path) -> None:
    """Without which the others would show nothing."""
    table = lance_sql.write({"id": [1]}, tmp_path / "t.lance").uri
    done = limited(f"bytearray({LIMIT_MIB} << 20)", Path(table), tmp_path)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("MemoryError")
