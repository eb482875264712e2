"""A statement is parsed once, through each door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot.dialects.dialect import Dialect

import lance_sql
from lance_sql.providers.duckdb.protocol import has_sources

CONNECTION = pytest.param(
    "connection", marks=pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 parse no statements")
)


@pytest.mark.parametrize("door", ["duckdb", "datafusion", CONNECTION])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM '{}' VERSION AS OF 1 WHERE id < 3",
        "INSERT INTO '{}' SELECT id + 10, v FROM '{}'",
        "DELETE FROM '{}' WHERE id = 1",
        "UPDATE '{}' SET v = v + 1 WHERE id = 2",
    ],
)
def test_a_statement_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str, statement: str) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(pa.table({"id": [1, 2, 3], "v": [1, 2, 3]}), path)
    connection = lance_sql.connect()
    texts: list[str] = []
    parse = Dialect.parse

    def counted(self: Dialect, sql: str, **options: Any) -> Any:
        texts.append(sql)
        return parse(self, sql, **options)

    monkeypatch.setattr(Dialect, "parse", counted)
    text = statement.format(*[path] * statement.count("{}"))
    if door == "connection":
        connection.execute(text).fetchall()
    else:
        lance_sql.sql(text, engine=door).fetchall()
    assert [each for each in texts if str(path) in each] == [text]
