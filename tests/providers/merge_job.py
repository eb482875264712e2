"""Merges by Spark for tests of what they need and leave behind.

python merge_job.py measure TABLE     merges a million changes, on a cluster with two workers
python merge_job.py kill TABLE POINT  merges, and dies at a point of the commit
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import lance_sql
from lance_sql.spark import LanceTable
from lance_sql.store.local import LocalStore

CHANGES = 1_000_000


def session(master: str, **settings: str) -> SparkSession:
    builder: Any = SparkSession.builder
    builder = builder.master(master)
    common = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executorEnv.PYSPARK_PYTHON": sys.executable,
    }
    for name, value in (common | settings).items():
        builder = builder.config(name, value)
    made: SparkSession = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def million(spark: SparkSession, num_rows: int) -> DataFrame:
    """Changes of nine tenths of a million rows all over a table, and a tenth of a million new rows."""
    step, updates = num_rows // CHANGES, CHANGES * 9 // 10
    ids = f"IF(id < {updates}, id * {step} + id % {step}, {num_rows} + id - {updates}) AS id"
    return spark.range(0, CHANGES, 1, 8).selectExpr(ids, "-1L AS v", "concat('merged ', id) AS s")


def peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])


def measure(path: str) -> None:
    """Prints by how many bytes the memory of the driver's Python process grows at most."""
    spark = session("local-cluster[2,1,1024]", **{"spark.sql.shuffle.partitions": "32"})
    # what the first merge of a process imports is not for its rows
    warm = LanceTable.for_path(spark, path + ".warm")
    source = spark.range(10_000).selectExpr("id * 10 AS id", "id AS v", "'warm' AS s")
    warm.merge(source, "id").when_matched_update().when_not_matched_insert().execute()
    table = LanceTable.for_path(spark, path)
    merge = table.merge(million(spark, table.dataset().count_rows()), "id").when_matched_update()
    merge = merge.when_not_matched_insert()
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_bytes()
    merge.execute()
    grown = peak_bytes() - before
    spark.stop()
    print(json.dumps(grown))


def kill(path: str, point: int) -> None:
    """Dies before the file number `point // 2` that the driver writes, or after it where the point is odd."""
    spark = session("local[2]", **{"spark.sql.shuffle.partitions": "2"})
    table = LanceTable.for_path(spark, path)
    source = spark.range(5, 35).where("id % 10 <> 0").selectExpr("id", "-1L AS v", "'merged' AS s")
    put, count = LocalStore.put, 0

    def dying(self: LocalStore, path: str, *arguments: Any, **options: Any) -> None:
        nonlocal count
        number, count = count, count + 1
        if number == point // 2 and point % 2 == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        put(self, path, *arguments, **options)
        if number == point // 2:
            os.kill(os.getpid(), signal.SIGKILL)

    LocalStore.put = dying  # type: ignore[method-assign]  # replaced for the test
    table.merge(source, "id").when_matched_update().when_not_matched_insert().execute()
    print(json.dumps({"files": count, "version": lance_sql.open(path).version}))


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        measure(sys.argv[2])
    else:
        kill(sys.argv[2], int(sys.argv[3]))
