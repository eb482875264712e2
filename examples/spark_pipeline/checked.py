"""The orders of a day, published when they keep the rules of the table; then what follows from them, from what changed.

    python checked.py LANDING LAKE DAY [DAY ...]      for example: python checked.py landing /tmp/lake 2026-03-01

A day is written to a branch in Spark. LAKE/orders.lance gets all of it in one version, or nothing where a row breaks a
rule; the branch stays then, to look at. LAKE/mirror.lance is a copy for others, LAKE/open.lance has what customers
still have to pay: both are brought up to date from the changes since the last run.
"""

from __future__ import annotations

import os
import sys

from daily import ORDERS, merge_orders
from followers import mirror, unpaid
from pyspark.sql import SparkSession

import lance_sql
from lance_sql.spark import session

RULES = {
    "ids": "unique(id)",
    "amounts": "amount > 0",
    "states": "accepted_values(status, 'open', 'paid', 'shipped')",
}


def run(spark: SparkSession, landing: str, lake: str, day: str) -> None:
    """Applies the orders of one day.

    raises: lance_sql.ContractBroken for a day that breaks a rule, of which nothing is published
    """
    path, branch = f"{lake}/orders.lance", f"load-{day}"
    news = spark.read.schema(ORDERS).json(f"{landing}/orders-{day}.jsonl")
    if not os.path.exists(path):
        merge_orders(spark, news.limit(0), path)
        for name, rule in RULES.items():
            lance_sql.open(path).rules.set(name, rule)
    orders = lance_sql.open(path)
    if branch in orders.branches:
        # of a run that was held back
        orders.branches.delete(branch)
    with orders.branches.staged(branch):
        merge_orders(spark, news, path, branch)
    orders.latest().branches.publish(branch, key="id")
    mirror(path, f"{lake}/mirror.lance")
    unpaid(path, f"{lake}/open.lance")


def main(landing: str, lake: str, *days: str) -> None:
    spark = session()
    for day in days:
        run(spark, landing, lake, day)
        print(f"{day}: orders version {lance_sql.open(f'{lake}/orders.lance').version}")
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
