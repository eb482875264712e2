"""queries/*.slt in Spark, in one session; and over a table that Spark wrote, in every engine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lance_sql
from lance_sql.spark import LanceTable
from tests.documents import ROOT
from tests.queries import NEEDS_TRANSLATION, SHARED, about_times, records, write_orders

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# of PySpark and pandas
pytestmark = pytest.mark.filterwarnings("ignore")

ORDERS = str(ROOT / "examples" / "orders.lance")


@pytest.fixture(scope="module")
def written_by_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of orders.lance, with the history of the example: every change of rows is made by Spark's tasks."""
    folder = tmp_path_factory.mktemp("spark")
    path = str(folder / "orders.lance")

    def rows(version: int, filter: str | None = None) -> DataFrame:
        columns = lance_sql.open(ORDERS, version=version).schema.names
        frame: DataFrame = lance_sql.read_spark(spark, ORDERS, columns, filter, version=version).coalesce(1)
        return frame

    rows(1).write.format("lance").mode("append").save(path)
    rows(2, "_row_created_at_version = 2").write.format("lance").mode("append").save(path)
    # a new column is a matter of the driver
    countries = lance_sql.open(ORDERS, version=3).scan(["customer", "country"]).to_table()
    known = countries.group_by(["customer", "country"]).aggregate([]).to_pylist()
    cases = " ".join(f"WHEN '{row['customer']}' THEN '{row['country']}'" for row in known)
    lance_sql.open(path).add_columns({"country": f"CASE customer {cases} END"})
    table = LanceTable.for_path(spark, path)
    table.update({"status": "'paid'"}, "status = 'open' AND created < TIMESTAMP '2026-01-08 00:00:00'")
    table.delete("status = 'cancelled' AND id <= 300").tags.create("audited")
    changed = rows(6, "_row_last_updated_at_version = 6")
    table.merge(changed, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    table.compact()
    rows(9, "_row_created_at_version = 9").write.format("lance").mode("append").save(path)
    lance_sql.open(path).tags.create("published")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.stem)
def test_shared_queries_over_a_table_of_spark(
    written_by_spark: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written_by_spark)
    connection = lance_sql.connect()
    for record in records(path):
        if about_times(record):
            continue
        record.check(lambda sql: lance_sql.sql(sql, "duckdb").fetchall())
        record.check(lambda sql: lance_sql.sql(sql, "datafusion", dialect="duckdb").fetchall())
        if path.name not in NEEDS_TRANSLATION:
            record.check(lambda sql: connection.execute(sql).fetchall())


@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.stem)
def test_shared_queries(spark: SparkSession, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")
    for record in records(path):
        record.check(lambda sql: lance_sql.sql(sql, session=spark, dialect="duckdb").fetchall())


@pytest.mark.slow
def test_shared_queries_over_tables_of_other_writers(
    spark: SparkSession, written_by_spark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_orders(tmp_path / "orders.lance")
    for folder in (tmp_path, written_by_spark):
        check_all(spark, folder, SHARED, monkeypatch)


def check_all(spark: SparkSession, folder: Path, paths: Iterable[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for path in paths:
        for record in records(path):
            if not about_times(record):
                record.check(lambda sql: lance_sql.sql(sql, session=spark, dialect="duckdb").fetchall())
