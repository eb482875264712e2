"""A frame or view stays at the versions of its first use, as docs/pyspark.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

import lance_sql

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

from pyspark.sql import SparkSession


@pytest.mark.parametrize("changes", [False, True])
def test_a_frame_stays_at_its_first_use(spark: SparkSession, tmp_path: Path, changes: bool) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write({"id": [1]}, path)
    reader = spark.read.format("lance")
    reader = reader.option("readChangeFeed", "true").option("startingVersion", 1) if changes else reader
    frame = reader.load(path)
    assert frame.count() == 1
    lance_sql.write({"id": [2]}, path, mode="append")
    assert frame.count() == frame.where("id > 0").count() == 1
    assert reader.load(path).count() == 2
