"""Statements about a branch, named behind the path of a table or behind its name in a catalog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli.main import main
from lance_sql.errors import InvalidArgument

BRANCH = "load/1"
STATEMENTS = {
    "insert": ("INSERT INTO {t} VALUES (3, 'c')", [(1, "a"), (2, "b"), (3, "c")]),
    "update": ("UPDATE {t} SET v = 'z' WHERE id = 1", [(1, "z"), (2, "b")]),
    "delete": ("DELETE FROM {t} WHERE id = 2", [(1, "a")]),
    "overwrite": ("INSERT OVERWRITE {t} SELECT 7 AS id, 'n' AS v", [(7, "n")]),
    "merge": (
        "MERGE INTO {t} AS t USING (SELECT 2 AS id, 'm' AS v UNION ALL SELECT 9, 'n') AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
        [(1, "a"), (2, "m"), (9, "n")],
    ),
    "optimize": ("OPTIMIZE {t}", [(1, "a"), (2, "b")]),
    "restore": ("RESTORE {t} TO VERSION AS OF 1", [(1, "a"), (2, "b")]),
}
NAMES = {
    "path": f"'t.lance@{BRANCH}'",
    "quoted": f'"t.lance@{BRANCH}"',
    "unquoted": f'lake.t@"{BRANCH}"',
    "in a catalog": f'lake."t@{BRANCH}"',
}
DOORS: dict[str, Callable[[duckdb.DuckDBPyConnection, str], Any]] = {
    "sql": lambda connection, text: lance_sql.sql(text, connection=connection),
    "connection": lambda connection, text: connection.execute(text).fetchall(),
}


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> duckdb.DuckDBPyConnection:
    monkeypatch.chdir(tmp_path)
    lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, "t.lance").branches.create(BRANCH)
    made: duckdb.DuckDBPyConnection = lance_sql.connect(catalog=".")
    return made


def rows(branch: str | None = None) -> list[tuple[int, str]]:
    return sorted((row["id"], row["v"]) for row in lance_sql.open("t.lance", branch=branch).to_table().to_pylist())


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_changes_the_branch_alone(
    connection: duckdb.DuckDBPyConnection, statement: str, name: str, door: str
) -> None:
    if door == "connection" and duckdb.__version__ < "2":
        pytest.skip("DuckDB 1.5 runs no statements of this library on connections")
    text, expected = STATEMENTS[statement]
    DOORS[door](connection, text.format(t=NAMES[name]))
    assert rows(BRANCH) == expected
    assert rows() == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("name", NAMES)
def test_a_query_reads_the_branch(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    lance_sql.open("t.lance", branch=BRANCH).delete("id = 1")
    text = f"SELECT id FROM {NAMES[name]}"
    assert lance_sql.sql(text, connection=connection).fetchall() == [(2,)]
    if duckdb.__version__ >= "2" or name == "path":
        assert connection.execute(text).fetchall() == [(2,)]


@pytest.mark.parametrize("name", ["'t.lance@1'", "'t.lance@no'", 'lake."t@1"', "lake.t@no"])
def test_a_version_or_an_unknown_name_is_refused(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    with pytest.raises(InvalidArgument, match=r"Changes apply to the newest version: .* or a branch, .*@BRANCH"):
        lance_sql.sql(f"DELETE FROM {name} WHERE id = 1", connection=connection)
    assert rows() == [(1, "a"), (2, "b")]


def test_a_name_that_reads_as_a_tag_does_not_write_to_a_branch(connection: duckdb.DuckDBPyConnection) -> None:
    table = lance_sql.open("t.lance")
    table.branches.create("both")
    table.tags.create("both")
    with pytest.raises(InvalidArgument, match="without @both, or a branch"):
        lance_sql.sql("DELETE FROM 't.lance@both' WHERE id = 1", connection=connection)
    result = CliRunner().invoke(main, ["delete", "t.lance@both", "--where", "id = 1", "--yes"])
    assert "without @both" in result.stderr
    assert rows("both") == rows() == [(1, "a"), (2, "b")]


def test_a_branch_is_not_dropped_as_a_table(connection: duckdb.DuckDBPyConnection) -> None:
    for text in ("DROP TABLE {}", "ALTER TABLE {} RENAME TO 'u.lance'"):
        with pytest.raises(InvalidArgument, match="is the branch 'load/1' of"):
            lance_sql.sql(text.format(NAMES["path"]), connection=connection)
    assert rows(BRANCH) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("statement", [name for name in STATEMENTS if name != "merge"])
def test_datafusion_changes_the_branch_alone(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    text, expected = STATEMENTS[statement]
    lance_sql.sql(text.format(t=NAMES["path"]), engine="datafusion")
    assert rows(BRANCH) == expected
    assert rows() == [(1, "a"), (2, "b")]
