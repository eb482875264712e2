"""Changes of a table by `LanceTable` in Spark, compared with a folder of Parquet: Spark reads all of it,
changes the rows by a query, and writes another folder.

Each run has a fresh copy of the table, by hard links. The rows that both leave are compared, by their number and sums.
Ratios below 1: we are faster. Spark does not flush what it writes to the disk, and this library does.

python -m benchmarks.spark_tables --rows 5000000 --runs 3
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import lance
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as Spark's own examples call it

from lance_sql.spark import LanceTable

from .measure import medians, parser, print_versions, report
from .operation_tables import TABLES
from .operation_verbs import NEW
from .spark import session
from .tables import cached
from .tpch import geometric_mean

MERGED_SHARE: Final = 50
"""One row is merged of so many of the table; one half of them are new."""

Side = Callable[..., tuple[Any, ...]]


def main() -> None:
    arguments = parser(__doc__, 5_000_000)
    arguments.set_defaults(runs=3)
    given = arguments.parse_args()
    print_versions("pyspark")
    spark = session()
    ratios = []
    for name, (table, ours, theirs) in VERBS.items():
        lance_table = TABLES[table](given.data, given.rows, True)
        parquet = cached(given.data / f"{lance_table.stem}.parquet", partial(_as_parquet, lance_table))
        folder = given.data / "operations"
        sides: dict[str, Side] = {
            "ours": partial(_changed, spark, lance_table, folder / "spark.lance", ours, given.rows),
            "parquet": partial(_rewritten, spark, parquet, folder / "spark.parquet", theirs, given.rows),
        }
        answers = {side: run() for side, run in sides.items()}
        if answers["ours"] != answers["parquet"]:
            raise AssertionError(f"{name}: the answers differ: {answers}")
        times = medians({side: partial(run, asked=False) for side, run in sides.items()}, given.runs)
        report(name, times)
        ratios.append(times["ours"] / times["parquet"])
    print(f"ours / parquet: geometric mean {geometric_mean(ratios):.2f}, highest {max(ratios):.2f}")
    spark.stop()


def _as_parquet(table: Path, to: Path) -> None:
    """A file for each fragment."""
    to.mkdir()
    dataset: Any = lance.dataset(table)
    for fragment in dataset.get_fragments():
        pq.write_table(fragment.to_table(), to / f"{fragment.fragment_id}.parquet", compression="zstd")


def _changed(
    spark: SparkSession,
    table: Path,
    to: Path,
    change: Callable[[LanceTable, SparkSession, int], object],
    rows: int,
    *,
    asked: bool = True,
) -> tuple[Any, ...]:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(table, to, copy_function=os.link)
    handle = LanceTable.for_path(spark, to)
    change(handle, spark, rows)
    return _answer(handle.to_df(["id", "g", "amount"])) if asked else ()


def _rewritten(
    spark: SparkSession,
    table: Path,
    to: Path,
    change: Callable[[DataFrame, SparkSession, int], DataFrame],
    rows: int,
    *,
    asked: bool = True,
) -> tuple[Any, ...]:
    shutil.rmtree(to, ignore_errors=True)
    change(spark.read.parquet(str(table)), spark, rows).write.option("compression", "zstd").parquet(str(to))
    return _answer(spark.read.parquet(str(to))) if asked else ()


def _answer(frame: DataFrame) -> tuple[Any, ...]:
    found = frame.select(F.count("*"), F.sum("id"), F.sum("g"), F.round(F.sum("amount"), 3)).collect()[0]
    return tuple(found)


def _source(spark: SparkSession, rows: int) -> DataFrame:
    """Rows of which one half is in the table, spread over it, and the other half is new."""
    half = rows // MERGED_SHARE // 2
    old = spark.range(half).select((F.col("id") * MERGED_SHARE).alias("id"))
    both = old.union(spark.range(NEW, NEW + half))
    return both.select(
        "id",
        F.lit(7).cast("int").alias("g"),
        F.lit(0.5).alias("amount"),
        F.concat(F.lit("name "), "id").alias("name"),
        F.lit("paid").alias("status"),
        F.timestamp_micros(F.col("id")).alias("ts"),
    )


def _merge(table: LanceTable, spark: SparkSession, rows: int) -> object:
    source = _source(spark, rows)
    return table.merge(source, on="id").when_matched_update().when_not_matched_insert().execute()


def _merge_parquet(frame: DataFrame, spark: SparkSession, rows: int) -> DataFrame:
    source = _source(spark, rows).select(*frame.columns)
    return frame.join(source.select("id"), "id", "left_anti").select(*frame.columns).union(source)


VERBS: Final[dict[str, tuple[str, Callable[..., object], Callable[..., DataFrame]]]] = {
    "merge of 2 %": ("rows", _merge, _merge_parquet),
    "update of 10 %": (
        "rows",
        lambda table, _, __: table.update({"amount": "amount + 1"}, "g < 100"),
        lambda frame, _, __: frame.withColumn(
            "amount", F.when(F.col("g") < 100, F.col("amount") + 1).otherwise(F.col("amount"))
        ),
    ),
    "delete of 10 %": (
        "rows",
        lambda table, _, __: table.delete("g < 100"),
        lambda frame, _, __: frame.where("g >= 100"),
    ),
    "compact 100 fragments": (
        "fragments",
        lambda table, _, __: table.compact(),
        lambda frame, _, __: frame.coalesce(2),
    ),
}
"""By name: a table, what changes it, and the frame that is written instead."""


if __name__ == "__main__":
    main()
