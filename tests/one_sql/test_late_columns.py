"""`ORDER BY .. LIMIT n` with the other columns read last, against a table of DuckDB's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.one_sql import late_columns

pytestmark = pytest.mark.skipif(duckdb.__version__.startswith("1."), reason="DuckDB 1.5 makes no such connections")

NAMES = ("key", "number", "word", "other", "more", "last")


def _rows(seed: int, count: int) -> pa.Table:
    random = np.random.default_rng(seed)
    numbers = np.round(random.normal(size=count), 1)
    numbers[random.random(count) < 0.1] = np.nan
    return pa.table(
        {
            "key": pa.array(random.integers(0, 20, count), mask=random.random(count) < 0.2),
            "number": pa.array(numbers, mask=random.random(count) < 0.1),
            "word": pa.array(random.choice(["b", "a", "Z", "\u00e9", ""], count), mask=random.random(count) < 0.1),
            "other": pa.array(np.arange(count)),
            "more": pa.array([f"text {i}" for i in range(count)]),
            "last": pa.array([{"x": i} for i in range(count)]),
        }
    )


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that were made of others, also for small tables."""
    monkeypatch.setattr(late_columns, "FEWEST_TABLE_ROWS", 0)
    made: list[str] = []
    rows = late_columns.LateColumns.rows

    def note(self: late_columns.LateColumns, addresses: Any) -> str:
        made.append(rows(self, addresses))
        return made[-1]

    monkeypatch.setattr(late_columns.LateColumns, "rows", note)
    return made


def _table(folder: Path, seed: int) -> str:
    """Three fragments, of which one has deleted rows."""
    path = str(folder / "t.lance")
    for number in range(3):
        lance_sql.write(_rows(seed + number, 400), path, mode="append" if number else "create")
    lance_sql.open(path).delete("other % 7 = 3 AND key > 4")
    return path


@pytest.mark.parametrize("seed", range(2))
def test_the_rows_are_those_of_a_table_of_duckdb(
    tmp_path: Path, always: list[str], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    path = _table(tmp_path, 10 * seed)
    connection = lance_sql.connect()
    monkeypatch.setattr(late_columns, "FEWEST_COLUMNS", 0)
    connection.execute(f"CREATE TABLE own AS SELECT * FROM lance_scan('{path}')")
    random = np.random.default_rng(seed)
    wheres = ["", "WHERE key > 5", "WHERE word <> 'a' OR number IS NULL", "WHERE key = 99", "WHERE t.key IN (1, 2, 3)"]
    count = 60
    for _ in range(count):
        keys = random.choice(NAMES[:4], random.integers(1, 4), replace=False)
        order = ", ".join(
            f"{key} {random.choice(['', 'ASC', 'DESC'])} {random.choice(['', 'NULLS FIRST', 'NULLS LAST'])}"
            for key in keys
        )
        where, limit, offset = (
            random.choice(wheres),
            random.integers(1, 40),
            random.choice(["", "OFFSET 3", "OFFSET 5000"]),
        )
        columns = ", ".join(NAMES)
        expected = connection.execute(
            f"SELECT {columns} FROM own AS t {where} ORDER BY {order}, _rowaddr LIMIT {limit} {offset}"
        ).fetchall()
        given = (
            f"SELECT {random.choice(['*', columns])} FROM '{path}' AS t {where} ORDER BY {order} LIMIT {limit} {offset}"
        )
        assert repr(connection.execute(given).fetchall()) == repr(expected), given
    assert len(always) == count


@pytest.mark.parametrize("source", ["'{}'", "lance_scan('{}')", "lance_table('{}')", "lance_scan('{}', version := 2)"])
def test_the_columns_are_those_of_the_plain_query(tmp_path: Path, always: list[str], source: str) -> None:
    table = source.format(_table(tmp_path, 1))
    connection = lance_sql.connect()
    text = f"SELECT * FROM {table} ORDER BY other DESC, key, number LIMIT 7"
    late = connection.execute(text)
    described, rows = late.description, late.fetchall()
    assert len(always) == 1
    plain = connection.sql(text)
    assert described == plain.description
    assert rows == plain.fetchall()
    assert len(always) == 1


def test_of_equal_rows_the_first_ones_are_given(tmp_path: Path, always: list[str]) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write({"k": [1] * 9, "a": list(range(9)), "b": [0] * 9, "c": [0] * 9}, path)
    found = lance_sql.connect().execute(f"SELECT * FROM '{path}' ORDER BY k LIMIT 3 OFFSET 2").fetchall()
    assert [row[1] for row in found] == [2, 3, 4]
    assert len(always) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM {} ORDER BY other -- of them\n LIMIT 5",
        "SELECT * FROM {} ORDER BY key + 1 LIMIT 5",
        "SELECT * FROM {} ORDER BY 4 LIMIT 5",
        "SELECT * FROM {} ORDER BY ALL LIMIT 5",
        "SELECT * FROM {} ORDER BY other LIMIT 5 %",
        "SELECT * FROM {} ORDER BY other LIMIT 20000",
        "SELECT DISTINCT * FROM {} ORDER BY other LIMIT 5",
        "SELECT *, row_number() OVER () FROM {} ORDER BY other LIMIT 5",
        "SELECT *, key + 1 FROM {} ORDER BY other LIMIT 5",
        "SELECT * EXCLUDE (word) FROM {} ORDER BY other LIMIT 5",
        "SELECT key AS other, other AS key, more, word, last FROM {} ORDER BY other, more LIMIT 5",
        "SELECT * FROM {} WHERE key = (SELECT max(key) FROM {}) ORDER BY other LIMIT 5",
        "SELECT a.* FROM {} AS a, {} AS b ORDER BY a.other, b.other LIMIT 5",
        "SELECT other, key FROM {} ORDER BY other, key LIMIT 5",
        "SELECT max(key), word, other, more FROM {} GROUP BY ALL ORDER BY other LIMIT 5",
        "WITH x AS (FROM {}) SELECT * FROM x ORDER BY other LIMIT 5",
        "SELECT * FROM {} UNION ALL SELECT * FROM {} ORDER BY other LIMIT 5",
        "SELECT * FROM (SELECT * FROM {} ORDER BY other LIMIT 5)",
        "SELECT * FROM {} USING SAMPLE 100% ORDER BY other LIMIT 5",
    ],
)
def test_other_statements_stay_as_they_are(tmp_path: Path, always: list[str], text: str) -> None:
    connection = lance_sql.connect()
    given = text.replace("{}", f"'{_table(tmp_path, 1)}'")
    try:
        expected = connection.sql(given).fetchall()
    except duckdb.Error as error:
        with pytest.raises(type(error)):
            connection.execute(given)
    else:
        assert len(connection.execute(given).fetchall()) == len(expected)
    assert not always


def test_small_tables_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_columns.LateColumns, "rows", None)
    path = _table(tmp_path, 1)
    assert len(lance_sql.connect().execute(f"SELECT * FROM '{path}' ORDER BY other LIMIT 5").fetchall()) == 5


def test_a_statement_with_a_mistake_has_duckdbs_error(tmp_path: Path, always: list[str]) -> None:
    connection = lance_sql.connect()
    path = _table(tmp_path, 1)
    with pytest.raises(duckdb.BinderException, match="nothing"):
        connection.execute(f"SELECT * FROM '{path}' ORDER BY nothing LIMIT 5")
    with pytest.raises(duckdb.BinderException, match="_rowid"):
        connection.execute(f"SELECT * FROM '{path}' WHERE _rowid = 1 ORDER BY other LIMIT 5")
    assert not always
