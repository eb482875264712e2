"""The end of the interpreter: half-read streams never hang it, and `atexit` callbacks read and write."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lance_sql
from lance_sql.runtime import threads

SOURCES = Path(lance_sql.__file__).parent
HALF_READ = {
    "scan": "half = pa.RecordBatchReader.from_stream(table.scan()); half.read_next_batch()",
    "few columns": "half = pa.RecordBatchReader.from_stream(table.scan(['id'], 'id > 3')); half.read_next_batch()",
    "reader": "half = table.scan(batch_size=100).to_reader(); half.read_next_batch()",
    "batches": "half = iter(table.scan(batch_size=100).to_reader()); next(half)",
    "by text": "half = table.scan(filter=\"s LIKE '%1%'\").to_reader(); half.read_next_batch()",
    "limited": "half = table.scan(limit=9000).to_reader(); half.read_next_batch()",
    "changes": "half = table.changes().scan().to_reader(); half.read_next_batch()",
    "changes as a stream": "half = pa.RecordBatchReader.from_stream(table.changes().scan()); half.read_next_batch()",
    "search": "half = table.search(text='w1', column='s', k=5000).to_reader(); half.read_next_batch()",
    "sql": "half = lance_sql.sql(f\"FROM '{PATH}'\", 'duckdb').to_reader(); half.read_next_batch()",
    "rows of sql": "half = lance_sql.sql(f\"FROM '{PATH}'\", 'duckdb'); half.fetchone()",
    "datafusion": "half = lance_sql.sql(f\"SELECT * FROM '{PATH}'\", 'datafusion'); half.fetchone()",
    "row of duckdb": "half = connection.execute(f\"FROM '{PATH}'\"); half.fetchone()",
    "rows of duckdb": "half = connection.execute(f\"FROM '{PATH}'\"); half.fetchmany(5)",
    "variable": "variable = table; half = connection.execute('FROM variable'); half.fetchone()",
    "relation": "half = connection.sql(f\"FROM '{PATH}'\").to_arrow_reader(1000); half.read_next_batch()",
    "cursor": "cursor = table.cursors.open('c'); half = cursor.read(); half.__enter__().scan().to_reader()",
    "follow": "half = iter(table.changes().follow()); next(half)",
    "deleted object": """
class Late:
    def __init__(self, reader): self.reader = reader
    def __del__(self):
        try: self.reader.read_next_batch()
        except BaseException: pass
half = [Late(pa.RecordBatchReader.from_stream(table.scan(batch_size=10)))]
half.append(half)
half[0].reader.read_next_batch()
""",
}
ENDS = {
    "end": ("", 0),
    "exception": ("raise ValueError('x')", 1),
    "exit": ("sys.exit(3)", 3),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ends") / "t.lance"
    for number in range(8):
        rows = {"id": list(range(5000)), "s": [f"w{value % 7} {'x' * (value % 50)}" for value in range(5000)]}
        lance_sql.write(rows, path, mode="append" if number else "create")
    lance_sql.open(path).indices.create("s", "fts")
    return path


def ended(path: Path, script: str) -> tuple[int, str]:
    """Runs a script in its own process, and returns its exit code and its errors."""
    program = f"""
import sys, pyarrow as pa, duckdb, lance_sql
PATH = {str(path)!r}
table = lance_sql.open(PATH)
connection = lance_sql.connect()
{script}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def check_end(path: Path, script: str, end: str) -> None:
    statement, code = ENDS[end]
    found, errors = ended(path, f"{script}\n{statement}")
    assert found == code, errors
    assert errors == "" if end != "exception" else errors.rstrip().endswith("ValueError: x"), errors


@pytest.mark.parametrize("end", ENDS)
def test_half_read_streams_never_hang_the_end(path: Path, end: str) -> None:
    # a connection runs one statement at a time
    every = [
        f"connection = lance_sql.connect()\n{each}\nkept_{number} = half, connection"
        for number, each in enumerate(HALF_READ.values())
    ]
    check_end(path, "\n".join(every), end)


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("how", HALF_READ)
def test_a_half_read_stream_never_hangs_the_end(path: Path, how: str, end: str) -> None:
    for _ in range(3):
        check_end(path, HALF_READ[how], end)


@pytest.mark.parametrize(
    ("callback", "shown"),
    [
        ("print(table.to_table().num_rows)", "40000"),
        ("print(table.scan(filter='id > 4990').to_table().num_rows)", "72"),
        ("print(lance_sql.write(big(), PATH + '.new', mode='overwrite').count_rows())", "600000"),
        ("print(lance_sql.open(PATH + '.new').add_columns({'n': 'id + 1'}).count_rows('n > 1'))", "599999"),
    ],
    ids=["read", "filter", "write", "columns"],
)
def test_callbacks_of_atexit_read_and_write(path: Path, callback: str, shown: str) -> None:
    lance_sql.write({"id": range(600_000)}, f"{path}.new", mode="overwrite")
    program = f"""
import atexit, random, pyarrow as pa, lance_sql
PATH = {str(path)!r}
table = lance_sql.open(PATH)
def big():
    return pa.table({{"id": pa.array(range(600_000)), "s": [str(value * 7919) for value in range(600_000)]}})
def callback():
    {callback}
atexit.register(callback)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.stderr) == (shown, "")


def test_only_one_module_starts_threads() -> None:
    pattern = re.compile(r"\bThread\(\s*(?:target|group)|\.submit\((?!\s*\))")
    found = [
        f"{file.relative_to(SOURCES)}:{number}"
        for file in SOURCES.rglob("*.py")
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if pattern.search(line) and "threads.submit(" not in line and file.parts[-2:] != ("runtime", "threads.py")
    ]
    assert found == []


@pytest.mark.parametrize("marked", ["by a worker", "by Python"])
def test_work_after_the_end_of_pools_runs_at_once(marked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = ThreadPoolExecutor(1)
    if marked == "by a worker":
        # what a worker does to its pool when it sees the end of the interpreter
        pool.shutdown()
    else:
        monkeypatch.setattr("concurrent.futures.thread._shutdown", True)
    assert threads.submit(pool, lambda: 7).result() == 7
    with pytest.raises(ZeroDivisionError):
        threads.submit(pool, lambda: 1 // 0).result()


def test_other_errors_of_a_pool_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    pool = ThreadPoolExecutor(1)
    monkeypatch.setattr(pool, "submit", no_thread)
    with pytest.raises(RuntimeError, match="can't start"):
        threads.submit(pool, lambda: 7)
