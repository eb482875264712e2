"""Queries of TPC-H through `lance_sql.sql` in Spark, which finds the columns and rows that each table needs; the same
with columns and filters picked by hand; and over Parquet (zstd) by Spark's own reader.

The answers of all sides must be equal. The aim is at most 1.3 times the query with columns picked by hand.

python -m benchmarks.spark_sql --runs 3
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import sqlglot
from pyspark.sql import SparkSession
from sqlglot import exp

import lance_sql

from .measure import equal_rows, medians, parser, print_versions, report
from .spark import session
from .tpch import TABLES, generated, geometric_mean

Picked = dict[str, tuple[str, str | None]]

PICKED: Final[dict[int, Picked]] = {
    1: {
        "lineitem": (
            "l_returnflag, l_linestatus, l_quantity, l_extendedprice, l_discount, l_tax, l_shipdate",
            "l_shipdate <= DATE '1998-09-02'",
        )
    },
    3: {
        "customer": ("c_custkey, c_mktsegment", "c_mktsegment = 'BUILDING'"),
        "orders": ("o_orderkey, o_custkey, o_orderdate, o_shippriority", "o_orderdate < DATE '1995-03-15'"),
        "lineitem": ("l_orderkey, l_extendedprice, l_discount, l_shipdate", "l_shipdate > DATE '1995-03-15'"),
    },
    4: {
        "orders": (
            "o_orderkey, o_orderdate, o_orderpriority",
            "o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'",
        ),
        "lineitem": ("l_orderkey, l_commitdate, l_receiptdate", None),
    },
    5: {
        "customer": ("c_custkey, c_nationkey", None),
        "orders": (
            "o_orderkey, o_custkey, o_orderdate",
            "o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'",
        ),
        "lineitem": ("l_orderkey, l_suppkey, l_extendedprice, l_discount", None),
        "supplier": ("s_suppkey, s_nationkey", None),
        "nation": ("n_nationkey, n_regionkey, n_name", None),
        "region": ("r_regionkey, r_name", "r_name = 'ASIA'"),
    },
    6: {
        "lineitem": (
            "l_extendedprice, l_discount, l_shipdate, l_quantity",
            "l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07"
            " AND l_quantity < 24",
        )
    },
    10: {
        "customer": ("c_custkey, c_name, c_acctbal, c_address, c_phone, c_comment, c_nationkey", None),
        "orders": (
            "o_orderkey, o_custkey, o_orderdate",
            "o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01'",
        ),
        "lineitem": ("l_orderkey, l_extendedprice, l_discount, l_returnflag", "l_returnflag = 'R'"),
        "nation": ("n_nationkey, n_name", None),
    },
    12: {
        "orders": ("o_orderkey, o_orderpriority", None),
        "lineitem": (
            "l_orderkey, l_shipmode, l_commitdate, l_receiptdate, l_shipdate",
            "l_shipmode IN ('MAIL', 'SHIP') AND l_receiptdate >= DATE '1994-01-01'"
            " AND l_receiptdate < DATE '1995-01-01'",
        ),
    },
    14: {
        "lineitem": (
            "l_partkey, l_extendedprice, l_discount, l_shipdate",
            "l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'",
        ),
        "part": ("p_partkey, p_type", None),
    },
}
"""By the number of a query, the columns of each table and a filter, as somebody would pick them."""


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--scale", default="1", help="scale factor: 1 is 6 million rows of lineitem")
    arguments.add_argument("--queries", nargs="*", type=int, default=list(PICKED), help="numbers of queries")
    arguments.set_defaults(runs=3)
    given = arguments.parse_args()
    print_versions("pyspark")
    folder = generated(given.data, given.scale)
    spark = session()
    queries = json.loads((folder / "queries.json").read_text())
    to_picked, to_parquet = [], []
    for number in given.queries:
        picked = PICKED[number]
        text = queries[number - 1]
        sides = {
            "ours": _ours(spark, folder, text),
            "picked": _over_frames(spark, _picked_frames(spark, folder, picked), text),
            "parquet": _over_frames(spark, _parquet_frames(spark, folder, picked), text),
        }
        answers = {side: run() for side, run in sides.items()}
        if not all(equal_rows(answer, answers["ours"]) for answer in answers.values()):
            raise AssertionError(f"query {number}: the answers differ")
        times = medians(sides, given.runs)
        report(f"query {number}", times)
        to_picked.append(times["ours"] / times["picked"])
        to_parquet.append(times["ours"] / times["parquet"])
    for name, ratios in (("picked", to_picked), ("parquet", to_parquet)):
        print(f"ours / {name}: geometric mean {geometric_mean(ratios):.2f}, highest {max(ratios):.2f}")
    spark.stop()


def _ours(spark: SparkSession, folder: Path, text: str) -> Callable[[], Any]:
    tree = sqlglot.parse_one(text, dialect="duckdb")
    for node in list(tree.find_all(exp.Table)):
        if node.name in TABLES:
            node.set("alias", node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name)))
            node.set("db", exp.to_identifier("lance"))
            node.set("this", exp.to_identifier(str(folder / f"{node.name}.lance"), quoted=True))
    statement = tree.sql("spark")
    return lambda: lance_sql.sql(statement, session=spark).fetchall()


def _over_frames(spark: SparkSession, frames: dict[str, Any], text: str) -> Callable[[], Any]:
    statement = sqlglot.parse_one(text, dialect="duckdb").sql("spark")

    def run() -> Any:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        return [tuple(row) for row in spark.sql(statement).collect()]

    return run


def _picked_frames(spark: SparkSession, folder: Path, picked: Picked) -> dict[str, Any]:
    frames = {}
    for name, (columns, filter) in picked.items():
        reader = spark.read.format("lance").option("columns", columns)
        reader = reader if filter is None else reader.option("filter", filter)
        frames[name] = reader.load(str(folder / f"{name}.lance"))
    return frames


def _parquet_frames(spark: SparkSession, folder: Path, picked: Picked) -> dict[str, Any]:
    return {name: spark.read.parquet(str(folder / f"{name}.parquet")) for name in picked}


if __name__ == "__main__":
    main()
