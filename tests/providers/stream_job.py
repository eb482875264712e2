"""Two streams of Spark into one table, for a test that restarts them.

python -m tests.providers.stream_job FOLDER HOW

copies what was inserted into a.lance and b.lance since the last run, one commit in a batch
HOW    "ends" by itself, "loses" an executor in a task, "dies" between batches
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from tests.providers.merge_job import session


def parent(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("PPid:")).split()[1])


def losing_an_executor(marker: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, but the first task with rows takes its executor with it."""
    for batch in batches:
        yield batch
        if batch.num_rows and TaskContext.get() is not None:
            try:
                marker.touch(exist_ok=False)
            except FileExistsError:
                continue
            # a worker of Python, its daemon, the executor
            os.kill(parent(os.getppid()), signal.SIGKILL)


def die_after(commits: Path, count: int) -> None:
    """Ends this process without a word once a query has so many more batches."""
    before = len(list(commits.glob("[0-9]*")))
    while len(list(commits.glob("[0-9]*"))) < before + count:
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)


def copy(spark: SparkSession, folder: Path, name: str, *, loses: bool) -> Any:
    frame = spark.readStream.format("lance").option("maxVersionsPerTrigger", 1).load(str(folder / f"{name}.lance"))
    if loses:
        frame = frame.mapInArrow(partial(losing_an_executor, folder / "lost"), frame.schema)
    writer = frame.writeStream.format("lance").option("checkpointLocation", str(folder / name))
    return writer.trigger(availableNow=True).start(str(folder / "t.lance"))


def main(folder: Path, how: str) -> None:
    spark = session("local-cluster[2,1,1024]" if how == "loses" else "local[2, 2]")
    if how == "dies":
        threading.Thread(target=die_after, args=(folder / "a" / "commits", 3), daemon=True).start()
    queries = [copy(spark, folder, name, loses=how == "loses" and name == "a") for name in ("a", "b")]
    for query in queries:
        assert query.awaitTermination(600)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
