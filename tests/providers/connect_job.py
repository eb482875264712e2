"""A remote session over a server of its own: `python connect_job.py <folder>`; see test_spark_connect.

Prints what it has found as JSON in the last line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import lance_sql
from lance_sql.errors import LanceError
from lance_sql.spark import LanceTable, short_errors, write


def run(spark: SparkSession, folder: Path) -> dict[str, object]:
    path = str(folder / "t.lance")
    frame = spark.range(0, 100, 1, 2).selectExpr("id", "id * 2 AS v")
    frame.write.format("lance").mode("append").save(path)
    found: dict[str, object] = {"read": spark.read.format("lance").load(path).where("id < 5").count()}
    write(spark.range(100, 102, 1, 2).selectExpr("id", "'new' AS s"), path, mode="append", merge_schema=True)
    table = LanceTable.for_path(spark, path)
    news = spark.range(95, 105).selectExpr("id", "-1L AS v")
    made = table.merge(news, on="id").when_matched_update().when_not_matched_insert().execute()
    found["merged"] = [made.version, made.count_rows(), made.count_rows("v = -1")]
    found["updated"] = table.update({"v": "v + 1"}, "id < 3").count_rows("v % 2 = 1 AND id < 3")
    found["deleted"] = table.delete("id = 3").count_rows()
    changes = table.changes(made.version).groupBy("_change_type").count().collect()
    found["changes"] = {row["_change_type"]: row["count"] for row in changes}
    stream = spark.readStream.format("lance").load(path).writeStream.format("lance")
    query = stream.option("checkpointLocation", str(folder / "c")).trigger(availableNow=True).start(path + ".copy")
    query.awaitTermination(300)
    found["streamed"] = lance_sql.open(path + ".copy").count_rows()
    try:
        with short_errors():
            spark.read.format("lance").load(str(folder / "nothing.lance")).count()
    except LanceError as error:
        found["error"] = type(error).__name__
    return found


def main() -> None:
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    try:
        lance_sql.register(spark)
        found = run(spark, Path(sys.argv[1]))
    except LanceError as error:
        found = {"refused": type(error).__name__, "message": str(error)}
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
