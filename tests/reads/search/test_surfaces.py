"""Searches in every engine, and on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli.main import main
from lance_sql.errors import LanceError


def duckdb_rows(sql: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = lance_sql.connect().execute(sql).fetchall()
    return found


def one_sql_rows(engine: str) -> Callable[[str], list[tuple[Any, ...]]]:
    def rows(sql: str) -> list[tuple[Any, ...]]:
        found = lance_sql.sql(sql, engine=engine).to_table()
        return [tuple(row.values()) for row in found.to_pylist()]

    return rows


ENGINES = [
    pytest.param(duckdb_rows, id="duckdb"),
    pytest.param(one_sql_rows("duckdb"), id="sql-duckdb"),
    pytest.param(one_sql_rows("datafusion"), id="sql-datafusion"),
]


@pytest.mark.parametrize("rows", ENGINES)
@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ("[20, 0]", [20, 19, 21, 18, 22, 17, 23, 16, 24, 15]),
        ("[20.25, 0.5], k := 2", [20, 21]),
        ("[20, 0]::FLOAT[], k := 2", [20, 19]),
        ("[-3.5, 0], k := 1", [0]),
        ("[20, 0], k := 3, filter := 'kind = ''b'''", [19, 21, 17]),
        ("[11, 0], k := 1", [1011]),
        ("[11, 0], k := 1, version := 1", [11]),
        ("[11, 0], k := 1, tag := 'first'", [11]),
        ("[20, 0], k := 99, since := 1", [1012, 1011, 1010]),
        ("[20, 0], k := 1, metric := 'dot'", [99]),
        ("[20, 0], k := 2, nprobs := 3, use_index := false, refine_factor := 2", [20, 19]),
    ],
)
def test_vector_search(path: str, rows: Callable[[str], Any], arguments: str, ids: list[int]) -> None:
    sql = f"SELECT id FROM lance_vector_search('{path}', 'v', {arguments}) ORDER BY _distance, id"
    assert [row[0] for row in rows(sql)] == ids


@pytest.mark.parametrize("rows", ENGINES)
def test_conditions_come_before_or_after(path: str, rows: Callable[[str], Any]) -> None:
    search = f"SELECT id, _distance FROM lance_vector_search('{path}', 'v', [20, 0], k := 3{{}}) WHERE {{}}"
    assert sorted(rows(search.format("", "kind = 'a'"))) == [(20, 0.0)]
    assert sorted(rows(search.format(", prefilter := true", "kind = 'a'"))) == [(18, 4.0), (20, 0.0), (22, 4.0)]
    assert sorted(rows(search.format(", prefilter := true", "kind = 'a' AND _distance < 3"))) == [(20, 0.0)]


def test_the_columns_are_those_of_the_table_and_the_distance(path: str) -> None:
    connection = lance_sql.connect()
    found = connection.execute(f"DESCRIBE FROM lance_vector_search('{path}', 'v', [1, 2])").fetchall()
    assert [(name, type) for name, type, *_ in found] == [
        ("id", "BIGINT"),
        ("kind", "VARCHAR"),
        ("v", "FLOAT[2]"),
        ("_distance", "FLOAT"),
    ]
    assert connection.execute(f"SELECT count(*) FROM lance_vector_search('{path}', 'v', [1, 2])").fetchall() == [(10,)]
    sql = f"SELECT count(*) FROM lance_vector_search('{path}', 'v', [1, 2], k := NULL)"
    assert connection.execute(sql).fetchall() == [(100,)]


def test_datafusion_by_place(path: str) -> None:
    from datafusion import SessionContext

    context = lance_sql.register(SessionContext())
    sql = f"SELECT id FROM lance_vector_search('{path}', 'v', '[20, 0]', 3, 'kind = ''b''') ORDER BY _distance, id"
    assert context.sql(sql).to_pydict() == {"id": [19, 21, 17]}
    with pytest.raises(Exception, match="has 1 values"):
        context.sql(f"SELECT id FROM lance_vector_search('{path}', 'v', '[20]')").to_pydict()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("NULL, [1, 2]", "needs a column of vectors"),
        ("'v', NULL", "needs a query vector"),
        ("'v', [1, NULL]", "NULL, NaN or infinite"),
        ("'v', [1, 2, 3]", "has 3 values"),
        ("'v', [1, 2], k := 0", "k=0"),
        ("'v', [1, 2], nprobs := 0", "nprobes=0"),
        ("'v', [1, 2], nprobs := 1, nprobes := 1", "one argument"),
        ("'v', [1, 2], refine_factor := 0", "refine_factor=0"),
        ("'w', [1, 2]", "'w'"),
        ("'kind', [1, 2]", "'kind' is"),
        ("'v', [1, 2], metric := 'near'", "not one of l2"),
        ("'v', [1, 2], version := 99", "99"),
        ("'v', [1, 2], filter := 'nothing > 1'", "nothing"),
    ],
)
def test_errors(path: str, arguments: str, message: str) -> None:
    sql = f"FROM lance_vector_search('{path}', {arguments})"
    with pytest.raises(duckdb.Error, match=message):
        lance_sql.connect().execute(sql)
    with pytest.raises(LanceError, match=message):
        lance_sql.sql(sql)


@pytest.mark.parametrize("rows", ENGINES)
@pytest.mark.parametrize(
    ("call", "ids"),
    [
        ("lance_fts('{}', 'body', 'quick')", [3, 2, 1]),
        ("lance_fts('{}', 'body', 'quick', version := 1)", [3, 1]),
        ("lance_fts('{}', 'body', 'quick', since := 1)", [2]),
        ("lance_fts('{}', 'body', 'quick', k := 2, filter := 'id < 3')", [1, 2]),
        ("lance_fts('{}', 'body', '')", []),
        ("""lance_fts('{}', 'body', '{{"phrase": {{"terms": "quick fox"}}}}')""", [1]),
        ("lance_hybrid_search('{}', 'v', [0, 1], 'body', 'rivers', k := 2, alpha := 0.5)", [1, 2]),
        ("lance_hybrid_search('{}', 'v', [0, 1], 'body', 'rivers', k := 1, fusion := 'rrf')", [4]),
    ],
)
def test_words(articles: str, rows: Callable[[str], Any], call: str, ids: list[int]) -> None:
    order = "_hybrid_score DESC" if "hybrid" in call else "_score DESC"
    assert sorted(row[0] for row in rows(f"SELECT id FROM {call.format(articles)} ORDER BY {order}")) == sorted(ids)


def test_the_columns_of_words(articles: str) -> None:
    connection = lance_sql.connect()
    sql = f"SELECT * EXCLUDE (v) FROM lance_hybrid_search('{articles}', 'v', [0, 1], 'body', 'quick')"
    found = connection.execute(f"DESCRIBE {sql}").fetchall()
    assert [name for name, *_ in found] == ["id", "body", "_distance", "_score", "_hybrid_score"]
    with pytest.raises(duckdb.Error, match="needs a query, not NULL"):
        connection.execute(f"FROM lance_fts('{articles}', 'body', NULL)")


def test_words_on_the_command_line(articles: str) -> None:
    found = run(articles, "quick fox", "--columns", "id", "--output", "json")
    assert json.loads(found.stdout)[0]["id"] == 1
    both = run(articles, "quick", "--vector", "[0, 1]", "-k", "1", "--columns", "id", "--output", "json")
    assert json.loads(both.stdout)[0].keys() == {"id", "_distance", "_score", "_hybrid_score"}


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["search", *arguments])


def test_the_command_line(path: str) -> None:
    found = run(path, "--vector", "[20, 0]", "-k", "2", "--output", "json")
    assert json.loads(found.stdout) == [
        {"id": 20, "kind": "a", "_distance": 0.0},
        {"id": 19, "kind": "b", "_distance": 1.0},
    ]
    assert json.loads(run(path, "--like-row", "50", "-k", "1", "--columns", "id", "--output", "json").stdout) == [
        {"id": 50, "_distance": 0.0}
    ]
    changed = run(path, "--vector", "[20, 0]", "--since", "first", "--where", "id > 1010", "--output", "json")
    assert [row["id"] for row in json.loads(changed.stdout)] == [1012, 1011]
    assert json.loads(run(f"{path}@1", "--vector", "[11, 0]", "-k", "1", "--output", "json").stdout)[0]["id"] == 11
    assert "10 rows nearest to a vector of 2 values in v" in run(path, "--vector", "[1, 2]", "--explain").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "words, --vector or --like-row"),
        (("--vector", "[1"), "a list of numbers"),
        (("--vector", "[1]"), "has 1 values"),
        (("--like-row", "100000"), "no rows with the row ids 100000"),
    ],
)
def test_errors_of_the_command_line(path: str, arguments: tuple[str, ...], message: str) -> None:
    found = run(path, *arguments)
    assert found.exit_code != 0
    assert message in found.stderr


def test_a_search_is_a_stream_of_arrow(path: str) -> None:
    search = lance_sql.open(path).search([20, 0], k=3, columns=["id"])
    rows = duckdb.connect().from_arrow(search).order("_distance, id").fetchall()
    assert rows == [(20, 0.0), (19, 1.0), (21, 1.0)]


def test_exact_vectors_beside_words_of_an_index(tmp_path: Path) -> None:
    vectors = pa.array([[0, 1], [1, 0], [5, 5]], pa.list_(pa.float32(), 2))
    rows = {"id": [1, 2, 3], "v": vectors, "body": ["the rivers", "the rain", "a river"]}
    table = lance_sql.write(rows, tmp_path / "t.lance")
    table.indices.create("body", "inverted", stem=True, remove_stop_words=True)
    path = str(tmp_path / "t.lance")
    sql = f"SELECT id, _score FROM lance_hybrid_search('{path}', 'v', [0, 1], 'body', 'the river', use_index := {{}})"
    expected = duckdb_rows(sql.format("true") + " ORDER BY id")
    # the index has the stems of words, and no stop words
    assert [score is not None for _, score in expected] == [True, False, True]
    assert duckdb_rows(sql.format("false") + " ORDER BY id") == expected
    found = lance_sql.open(path).search([0.0, 1.0], text="the river", use_index=False).to_table().sort_by("id")
    assert found["_score"].to_pylist() == [score for _, score in expected]
