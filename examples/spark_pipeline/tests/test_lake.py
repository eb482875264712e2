"""What the job wrote. Neither Spark nor Java is needed to read it.

The tables are those of the folder `lake`, or of the one that the environment variable LAKE names.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import lance_sql
from lance_sql.testing import assert_changes, assert_invariants, assert_sql, assert_table_equal
from lance_sql.testing.plugin import LanceTables

LAKE = Path(os.environ.get("LAKE") or Path(__file__).parents[1] / "lake")
ORDERS, CUSTOMERS, REVENUE = (str(LAKE / f"{name}.lance") for name in ("orders", "customers", "revenue"))
SECOND_DAY = 2
"""The version of every table after the second day."""


def test_orders_keep_the_rules() -> None:
    assert_invariants(
        ORDERS,
        unique="id",
        not_null=["customer", "amount", "status", "placed"],
        foreign_keys={"customer": (CUSTOMERS, "name")},
        holds=["amount > 0", "status IN ('open', 'paid', 'shipped')"],
        lineage_since=SECOND_DAY,
    )


def test_the_third_day_changed_what_the_shop_sent() -> None:
    assert_changes(
        ORDERS, since=SECOND_DAY, inserted=[10, 11], updated=[1, 3], deleted=[5], key="id", unchanged_columns="placed"
    )


def test_orders_are_as_they_were_when_somebody_looked(lance_tables: LanceTables) -> None:
    lance_tables.assert_matches(ORDERS, "orders", key="id")


def test_revenue_is_the_sum_of_paid_orders() -> None:
    expected = lance_sql.connect().sql(
        f"""
        SELECT placed::DATE AS day, customer, count(*) AS orders, sum(amount)::DECIMAL(20, 2) AS amount
        FROM '{ORDERS}' WHERE status IN ('paid', 'shipped') GROUP BY ALL
        """
    )
    assert_table_equal(REVENUE, expected, key=["day", "customer"])


@pytest.mark.parametrize("table", [CUSTOMERS, REVENUE])
def test_the_third_day_added_one_customer(table: str) -> None:
    assert_changes(table, since=SECOND_DAY, inserted=1, deleted=0)
    assert_sql(CUSTOMERS, "SELECT name FROM customers ORDER BY since DESC LIMIT 1", [("Fjord AS",)])
