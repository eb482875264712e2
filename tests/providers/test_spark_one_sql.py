"""`lance_sql.sql` in Spark."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlglot

import lance_sql
from lance_sql.errors import UnsupportedFeature
from lance_sql.one_sql.query_rows import Rows
from lance_sql.providers.spark import data_source as lance_spark
from tests.one_sql.test_narrowing import Queries, tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lance_sql.dataset import Dataset

ORDERS = Path(__file__).parents[2] / "examples" / "orders.lance"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (f"'{ORDERS}'", 370),
        (f"lance.`{ORDERS}` VERSION AS OF 4", 400),
        (f"lance_scan('{ORDERS}', as_of => '2026-11-21 04:35:31Z')", 300),
        (f"'{ORDERS}' CHANGES FROM VERSION 5 TO VERSION 6", 86),
        (f"lance_deletions('{ORDERS}', 5, 6)", 50),
        (f"lance_row_history('{ORDERS}')", 864),
        (f"lance_versions('{ORDERS}')", 9),
    ],
)
def test_tables_are_found(spark: SparkSession, table: str, expected: int) -> None:
    assert lance_sql.sql(f"SELECT count(*) FROM {table}", session=spark).fetchall() == [(expected,)]


def test_only_columns_that_a_query_names_are_read(spark: SparkSession) -> None:
    text = f"SELECT max(o.id), count(*) FROM '{ORDERS}' o WHERE o.status = 'open'"
    rows = lance_sql.sql(text, session=spark)
    assert rows.fetchall() == [(420, 104)]
    star = lance_sql.sql(f"SELECT * FROM '{ORDERS}' LIMIT 1", session=spark).to_table()
    assert star.column_names == lance_sql.open(ORDERS).schema.names


def test_random_queries_have_the_answer_of_whole_tables(spark: SparkSession, tmp_path: Path) -> None:
    for name, table in tables().items():
        dataset = lance_sql.write(table, tmp_path / f"{name}.lance")
        lance_spark.register_table(spark, name, dataset)
    queries, num_rows = Queries(5), 0
    for _ in range(5):
        text = sqlglot.transpile(queries.query(), "duckdb", "spark")[0]
        ours = re.sub(r"\bt([012])\b", rf"lance.`{tmp_path}/t\1.lance`", text)
        expected = [tuple(row) for row in spark.sql(text).collect()]
        found = lance_sql.sql(ours, session=spark).fetchall()
        assert sorted(map(repr, found)) == sorted(map(repr, expected)), text
        num_rows += len(found)
    assert num_rows > 5


def test_conditions_are_passed_on(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # of which the session has no frames yet
    orders = shutil.copytree(ORDERS, tmp_path / "orders.lance")
    asked: list[tuple[list[str], str | None]] = []
    read = lance_spark.read

    def recorded(session: SparkSession, dataset: Dataset, columns: list[str], filter: str | None) -> DataFrame:
        asked.append((sorted(columns), filter))
        frame: DataFrame = read(session, dataset, columns, filter)
        return frame

    monkeypatch.setattr(lance_spark, "read", recorded)
    text = f"""
        WITH recent AS (SELECT * FROM '{orders}' WHERE amount < 900)
        SELECT count(*) FROM recent JOIN '{orders}' AS o ON recent.id = o.id AND o.status = 'open' WHERE recent.id > 100
    """
    with_all = lance_sql.open(orders).scan(["id"], "status = 'open' AND amount < 900 AND id > 100")
    assert lance_sql.sql(text, session=spark).fetchall() == [(with_all.count_rows(),)]
    assert sorted(asked) == [
        (["amount", "id"], '("amount" < 900) AND ("id" > 100)'),
        (["id", "status"], "(\"status\" = 'open')"),
    ]


def test_frames_are_kept_as_long_as_the_version_is_the_same(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    num_made = 0
    read = lance_spark.read

    def counted(*arguments: Any) -> DataFrame:
        nonlocal num_made
        num_made += 1
        frame: DataFrame = read(*arguments)
        return frame

    monkeypatch.setattr(lance_spark, "read", counted)
    path = tmp_path / "t.lance"
    text = f"SELECT sum(a.x) FROM '{path}' AS a JOIN '{path}' AS b ON a.x = b.x WHERE a.x > 1 AND b.x > 1"
    for values in ([1, 2, 3], [1, 2, 30], [1, 200, 300]):
        if path.exists():
            # versions of the same numbers
            shutil.rmtree(path)
        lance_sql.write({"x": values}, path)
        for _ in range(2):
            assert lance_sql.sql(text, session=spark).fetchall() == [(sum(values[1:]),)]
    lance_sql.open(path).delete("x = 300")
    assert lance_sql.sql(text, session=spark).fetchall() == [(200,)]
    assert num_made == 4


def test_duckdbs_dialect_is_translated(spark: SparkSession) -> None:
    text = f"SELECT 7 // 2 AS a, * EXCLUDE (id) FROM '{ORDERS}' QUALIFY row_number() OVER (ORDER BY id) = 1"
    assert lance_sql.sql(text, session=spark, dialect="duckdb").to_pylist()[0]["a"] == 3


def test_features_missing_from_spark_are_named(spark: SparkSession) -> None:
    with pytest.raises(UnsupportedFeature, match="Spark does not support ASOF JOIN"):
        lance_sql.sql("SELECT * FROM a ASOF JOIN b ON a.id >= b.id", session=spark, dialect="duckdb")
    with pytest.raises(UnsupportedFeature, match="Spark does not support PIVOT"):
        lance_sql.sql(f"PIVOT '{ORDERS}' ON status USING count(*)", session=spark, dialect="duckdb")


def test_no_view_stays_behind(spark: SparkSession) -> None:
    _ = lance_sql.sql(f"SELECT 1 FROM '{ORDERS}' LIMIT 1", session=spark).fetchall()
    assert [view.name for view in spark.catalog.listTables() if view.name.startswith("__lance")] == []


def test_statements_that_write_are_computed_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    at = [datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in (0, 6, 12)]
    rows = {"id": [1, 2, 3], "s": ["one word", "b", "c"], "at": at, "f": [0.0, 0.0, 0.0]}
    before = lance_sql.write(rows, path).scan(["id", "_rowid"]).to_table().to_pylist()
    spark.createDataFrame([(2, "from a view")], ["n", "word"]).createOrReplaceTempView("words")
    zone = spark.conf.get("spark.sql.session.timeZone")
    assert zone is not None
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        # a function that DuckDB does not have, the session's zone, and a decimal
        text = f"UPDATE '{path}' SET s = initcap(s), f = 4.35 WHERE at < '2024-01-01 00:00:00'"
        assert lance_sql.sql(text, session=spark).fetchall()[0][2:] == (0, 1, 0)
        text = f"UPDATE '{path}' SET s = (SELECT max(word) FROM words) WHERE id IN (SELECT n FROM words)"
        assert lance_sql.sql(text, session=spark).fetchall()[0][2:] == (0, 1, 0)
        text = f"DELETE FROM '{path}' WHERE date_format(at, 'HH') = '07'"
        assert lance_sql.sql(text, session=spark).fetchall()[0][2:] == (0, 0, 1)
        text = f"INSERT INTO '{path}' (id, f) VALUES (4, 19.99), (5, 1e0)"
        assert lance_sql.sql(text, session=spark).fetchall()[0][2:] == (2, 0, 0)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    found = lance_sql.open(path).scan(["id", "s", "f", "_rowid"]).to_table().sort_by("id").to_pylist()
    assert [(row["id"], row["s"], row["f"]) for row in found] == [
        (1, "One Word", 4.35),
        (2, "from a view", 0.0),
        (4, None, 19.99),
        (5, None, 1.0),
    ]
    assert [row["_rowid"] for row in found[:2]] == [row["_rowid"] for row in before[:2]]
    with pytest.raises(UnsupportedFeature, match="Spark cannot compute MERGE"):
        lance_sql.sql(f"MERGE INTO '{path}' t USING words ON t.id = words.n WHEN MATCHED THEN DELETE", session=spark)


def test_a_count_of_all_rows_has_the_form_of_spark(spark: SparkSession) -> None:
    for counted in ("count(*)", "count(1) AS n"):
        found = lance_sql.sql(f"SELECT {counted} FROM '{ORDERS}' AS t", session=spark).to_table()
        expected = lance_sql.sql(f"SELECT {counted} FROM (SELECT * FROM '{ORDERS}')", session=spark).to_table()
        assert (found, found.schema) == (expected, expected.schema)


@pytest.mark.parametrize("dialect", [None, "duckdb"])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("s NOT LIKE 'a%'", [2]),
        ("NOT (s NOT LIKE 'a%')", [1, 3]),
        ("s NOT LIKE 'a%' OR id = 3", [2, 3]),
        ("id IN (SELECT id FROM {t} WHERE s NOT LIKE 'a%')", [2]),
    ],
)
def test_a_pattern_that_rows_must_not_have(
    spark: SparkSession, tmp_path: Path, dialect: str | None, condition: str, expected: list[int]
) -> None:
    path = lance_sql.write({"id": [1, 2, 3], "s": ["apple", "banana", "avocado"]}, tmp_path / "t.lance").uri
    where = condition.format(t=f"'{path}'")
    rows = lance_sql.sql(f"SELECT id FROM '{path}' WHERE {where} ORDER BY id", session=spark, dialect=dialect)
    assert rows.fetchall() == [(each,) for each in expected]


def test_what_is_overwritten_keeps_the_rows_of_its_query(spark: SparkSession, tmp_path: Path) -> None:
    path = lance_sql.write({"id": [1, 2, 3], "s": ["apple", "banana", "avocado"]}, tmp_path / "t.lance").uri
    lance_sql.sql(f"INSERT OVERWRITE '{path}' SELECT * FROM '{path}' WHERE s NOT LIKE 'a%'", session=spark)
    assert lance_sql.open(path).to_table().to_pydict() == {"id": [2], "s": ["banana"]}


def test_spark_gets_its_own_text_as_typed(spark: SparkSession, tmp_path: Path) -> None:
    path = lance_sql.write({"id": [1, 2], "s": ["it's", "a\\b"]}, tmp_path / "t.lance").uri
    own = r"""SELECT 'it''s' AS a, "q" AS b, r'a\d' AS c, s = 'it''s' AS d, 5L AS e FROM {} WHERE s = 'it''s' """
    spark.createDataFrame([(1, "it's"), (2, "a\\b")], "id long, s string").createOrReplaceTempView("typed_own")
    rows = lance_sql.sql(own.format(f"'{path}'"), session=spark)
    assert rows.fetchall() == [tuple(row) for row in spark.sql(own.format("typed_own")).collect()]
    assert isinstance(rows, Rows)
    assert "'it''s'" in rows.statement
    lance_sql.sql(f"UPDATE '{path}' SET s = 'b''c' WHERE s = 'it''s'", session=spark)
    lance_sql.sql(f"INSERT INTO '{path}' VALUES (3, 'd''e')", session=spark)
    assert sorted(lance_sql.open(path).to_table()["s"].to_pylist()) == ["a\\b", "b'c", "d'e"]


def test_syntax_that_spark_lacks_is_translated(spark: SparkSession) -> None:
    text = f"SELECT DISTINCT ON (status) status, id FROM '{ORDERS}' ORDER BY status, id"
    expected = lance_sql.sql(text, dialect="duckdb").fetchall()
    assert lance_sql.sql(text, session=spark).fetchall() == expected


def test_new_tables_have_columns_that_may_be_null(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "new.lance")
    query = f"SELECT id, 'new' AS state, count(*) AS n, struct(1 AS a) AS p FROM '{ORDERS}' GROUP BY id"
    lance_sql.sql(f"CREATE TABLE '{path}' AS {query}", session=spark)
    schema = lance_sql.open(path).schema
    assert [field.nullable for field in schema] == [True] * 4
    assert schema.field("p").type.field("a").nullable
    lance_sql.sql(f"INSERT INTO '{path}' (id) VALUES (2)", session=spark)
    lance_sql.sql(f"INSERT OVERWRITE '{path}' SELECT 5L, NULL, NULL, NULL", session=spark)
    assert lance_sql.open(path).count_rows() == 1


def test_a_type_that_arrow_lacks_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match="VARIANT"):
        lance_sql.sql(f"CREATE TABLE '{tmp_path}/t.lance' (id INT, x VARIANT)", session=spark)
