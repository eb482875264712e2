"""Counting the rows of a table: the number of the manifest, in the form of each engine."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datafusion import SessionContext

import lance_sql
from lance_sql.one_sql import counting, engines

ENGINES = ("duckdb", "datafusion")

each_engine = pytest.mark.parametrize("engine", ENGINES)

ALONE = {
    "SELECT count(*) FROM {t}": "SELECT count(*) FROM (SELECT * FROM {t})",
    "select COUNT ( * ) from {t} ;": "SELECT count(*) FROM (SELECT * FROM {t})",
    "SELECT count(1) AS n FROM {t} AS o": "SELECT count(1) AS n FROM (SELECT * FROM {t})",
    "SELECT count('a') FROM lance_scan({t}, version => 1)": "SELECT count('a') FROM (SELECT * FROM {t} LIMIT 7)",
    "SELECT count(*) FROM {t} VERSION AS OF 1": "SELECT count(*) FROM (SELECT * FROM {t} LIMIT 7)",
}
"""Statements that count a table, and others with the same answer."""

MORE = {
    "SELECT count(*), sum(id) FROM {t}": [(9, 36)],
    "SELECT count(*) + 1 FROM {t}": [(10,)],
    "SELECT count(*) FROM {t} WHERE id < 3": [(3,)],
    "SELECT count(*) FROM {t} GROUP BY id < 3 ORDER BY 1": [(3,), (6,)],
    "SELECT count(*) FROM {t} HAVING count(*) > 9": [],
    "SELECT count(*) FROM {t} LIMIT 0": [],
    "SELECT count(*) FROM {t} OFFSET 1": [],
    "SELECT count(*) FROM {t} AS a, {t} AS b": [(81,)],
    "SELECT count(*) FROM {t} AS a JOIN {t} AS b ON a.id = b.id + 1": [(8,)],
    "SELECT count(*) FROM (SELECT * FROM {t} LIMIT 2) AS o": [(2,)],
    "SELECT count(*) FROM {t} UNION ALL SELECT count(*) FROM {t}": [(9,), (9,)],
    "WITH o AS (SELECT * FROM {t} WHERE id = 1) SELECT count(*) FROM o": [(1,)],
    "SELECT count(*) OVER () FROM {t} LIMIT 1": [(9,)],
    "SELECT count(*) FILTER (WHERE id > 3) FROM {t}": [(5,)],
    "SELECT count(DISTINCT 1) FROM {t}": [(1,)],
    "SELECT count(NULL) FROM {t}": [(0,)],
    "SELECT count(v) FROM {t}": [(7,)],
    "SELECT count(*) FROM lance_versions({t})": [(2,)],
    "SELECT count(*) FROM lance_changes({t}, since => 1)": [(2,)],
    "SELECT (SELECT count(*) FROM {t}) AS n, 1": [(9, 1)],
}
"""Statements that count something else, and their rows."""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that were counted without their engine."""
    tables: list[str] = []

    def rows(dataset: lance_sql.Dataset, names: Sequence[str], *, nullable: bool) -> pa.RecordBatchReader:
        tables.append(Path(dataset.uri).name)
        return counting.counted_rows(dataset, names, nullable=nullable)

    monkeypatch.setattr(engines, "counted_rows", rows)
    return tables


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Version 1: seven rows. Version 2: nine, the last two with NULL."""
    path = tmp_path / "t.lance"
    lance_sql.write({"id": range(7), "v": range(7)}, path)
    lance_sql.write(pa.table({"id": [7, 8], "v": pa.nulls(2, pa.int64())}), path, mode="append")
    return f"'{path}'"


@each_engine
@pytest.mark.parametrize("statement", ALONE)
def test_the_answer_is_that_of_the_engine(table: str, statement: str, engine: str, counted: list[str]) -> None:
    expected = lance_sql.sql(ALONE[statement].format(t=table), engine).to_table()
    assert not counted
    found = lance_sql.sql(statement.format(t=table), engine)
    # a result may be read several times
    assert found.to_table() == found.to_table() == expected
    assert found.to_table().schema == expected.schema
    assert set(counted) == {"t.lance"}


@each_engine
@pytest.mark.parametrize("statement", MORE)
def test_other_statements_are_left_to_the_engine(table: str, statement: str, engine: str, counted: list[str]) -> None:
    assert lance_sql.sql(statement.format(t=table), engine).fetchall() == MORE[statement]
    assert not counted


@pytest.mark.parametrize("clause", ["TABLESAMPLE reservoir(4 ROWS)", "USING SAMPLE 4 ROWS"])
def test_a_sample_is_counted_by_the_engine(table: str, clause: str) -> None:
    assert lance_sql.sql(f"SELECT count(*) FROM {table} {clause}").fetchall() == [(4,)]


def test_a_filter_of_a_table_function_is_applied(table: str) -> None:
    assert lance_sql.sql(f"SELECT count(*) FROM lance_scan({table}, filter := 'id > 2')").fetchall() == [(6,)]


def test_two_counts_have_the_names_of_the_engine(table: str) -> None:
    found, expected = (lance_sql.sql(f"SELECT count(*), count(*) FROM {each}") for each in (table, f"(FROM {table})"))
    assert found.to_table().column_names == expected.to_table().column_names


@each_engine
def test_several_tables_are_counted_together(tmp_path: Path, engine: str) -> None:
    for number in range(3):
        lance_sql.write({"id": range(number + 1)}, tmp_path / f"t{number}.lance")
    assert lance_sql.sql(f"SELECT count(*) FROM '{tmp_path}/*.lance'", engine).fetchall() == [(6,)]
    assert lance_sql.sql(f"SELECT count(*) FROM '{tmp_path}/t2*.lance'", engine).fetchall() == [(3,)]


@each_engine
def test_an_own_table_of_the_connection_is_counted_by_it(tmp_path: Path, engine: str, counted: list[str]) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [1]}, path)
    connection: Any = SessionContext() if engine == "datafusion" else lance_sql.connect()
    connection.sql("CREATE TABLE own AS SELECT 1 AS a UNION ALL SELECT 2")
    options = {"session": connection} if engine == "datafusion" else {"connection": connection}
    assert lance_sql.sql("SELECT count(*) FROM own", **options).fetchall() == [(2,)]
    assert not counted
    lance_sql.sql(f"INSERT INTO '{path}' SELECT count(*) FROM '{path}'", **options)
    assert lance_sql.open(path).to_table().to_pylist() == [{"id": 1}, {"id": 1}]


def _places(path: Path, seed: int) -> Iterator[tuple[str, lance_sql.Dataset]]:
    """Makes a table with random changes on main and a branch; yields its versions, as SQL and open."""
    chance = random.Random(seed)
    stable = chance.random() < 0.5
    main = lance_sql.write({"id": range(100)}, path, max_rows_per_file=30, stable_row_ids=stable)
    heads = {"": main, "side": main.branches.create("side")}
    for number in range(12):
        name = chance.choice(list(heads))
        head = heads[name]
        match chance.randrange(5):
            case 0:
                rows = {"id": range(1000 * number, 1000 * number + chance.randrange(1, 40))}
                head = lance_sql.write(rows, path, mode="append", branch=name or None)
            case 1:
                head = head.delete(f"id % {chance.randrange(2, 9)} = 0")
            case 2:
                head = head.delete(f"id BETWEEN {chance.randrange(50)} AND {chance.randrange(50, 2000)}")
            case 3:
                head = head.update({"id": "id + 1"}, f"id % {chance.randrange(2, 9)} = 1")
            case _:
                head = head.maintenance.compact()
        heads[name] = head
    heads["side"].tags.create("kept")
    heads[""] = heads[""].delete("true")
    for head in heads.values():
        for each in head.versions():
            dataset = lance_sql.open(path, version=each.version, branch=head.branch)
            arguments = f"version => {each.version}" + (f", branch => '{head.branch}'" if head.branch else "")
            yield f"lance_scan('{path}', {arguments})", dataset
    yield f"'{path}'", heads[""]
    yield f"'{path}@side'", heads["side"]
    yield f"'{path}@kept'", heads["side"]
    yield f"'{path}' VERSION AS OF 1", main


@pytest.mark.parametrize("seed", range(3))
def test_every_version_has_as_many_rows_as_are_read(tmp_path: Path, seed: int, counted: list[str]) -> None:
    count = 0
    for place, dataset in _places(tmp_path / "t.lance", seed):
        rows = dataset.to_table().num_rows
        for engine in ENGINES:
            assert lance_sql.sql(f"SELECT count(*) FROM {place}", engine).fetchall() == [(rows,)], (seed, place)
            count += 1
    assert len(counted) == count > 20
