"""queries/*.slt in Spark, in one session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lance_sql
from tests.documents import ROOT
from tests.queries import SHARED, about_times, records, write_orders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.stem)
def test_shared_queries(spark: SparkSession, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")
    for record in records(path):
        record.check(lambda sql: lance_sql.sql(sql, session=spark, dialect="duckdb").fetchall())


def test_tables_of_this_library(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_orders(tmp_path / "orders.lance")
    monkeypatch.chdir(tmp_path)
    (path,) = (each for each in SHARED if each.stem == "time_travel")
    for record in records(path):
        if not about_times(record):
            record.check(lambda sql: lance_sql.sql(sql, session=spark, dialect="duckdb").fetchall())
