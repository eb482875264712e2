"""Parameters of `lance_sql.sql`: values as literals, the same in every engine, and never SQL."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.dialects import syntax_of
from lance_sql.one_sql.parameters import with_values

ENGINES = ["duckdb", "datafusion"]
VALUES: list[Any] = [
    None,
    True,
    7,
    -7,
    2**62,
    1.5,
    -0.1,
    1e300,
    math.inf,
    -math.inf,
    Decimal("12.340"),
    Decimal("-0.001"),
    "a",
    "it's -- '' \\ \\' \" ` $1 ? :x",
    "Köln 🙂\n\t",
    b"\x00\xffab",
    date(2026, 11, 28),
    datetime(2026, 11, 28, 20, 1, 2, 345678),
    datetime(9999, 12, 31, 1),
    datetime(2026, 11, 28, 20, 1, tzinfo=UTC),
    [1, 2],
    np.int32(5),
    np.float64(0.25),
]


def check(value: Any, **options: Any) -> None:
    """The value comes back as it was given, in an engine or session."""
    ((found,),) = lance_sql.sql("SELECT ? AS v", [value], **options).fetchall()
    if isinstance(value, bytes):
        found = bytes(found)
    assert found == (value.item() if isinstance(value, np.generic) else value)
    ((found,),) = lance_sql.sql("SELECT $1 AS v", [math.nan], **options).fetchall()
    assert math.isnan(found)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back(engine: str, value: Any) -> None:
    check(value, engine=engine)


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("SELECT id FROM '{}' WHERE id = ? AND status = ?", [2, "shipped"]),
        ("SELECT id FROM '{}' WHERE status = $2 AND id = $1", [2, "shipped"]),
        ("SELECT id FROM '{}' WHERE status = $Status AND id = $id", {"id": 2, "status": "shipped"}),
        ("SELECT id FROM '{}' WHERE id = $1 OR id = $1", [2]),
        ("SELECT id FROM '{}' WHERE id=?AND id>?", [2, -5]),
        ("SELECT id FROM '{}' WHERE id = 4-? -- ?\n", [2]),
        ("SELECT id FROM '{}' WHERE id = 0-?", [-2]),
        ("SELECT id FROM '{}' WHERE id IN (?, ?) ORDER BY id LIMIT ?", [2, 3, 1]),
        ("SELECT id FROM lance_scan('{}', version => ?) WHERE id = ?", [4, 2]),
        ("SELECT id FROM '{}' VERSION AS OF ? WHERE id = 2", [4]),
    ],
)
def test_places(engine: str, text: str, values: Any) -> None:
    assert lance_sql.sql(text.format("examples/orders.lance"), values, engine).fetchall() == [(2,)]


@pytest.mark.parametrize("name", ["spark", "databricks"])
def test_names_of_spark(name: str) -> None:
    text = "SELECT :a, v:b FROM t WHERE x = :a AND y=:c"
    assert with_values(text, {"a": 1, "c": "it's"}, syntax_of(name)).split() == [
        *["SELECT", "1", ",", "v:b", "FROM", "t", "WHERE", "x", "=", "1", "AND", "y="],
        "'it\\'s'",
    ]
    assert with_values("SELECT $a || ?", {"a": "\\", "1": 2}, syntax_of(name)).split() == [
        "SELECT",
        "'\\\\'",
        "||",
        "2",
    ]


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_statements_that_write(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [1, 2], "s": ["a", "b"]}, path)
    lance_sql.sql(f"INSERT INTO '{path}' VALUES (?, ?)", [3, "it's"], engine)
    lance_sql.sql(f"UPDATE '{path}' SET s = $s WHERE id = $id", {"s": "x", "id": 1}, engine)
    lance_sql.sql(f"DELETE FROM '{path}' WHERE id = ?", (2,), engine)
    table = lance_sql.open(path)
    assert table.to_table().sort_by("id").to_pylist() == [{"id": 1, "s": "x"}, {"id": 3, "s": "it's"}]
    recorded = [each.statement for each in table.history()][1:]
    assert recorded[0] == f"INSERT INTO '{path}' VALUES (?, ?)"


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("SELECT ?", [], "0 values are given for the parameters of SELECT \\?: no value for \\?"),
        ("SELECT ?", [1, 2], "2 values .* no parameter 2"),
        ("SELECT $a", {"b": 1}, "no value for \\$a"),
        ("SELECT '?'", [1], "no parameter 1"),
        ("SELECT ?", 5, "Parameters must be a list of values, or a dict"),
        ("SELECT ?", [object()], "The value of \\$1 is a object without an SQL literal"),
        ("SELECT ?", ["a\0b"], "a str without an SQL literal"),
        ("SELECT ?", [timedelta(1)], "a timedelta without"),
        ("SELECT ?", [Decimal("1e50")], "a Decimal without"),
        ("SELECT ?", [time(1, 2, tzinfo=UTC)], "a time without"),
    ],
)
def test_mistakes(text: str, values: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message) as raised:
        lance_sql.sql(text, values)
    assert len(str(raised.value).splitlines()) == 1


def test_an_engine_in_place_of_values() -> None:
    assert lance_sql.sql("SELECT 1", "datafusion").fetchall() == [(1,)]
    assert lance_sql.sql("SELECT ?", [UUID(int=5)], "duckdb").fetchall() == [(str(UUID(int=5)),)]
    with pytest.raises(InvalidArgument, match="given twice"):
        lance_sql.sql("SELECT 1", "duckdb", "datafusion")


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
@example(texts=["'", "--", "/*", "$$", "\\", "?", "';DROP TABLE x;--"])
@given(
    texts=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=4)
)
@settings(max_examples=25, deadline=None)
def test_texts_are_never_sql(engine: str, texts: list[str]) -> None:
    names = ", ".join(f"? AS v{number}" for number in range(len(texts)))
    assert lance_sql.sql(f"SELECT {names}", texts, engine).fetchall() == [tuple(texts)]
