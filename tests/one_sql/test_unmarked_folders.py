"""Tables in folders whose names do not end in `.lance`: how statements name them, and what errors say about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature

duckdb = pytest.importorskip("duckdb", minversion="2")
DOORS: dict[str, Callable[[str], Any]] = {
    "connection": lambda text: lance_sql.connect().execute(text),
    "sql": lance_sql.sql,
}
ROWS = [(1, "a"), (2, "b"), (3, "c")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Path(lance_sql.write({"id": [1, 2, 3], "s": ["a", "b", "c"]}, tmp_path / "orders").uri)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('SELECT * FROM lance."{}" ORDER BY id', ROWS),
        ('SELECT * FROM LANCE . "{}" AS t WHERE t.id > 2', ROWS[2:]),
        ('SELECT orders.s FROM lance."{}" WHERE orders.id = 1', [("a",)]),
        ('WITH x AS (FROM lance."{}") SELECT count(*) FROM x JOIN lance."{}" AS y ON x.id = y.id', [(3,)]),
        ('SELECT count(*) FROM lance."{}" VERSION AS OF 1', [(3,)]),
        ("SELECT count(*) FROM lance_scan('{}')", [(3,)]),
    ],
)
def test_queries_name_a_folder_behind_the_format(path: Path, door: str, text: str, expected: list[Any]) -> None:
    assert DOORS[door](text.replace("{}", str(path))).fetchall() == expected


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO lance.\"{}\" VALUES (4, 'd')", [*ROWS, (4, "d")]),
        ("UPDATE lance.\"{}\" SET s = 'z' WHERE id = 3", [*ROWS[:2], (3, "z")]),
        ('DELETE FROM lance."{}" WHERE id = 1', ROWS[1:]),
        ('MERGE INTO lance."{}" AS t USING (SELECT 2 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE', ROWS[::2]),
        ('OPTIMIZE lance."{}"', ROWS),
        ("COPY (SELECT 9 AS id, ';' AS s) TO '{}' (FORMAT lance, MODE append)", [*ROWS, (9, ";")]),
        ("COPY (SELECT 9 AS id, 'i' AS s) TO '{}' (MODE overwrite, FORMAT 'lance')", [(9, "i")]),
    ],
)
def test_statements_change_a_folder_behind_the_format(path: Path, door: str, text: str, expected: list[Any]) -> None:
    DOORS[door](text.format(path))
    assert lance_sql.sql(f"SELECT id, s FROM lance_scan('{path}') ORDER BY id").fetchall() == expected


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM '{}'",
        "DESCRIBE '{}'",
        "INSERT INTO '{}' VALUES (4, 'd')",
        "UPDATE '{}' SET s = 'z' WHERE id = 3",
        "DELETE FROM '{}' WHERE id = 1",
        "MERGE INTO '{}' AS t USING (SELECT 2 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "OPTIMIZE '{}'",
    ],
)
def test_errors_say_how_to_name_such_a_folder(path: Path, door: str, text: str) -> None:
    with pytest.raises((duckdb.CatalogException, UnsupportedFeature)) as raised:
        DOORS[door](text.format(path)).fetchall()
    words = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", ())])
    assert f'write lance."{path}"' in words
    assert lance_sql.open(path).version == 1
