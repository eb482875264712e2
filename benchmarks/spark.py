"""Queries in Spark over lineitem of TPC-H: this library's format, a Python source that only returns batches from
memory, and Spark's own reader of Parquet (zstd).

The Python source measures the cost of Spark's interface for such sources; the rest is ours. The answers of all sides
must be equal. `columns` is the option with the columns of a read, which Spark does not pass to a Python source.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

import lance_sql
from lance_sql.providers.spark import data_source as lance_spark

from . import picture
from .measure import medians, parser, print_versions, report, versions
from .tables import cached
from .tpch import generated, geometric_mean

QUERIES = {
    "sum of a bigint": (["l_orderkey"], "sum(l_orderkey)"),
    "sum of a decimal": (["l_extendedprice"], "sum(l_extendedprice)"),
    "longest comment": (["l_comment"], "max(length(l_comment))"),
    "three columns": (["l_orderkey", "l_shipdate", "l_shipmode"], "max(l_orderkey), max(l_shipdate), max(l_shipmode)"),
}
BATCH_ROWS = 64 * 1024
PARTITIONS = 2


class Prepared(DataSource):
    """Batches of an Arrow file, of which every worker has the pages in memory after the first read."""

    @classmethod
    def name(cls) -> str:
        return "prepared"

    def schema(self) -> StructType:
        with pa.memory_map(self.options["path"]) as source:
            return from_arrow_schema(pa.ipc.open_file(source).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        return _PreparedReader(self.options["path"])


class _PreparedReader(DataSourceReader):
    def __init__(self, path: str) -> None:
        self.path = path

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(PARTITIONS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        file = pa.ipc.open_file(pa.memory_map(self.path))
        for number in range(partition.value, file.num_record_batches, PARTITIONS):
            yield file.get_batch(number)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--scale", default="1", help="scale factor: 1 is 6 million rows of lineitem")
    given = arguments.parse_args()
    print_versions("pyspark")
    folder = generated(given.data, given.scale)
    spark = session()
    ratios = {}
    for name, (columns, aggregate) in QUERIES.items():
        prepared = cached(
            given.data / f"prepared_{given.scale}_{'_'.join(columns)}.arrow", partial(_write, folder, columns)
        )
        frames = {
            "ours": spark.read.format("lance")
            .option("columns", json.dumps(columns))
            .load(str(folder / "lineitem.lance")),
            "prepared": spark.read.format("prepared").option("path", str(prepared)).load(),
            "parquet": spark.read.parquet(str(folder / "lineitem.parquet")),
        }
        sides = {side: _query(frame, aggregate) for side, frame in frames.items()}
        answers = {side: run() for side, run in sides.items()}
        if len(set(map(repr, answers.values()))) > 1:
            raise AssertionError(f"{name}: the answers differ: {answers}")
        times = medians(sides, given.runs)
        report(name, times)
        ratios[name] = times["ours"] / times["prepared"]
    values = list(ratios.values())
    print(f"ours / prepared: geometric mean {geometric_mean(values):.2f}, highest {max(values):.2f}")
    if given.picture:
        picture.save(given.picture, "Spark", ratios, peer="a source of prepared batches", note=versions("pyspark"))
    spark.stop()


def session() -> SparkSession:
    """Spark in this process with both sources, and a worker for each of two cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # where workers find this module
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master(f"local[{PARTITIONS}]").config("spark.ui.enabled", "false")
    spark = (
        builder.config("spark.driver.bindAddress", "127.0.0.1")
        # large results are fetched from this address, which need not be one that the machine reaches itself by
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    lance_spark.register(spark)
    spark.dataSource.register(Prepared)
    return spark


def _query(frame: DataFrame, aggregate: str) -> Callable[[], object]:
    expressions = [each.strip() for each in aggregate.split(", ")]
    return frame.selectExpr(*expressions).collect


def _write(folder: Path, columns: list[str], to: Path) -> None:
    table = lance_sql.open(folder / "lineitem.lance").scan(columns).to_table()
    with pa.OSFile(str(to), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, BATCH_ROWS)


if __name__ == "__main__":
    main()
