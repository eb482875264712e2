"""A nightly job in PySpark: the orders of a day become rows of Lance tables.

    python daily.py LANDING LAKE DAY [DAY ...]        for example: python daily.py landing lake 2026-03-01

LANDING/orders-DAY.jsonl has orders as the shop sends them: new ones, ones that changed, and void ones, which are to go.
LAKE/orders.lance has one row an order, LAKE/customers.lance one a customer, LAKE/revenue.lance one a day and customer.
A day that is applied again changes nothing.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import DataFrame, SparkSession

import lance_sql
from lance_sql.spark import LanceTable, session, write

ORDERS = "id BIGINT, customer STRING, amount DECIMAL(10, 2), status STRING, placed TIMESTAMP"


def run(spark: SparkSession, landing: str, lake: str, day: str) -> None:
    """Applies the orders of one day to the tables.

    landing, lake: folders
    day: as in "2026-03-01"
    """
    news = spark.read.schema(ORDERS).json(f"{landing}/orders-{day}.jsonl")
    merge_orders(spark, news, f"{lake}/orders.lance")
    _add_customers(spark, news, f"{lake}/customers.lance")
    _merge_revenue(spark, lance_sql.read_spark(spark, f"{lake}/orders.lance"), f"{lake}/revenue.lance")


def merge_orders(spark: SparkSession, news: DataFrame, path: str, branch: str | None = None) -> None:
    """Merges orders into a table, or into a branch of it."""
    alive = news.where("status <> 'void'")
    if not os.path.exists(path):
        write(alive, path, target_rows_per_file=1_000_000)
        return
    merge = LanceTable.for_path(spark, path, branch=branch).merge(news, on="id")
    merge = merge.when_matched_delete("source.status = 'void'")
    merge = merge.when_matched_update({"amount": "source.amount", "status": "source.status"}, _CHANGED)
    merge.when_not_matched_insert(condition="source.status <> 'void'").execute()


# rows that stay as they are keep their version, and no change of them is told
_CHANGED = "NOT (source.amount <=> target.amount AND source.status <=> target.status)"


def _add_customers(spark: SparkSession, news: DataFrame, path: str) -> None:
    customers = news.groupBy("customer").agg({"placed": "min"}).toDF("name", "since")
    if not os.path.exists(path):
        write(customers, path, target_rows_per_file=1_000_000)
        return
    LanceTable.for_path(spark, path).merge(customers, on="name").when_not_matched_insert().execute()


def _merge_revenue(spark: SparkSession, orders: DataFrame, path: str) -> None:
    paid = orders.where("status IN ('paid', 'shipped')").selectExpr("to_date(placed) AS day", "customer", "amount")
    revenue = paid.groupBy("day", "customer").agg({"amount": "sum", "*": "count"})
    revenue = revenue.selectExpr("day", "customer", "`count(1)` AS orders", "`sum(amount)` AS amount")
    if not os.path.exists(path):
        write(revenue, path, target_rows_per_file=1_000_000)
        return
    merge = LanceTable.for_path(spark, path).merge(revenue, on=["day", "customer"])
    merge = merge.when_matched_update(condition="NOT (source.amount <=> target.amount)")
    merge.when_not_matched_insert().when_not_matched_by_source_delete().execute()


def main(landing: str, lake: str, *days: str) -> None:
    # Spark where it is installed with Java, else Sail
    spark = session()
    for day in days:
        run(spark, landing, lake, day)
        print(f"{day}: orders version {lance_sql.open(f'{lake}/orders.lance').version}")
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
