"""A job on a cluster of Spark of its own: a master, two workers in processes of their own, speculation on.

python cluster_job.py FOLDER     writes, merges, streams and compacts a table there; executors are killed in the middle
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

import lance_sql
from lance_sql.spark import LanceTable, write


def parent(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("PPid:")).split()[1])


def killing_once(marker: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, but the first task of its kind takes its executor with it after a batch."""
    for batch in batches:
        yield batch
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 1:
            try:
                marker.touch(exist_ok=False)
            except FileExistsError:
                continue
            # a worker of Python, its daemon, the executor
            os.kill(parent(os.getppid()), signal.SIGKILL)


def main(folder: Path) -> None:
    builder: Any = SparkSession.builder
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.enabled": "false",
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.5",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
        "spark.executorEnv.PYSPARK_PYTHON": sys.executable,
    }
    builder = builder.master("local-cluster[2,1,1024]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    path, copy = folder / "t.lance", folder / "copy.lance"

    rows = spark.range(0, 20_000, 1, 4).selectExpr("id", "id % 7 AS v", "concat('x', id) AS s")
    write(rows.mapInArrow(lambda batches: killing_once(folder / "killed-write", batches), rows.schema), path)
    table = LanceTable.for_path(spark, path)
    news = spark.range(10_000, 24_000, 1, 4).selectExpr("id", "-1L AS v", "'merged' AS s")
    news = news.mapInArrow(lambda batches: killing_once(folder / "killed-merge", batches), news.schema)
    merged = table.merge(news, "id").when_matched_update().when_not_matched_insert().execute()
    compacted = table.compact(target_rows=9_000)
    stream = spark.readStream.format("lance").load(str(path)).writeStream.format("lance")
    stream = stream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    ended = stream.start(str(copy)).awaitTermination(200)
    told = {
        "killed": sorted(file.name for file in folder.glob("killed-*")),
        "versions": [1, merged.version, compacted.version],
        "ended": ended,
        "changes": {row[0]: row[1] for row in table.changes(2).groupBy("_change_type").count().collect()},
        "python": lance_sql.__file__,
    }
    spark.stop()
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
