"""Functions of constants in filters: the rows that DuckDB finds, or an error that names the function."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature

ROWS = pa.table(
    {"id": range(8), "s": ["ab", "AB", "Ab", None, "", "ä", " ab ", "abc"], "n": pa.array([-3, 3, 2, 0, None, 1, 4, 5])}
)
SAME = [
    "lower(s) = lower('AB')",
    "s = upper('ab')",
    "s = lower('Ä')",
    "s IN (upper('ab'), lower('ABC'))",
    "s LIKE lower('A%')",
    "starts_with(s, upper('a'))",
    "trim(s) = trim('  ab ')",
    "ltrim(s) = ltrim(' ab ')",
    "rtrim(s) = rtrim(' ab ')",
    "s = 'a' || 'b'",
    "s = concat('a', NULL, 'b')",
    "s = 'a' || NULL",
    "s = lower(NULL)",
    "s = concat(NULL, NULL)",
    "s = substring('xabx', 2, 2)",
    "s = left('abx', 2)",
    "n = length('äöü')",
    "n = strlen('ä')",
    "n = abs(-3)",
    "abs(n) = abs(-3)",
    "n < abs(-2.5)",
    "n > abs(-1e0)",
    "length(s) = length(lower('AB'))",
    "s = lower(upper('a') || trim(' B '))",
    "lower('AB') = 'ab'",
    "regexp_matches('ab', 'a.') AND n > 2",
    "n BETWEEN abs(-1) AND length('abc')",
    "s <> lower('AB') OR s IS NULL",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    return lance_sql.write(ROWS, tmp_path_factory.mktemp("constants") / "t.lance")


@pytest.mark.parametrize("condition", SAME)
def test_duckdb_finds_the_same_rows(table: lance_sql.Dataset, condition: str) -> None:
    connection = duckdb.connect()
    connection.register("native", ROWS)
    expected = connection.execute(f"SELECT id FROM native WHERE {condition} ORDER BY id").fetchall()
    assert [(row["id"],) for row in table.scan(["id"], condition).to_table().to_pylist()] == expected


def test_changes_take_them(tmp_path: Path) -> None:
    table = lance_sql.write(ROWS, tmp_path / "t.lance")
    assert table.delete("lower(s) = lower('AB')").count_rows() == 5
    lance_sql.sql(f"DELETE FROM '{table.uri}' WHERE s = concat('a', 'bc')", connection=lance_sql.connect())
    assert table.latest().count_rows() == 4


@pytest.mark.parametrize(
    "condition",
    [
        "s = soundex('ab')",
        "s = lower(1)",
        "n = abs('a')",
        "s = lower(true)",
        "s = concat('a', 1)",
        "n = length(1)",
        "n = abs(true)",
    ],
)
def test_other_functions_and_types_are_refused(table: lance_sql.Dataset, condition: str) -> None:
    with pytest.raises(UnsupportedFeature, match="not supported in a filter"):
        table.count_rows(condition)
