"""Types that only DuckDB has: what of them comes into a table is exact, or refused by name."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, UnsupportedFeature


@pytest.mark.parametrize(
    "value",
    ["5::UHUGEINT", "[5::UHUGEINT]", "{'a': '12:00:00+05'::TIMETZ}", "'12:00:00+05'::TIMETZ", "MAP {1: '101'::BIT}"],
)
def test_types_that_duckdb_hands_over_as_others_are_refused_by_name(tmp_path: Path, value: str) -> None:
    connection = duckdb.connect()
    with pytest.raises(UnsupportedFeature, match=r"Column 'v': DuckDB returns (UHUGEINT|TIME WITH TIME ZONE|BIT) as"):
        lance_sql.write(connection.sql(f"SELECT {value} AS v"), tmp_path / "t.lance")
    with pytest.raises(UnsupportedFeature, match="Column 'v'"):
        lance_sql.sql(f"CREATE TABLE '{tmp_path}/t.lance' AS SELECT {value} AS v")
    with pytest.raises(UnsupportedFeature, match="Column 'v'"):
        lance_sql.sql(f"SELECT {value} AS v")
    assert not (tmp_path / "t.lance").exists()
    # in another type they are what they are
    lance_sql.sql(f"CREATE TABLE '{tmp_path}/t.lance' AS SELECT ({value})::VARCHAR AS v")
    text = connection.execute(f"SELECT ({value})::VARCHAR").fetchall()
    assert lance_sql.sql(f"FROM '{tmp_path}/t.lance'").fetchall() == text


def test_integers_with_more_digits_than_a_decimal_are_refused(tmp_path: Path) -> None:
    connection = duckdb.connect()
    digits = "9" * 38
    lance_sql.write(connection.sql(f"SELECT {digits}::HUGEINT AS v"), tmp_path / "t.lance")
    assert lance_sql.open(tmp_path / "t.lance").to_table()["v"][0].as_py() == int(digits)
    with pytest.raises(InvalidArgument, match=r"'v' .*does not fit in precision"):
        lance_sql.write(connection.sql(f"SELECT 1{'0' * 38}::HUGEINT AS v"), tmp_path / "t.lance", mode="append")


def test_very_long_integers_come_back_or_are_refused(tmp_path: Path) -> None:
    connection = lance_sql.connect()
    text = "SELECT unnest([5::BIGNUM, -77::BIGNUM, 123456789012345678901234567890123456789012345678901::BIGNUM]) AS v"
    if duckdb.__version__.startswith("1."):
        with pytest.raises(UnsupportedFeature, match="BIGNUM"):
            lance_sql.write(connection.sql(text), tmp_path / "t.lance")
        return
    lance_sql.write(connection.sql(text), tmp_path / "t.lance")
    found = connection.sql(f"SELECT v, typeof(v) FROM '{tmp_path}/t.lance' ORDER BY 1").fetchall()
    assert found == connection.sql(f"SELECT v, typeof(v) FROM ({text}) ORDER BY 1").fetchall()


@pytest.mark.parametrize("unnamed", ["{0}::STRUCT(a INT)[2]", "{{'m': {0}::STRUCT(a INT)[2]}}"])
def test_arrays_of_structs_have_items(tmp_path: Path, unnamed: str) -> None:
    connection = lance_sql.connect()
    value = unnamed.format("[{'a': 1}, {'a': 2}]")
    expected = connection.execute(f"SELECT {value}").fetchall() * 4
    path = tmp_path / "t.lance"
    lance_sql.sql(f"CREATE TABLE '{path}' AS SELECT {value} AS x", connection=connection)
    lance_sql.sql(f"INSERT INTO '{path}' SELECT {value}", connection=connection)
    lance_sql.write(connection.sql(f"SELECT {value} AS x"), path, mode="append")
    lance_sql.write(lance_sql.open(path).scan(limit=1), path, mode="append")
    table = lance_sql.open(path).add_columns({"y": "x"}).update({"x": "x"}, "true")
    for name in ("x", "y"):
        assert connection.execute(f"SELECT {name} FROM '{path}'").fetchall() == expected
        assert "item" in str(table.schema.field(name).type)
    lance_sql.materialize(f"SELECT x FROM '{path}'", tmp_path / "made.lance")
    assert lance_sql.open(tmp_path / "made.lance").count_rows() == 4


@pytest.mark.parametrize("value", ["'101'::BIT", "5::UHUGEINT", "'12:00:00+05'::TIMETZ"])
def test_expressions_of_types_that_duckdb_exports_otherwise_are_refused(tmp_path: Path, value: str) -> None:
    table = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    with pytest.raises(UnsupportedFeature, match="DuckDB returns"):
        table.add_columns({"v": value})


def test_list_views_and_run_ends_of_duckdb_are_lists_and_values(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute("SET arrow_output_list_view = true")
    query = "SELECT [1, 2, NULL] AS a, {'x': [[1], NULL]} AS b, NULL::INT[] AS c"
    table = lance_sql.write(connection.sql(query), tmp_path / "t.lance")
    assert table.to_table().to_pylist() == [{"a": [1, 2, None], "b": {"x": [[1], None]}, "c": None}]
