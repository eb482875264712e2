"""ADD COLUMNS FROM and UPDATE COLUMNS FROM: values of columns by the addresses of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import CommitConflict, LanceError
from lance_sql.writes.statements import column_changes


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"id": [1, 2, 3], "v": [10, 20, 30]}, tmp_path / "t.lance").append({"id": [4], "v": [40]})


@pytest.fixture
def connection(table: Dataset) -> Any:
    connection = lance_sql.connect()
    connection.execute(
        "CREATE TEMP VIEW moved AS SELECT _rowaddr, v * 2 AS v, id || 'x' AS s"
        f" FROM lance_scan('{table.uri}') WHERE id <> 2"
    )
    return connection


def rows(table: Dataset) -> list[tuple[Any, ...]]:
    return sorted(zip(*table.latest().to_table().to_pydict().values(), strict=True))


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_added_columns(table: Dataset, connection: Any, dialect: str) -> None:
    text = f"ALTER TABLE '{table.uri}' ADD COLUMNS s FROM moved"
    lance_sql.sql(text, connection=connection, dialect=dialect)
    assert rows(table) == [(1, 10, "1x"), (2, 20, None), (3, 30, "3x"), (4, 40, "4x")]
    assert table.latest().version == table.version + 1


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_updated_columns(table: Dataset, connection: Any, dialect: str) -> None:
    text = f"ALTER TABLE '{table.uri}' UPDATE COLUMNS v FROM moved"
    lance_sql.sql(text, connection=connection, dialect=dialect)
    assert rows(table) == [(1, 20), (2, 20), (3, 60), (4, 80)]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("ADD COLUMNS v FROM moved", "has a column 'v' already"),
        ("ADD COLUMNS nothing FROM moved", "nothing"),
        ("ADD COLUMNS k FROM (SELECT 77 AS _rowaddr, 1 AS k)", "1 values are for rows that the table does not have"),
        ("ADD COLUMNS k FROM (SELECT 0 AS _rowaddr, 1 AS k UNION ALL SELECT 0, 2)", "occurs twice"),
        ("ADD COLUMNS k FROM (SELECT NULL AS _rowaddr, 1 AS k)", "is NULL"),
        ("UPDATE COLUMNS nothing FROM moved", "nothing"),
        ("UPDATE COLUMNS v FROM (SELECT 0 AS _rowaddr, 1 AS v UNION ALL SELECT 0, 2)", "Two rows"),
        ("UPDATE COLUMNS v", "FROM is expected"),
    ],
)
def test_refused_values(table: Dataset, connection: Any, words: str, error: str) -> None:
    with pytest.raises(LanceError, match=error):
        lance_sql.sql(f"ALTER TABLE '{table.uri}' {words}", connection=connection)
    assert table.latest().version == table.version


def test_values_for_an_earlier_version_are_refused(table: Dataset) -> None:
    values = table.scan(["_rowaddr", "v"]).to_table().rename_columns(["_rowaddr", "w"])
    table.delete("id = 1")
    with pytest.raises(CommitConflict, match="run it again"):
        column_changes.add_looked_up(table.snapshot, values)
