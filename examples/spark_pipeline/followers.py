"""What follows from the orders, computed from what changed since the last run: neither Spark nor Java is needed."""

from __future__ import annotations

import lance_sql


def mirror(orders: str, target: str) -> None:
    """Brings a copy in step, in one commit; a run that dies takes nothing, one that is repeated takes nothing twice."""
    with lance_sql.open(orders).cursors.open("mirror").read(mode="net", target=target) as changes:
        lance_sql.apply_changes(target, changes, keys="id")


def unpaid(orders: str, target: str) -> None:
    """Computes what each customer still has to pay, for customers whose orders changed."""
    query = f"SELECT customer, sum(amount) AS amount FROM '{orders}' WHERE status = 'open' GROUP BY customer"
    print(lance_sql.materialize(query, target).last_refresh)
