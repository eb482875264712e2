"""Statements that change a table through `lance_sql.sql`, and in DuckDB's own file. Both are on the disk
when they return."""

from __future__ import annotations

import random
import shutil
import statistics
import time
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa

import lance_sql

from .operation_tables import TABLES, rows
from .tables import cached

NUM_MERGED: Final = 100_000
FIRST_NEW: Final = 10**10

STATEMENTS: Final = {
    "MERGE INTO 100,000 rows": "MERGE INTO {table} AS t USING given AS s ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET g = s.g, amount = s.amount, status = s.status, name = s.name, ts = s.ts"
    " WHEN NOT MATCHED THEN INSERT (id, g, amount, status, name, ts)"
    " VALUES (s.id, s.g, s.amount, s.status, s.name, s.ts)",
    "UPDATE 1 %": "UPDATE {table} SET amount = amount + 1 WHERE g < 10",
    "DELETE 1 %": "DELETE FROM {table} WHERE g < 10",
    "INSERT 100,000 rows": "INSERT INTO {table} SELECT id + 10000000000, g, amount, status, name, ts FROM given",
}


def compare(data: Path, num_rows: int, runs: int, *, stable: bool) -> None:
    """Prints a line for each statement: milliseconds of both, and their ratio.

    raises: AssertionError where the tables differ afterwards
    """
    lance = TABLES["rows"](data, num_rows, stable)
    native = cached(data / f"operations_rows_{num_rows}.duckdb", partial(_fill, lance))
    given = _given(num_rows)
    print(f"{'':<44}{'ours':>9} {'DuckDB':>9} {'ratio':>7}")
    for name, statement in STATEMENTS.items():
        times: dict[str, list[float]] = {"ours": [], "duckdb": []}
        draw = random.Random(0)
        for run in range(runs + 1):
            answers = {}
            for side in draw.sample(sorted(times), len(times)):
                elapsed, answers[side] = _run(side, statement, lance, native, given, data / "operations")
                # the first run of each side finds nothing in memory
                times[side] += [elapsed] if run else []
            assert answers["ours"] == answers["duckdb"], name
        ours, theirs = (statistics.median(times[side]) for side in ("ours", "duckdb"))
        print(f"{name:<44}{ours:>9.1f} {theirs:>9.1f} {ours / theirs:>7.2f}", flush=True)


def _run(
    side: str, statement: str, lance: Path, native: Path, given: pa.Table, folder: Path
) -> tuple[float, list[Any]]:
    """Milliseconds of the statement on a copy of the table, and what the table is afterwards."""
    folder.mkdir(exist_ok=True)
    if side == "ours":
        copy = folder / "statement.lance"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(lance, copy)
        connection, table = lance_sql.connect(), f"'{copy}'"
    else:
        copy = folder / "statement.duckdb"
        copy.unlink(missing_ok=True)
        shutil.copyfile(native, copy)
        connection, table = duckdb.connect(str(copy)), "rows"
    connection.register("given", given)
    connection.execute(f"SELECT count(*) FROM {table}").fetchall()
    start = time.perf_counter()
    if side == "ours":
        lance_sql.sql(statement.format(table=table), connection=connection)
    else:
        connection.execute(statement.format(table=table)).fetchall()
    elapsed = 1000 * (time.perf_counter() - start)
    answer = connection.execute(
        f"SELECT count(*), sum(id), sum(g), round(sum(amount), 2), max(ts), count(DISTINCT name) FROM {table}"
    ).fetchall()
    connection.close()
    shutil.rmtree(copy) if copy.is_dir() else copy.unlink()
    return elapsed, answer


def _fill(lance: Path, to: Path) -> None:
    connection = duckdb.connect(str(to))
    connection.register("source", lance_sql.open(lance).scan().to_table())
    connection.execute("CREATE TABLE rows AS FROM source")
    connection.close()


def _given(num_rows: int) -> pa.Table:
    """Rows of which one half is in the table, all over it, and the other half is new."""
    half = NUM_MERGED // 2
    old = np.random.default_rng(5).choice(num_rows, half, replace=False)
    ids = np.concatenate((old, np.arange(FIRST_NEW, FIRST_NEW + half)))
    return rows(FIRST_NEW, len(ids)).set_column(0, "id", pa.array(ids))
