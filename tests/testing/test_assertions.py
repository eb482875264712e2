"""Assertions about tables pass for what is right, and say of ten faults what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.testing import assert_changes, assert_invariants, assert_sql, assert_table_equal

ROWS = {"id": [1, 2, 3], "status": ["open", "paid", None], "amount": [1.0, 2.5, math.nan]}


@pytest.fixture
def orders(tmp_path: Path) -> lance_sql.Dataset:
    return lance_sql.write(ROWS, tmp_path / "orders.lance")


def said(check: Callable[[], None]) -> str:
    """What a failing assertion says."""
    with pytest.raises(AssertionError) as raised:
        check()
    return str(raised.value)


@pytest.mark.parametrize(
    "expected",
    [
        ROWS,
        pa.table(ROWS),
        pa.table(ROWS).take([2, 0, 1]),
        pl.DataFrame(ROWS),
        pa.table(ROWS).to_pylist(),
        pa.table(ROWS).set_column(1, "status", pa.array(ROWS["status"]).dictionary_encode()),
    ],
    ids=["dict", "arrow", "other order", "polars", "dicts", "dictionary"],
)
@pytest.mark.parametrize("key", [None, "id", ["id", "status"]])
def test_equal_tables_are_equal(orders: lance_sql.Dataset, expected: object, key: Any) -> None:
    assert_table_equal(orders, expected, key=key)
    assert_table_equal(orders.uri, expected, key=key)
    assert_table_equal(f"{orders.uri}@1", expected, key=key)


def test_another_value_is_shown_by_key_with_the_commit_that_wrote_it(orders: lance_sql.Dataset) -> None:
    changed = orders.update({"status": "'lost'"}, "id = 2")
    message = said(lambda: assert_table_equal(changed, ROWS, key="id"))
    assert message.splitlines() == [
        "1 of 3 rows of orders.lance version 2 differ, in status:",
        "  1 with other values",
        "    id=2   (version 2, update)",
        "      status  'lost'  expected 'paid'",
    ]


def test_missing_and_unexpected_rows_are_shown(orders: lance_sql.Dataset) -> None:
    expected = {"id": [1, 2, 4], "status": ["open", "paid", "new"], "amount": [1.0, 2.5, 0.0]}
    for key in (None, "id"):
        message = said(lambda key=key: assert_table_equal(orders, expected, key=key))  # type: ignore[misc]
        assert message.splitlines() == [
            "2 of 3 rows of orders.lance version 1 differ:",
            "  1 missing",
            "    - id=4, status='new', amount=0.0",
            "  1 not expected",
            "    + id=3, status=NULL, amount=nan   (version 1, create)",
        ]


def test_columns_that_differ_are_named(orders: lance_sql.Dataset) -> None:
    expected = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "amount": ROWS["amount"], "note": ["", "", ""]})
    assert said(lambda: assert_table_equal(orders, expected)).splitlines() == [
        "The columns of orders.lance version 1 differ:",
        "  note: missing",
        "  status: not expected",
        "  id: int64, expected int32",
    ]
    other_order = pa.table(ROWS).select(["status", "id", "amount"])
    assert "in the order" in said(lambda: assert_table_equal(orders, other_order))
    assert_table_equal(orders, other_order, ignore_column_order=True)
    assert_table_equal(orders, pa.table(ROWS).drop_columns(["status"]), ignore_columns="status")


def test_only_the_first_errors_are_shown(tmp_path: Path) -> None:
    made = lance_sql.write({"id": list(range(100)), "v": [0] * 100}, tmp_path / "t.lance")
    message = said(lambda: assert_table_equal(made, {"id": list(range(100)), "v": [1] * 100}, key="id", max_errors=3))
    assert "100 of 100 rows" in message
    assert message.count("expected 1") == 3
    assert message.endswith("... 97 more (max_errors=3)")


def test_floats_are_compared_within_a_tolerance() -> None:
    found, wanted = {"id": [1, 2], "v": [1.0, 2.0]}, {"id": [2, 1], "v": [2.0001, 1.0]}
    assert_table_equal(found, wanted, rtol=1e-3)
    assert_table_equal(found, wanted, key="id", atol=1e-3)
    assert "v" in said(lambda: assert_table_equal(found, wanted, key="id", atol=1e-6))
    assert "missing" in said(lambda: assert_table_equal(found, wanted, rtol=1e-6))
    with pytest.raises(InvalidArgument, match="rtol"):
        assert_table_equal(found, wanted, rtol=-1.0)


def test_the_order_of_rows_counts_when_asked() -> None:
    found, wanted = {"id": [1, 2]}, {"id": [2, 1]}
    assert_table_equal(found, wanted)
    assert "2 of 2 rows" in said(lambda: assert_table_equal(found, wanted, check_row_order=True))


def test_rows_are_counted() -> None:
    message = said(lambda: assert_table_equal({"id": [1, 1, 2]}, {"id": [1, 2, 2]}))
    assert "- id=2" in message
    assert "+ id=1" in message


def test_nested_values_are_compared() -> None:
    rows = {"id": [1], "tags": [["a", None]], "at": [{"x": 1.0, "y": Decimal("1.50")}]}
    assert_table_equal(rows, pa.table(rows), key="id")
    assert_table_equal(rows, pa.table(rows))
    other = {**rows, "tags": [["a", "b"]]}
    assert "tags  ['a', None]  expected ['a', 'b']" in said(lambda: assert_table_equal(rows, other, key="id"))


def test_a_key_has_to_be_one() -> None:
    with pytest.raises(InvalidArgument, match="Two rows of the actual table have the key id=1"):
        assert_table_equal({"id": [1, 1]}, {"id": [1, 2]}, key="id")
    with pytest.raises(InvalidArgument, match="'nr' is not a column of both"):
        assert_table_equal({"id": [1]}, {"id": [1]}, key="nr")


def test_changes_are_counted_and_named(orders: lance_sql.Dataset) -> None:
    made = orders.merge({"id": [2, 7], "status": ["late", "new"]}, on="id").delete("id = 1")
    assert_changes(made, since=1, inserted=1, updated=1, deleted=1, unchanged_columns="amount")
    assert_changes(made, since=1, inserted=[7], updated=[2], deleted=[1], key="id")
    message = said(lambda: assert_changes(made, since=1, inserted=0, updated=[3], key="id", unchanged_columns="status"))
    assert message.splitlines() == [
        f"The changes of {made.uri} between version 1 and 3 are not as expected:",
        "  1 rows were inserted, expected 0",
        "  not updated: id 3",
        "  updated, but not expected to be: id 2",
        "  status changed: id=2 had 'paid', has 'late'",
    ]
    with pytest.raises(InvalidArgument, match="key="):
        assert_changes(made, since=1, inserted=[7])


def test_queries_are_compared(orders: lance_sql.Dataset) -> None:
    assert_sql(orders, "SELECT count(*) FROM orders WHERE amount < 0", [(0,)])
    assert_sql({"o": orders}, "SELECT id FROM o WHERE status IS NOT NULL", {"id": [2, 1]})
    message = said(lambda: assert_sql(orders, "SELECT id, status FROM orders ORDER BY id", [(1, "open"), (2, "lost")]))
    assert message.splitlines() == [
        "The query gives other rows than expected:",
        "  SELECT id, status FROM orders ORDER BY id",
        "  row 1: (2, 'paid'), expected (2, 'lost')",
        "  row 2: (3, NULL), expected no row",
    ]


def test_columns_of_a_query_may_have_equal_names(orders: lance_sql.Dataset) -> None:
    assert_sql(orders, "SELECT min(id) AS x, max(id) AS x FROM orders", [(1, 3)])
    with pytest.raises(InvalidArgument, match="two columns called 'x'"):
        assert_table_equal(pa.table([[1], [2]], ["x", "x"]), {"x": [1]})


def test_rules_that_rows_break_are_named(orders: lance_sql.Dataset, tmp_path: Path) -> None:
    customers = lance_sql.write({"id": [1, 2]}, tmp_path / "customers.lance")
    made = lance_sql.write(ROWS, orders.uri, mode="append")
    assert_invariants(orders, unique="id", not_null="id", holds="amount > 0", lineage_since=1)
    assert_invariants(made, unique=[["id", "_rowid"]], foreign_keys={"id": (orders, "id")}, lineage_since=1)
    message = said(
        lambda: assert_invariants(
            made, unique="id", not_null=["id", "status"], foreign_keys={"id": (customers, "id")}, holds="id < 3"
        )
    )
    assert message.splitlines() == [
        f"{made.uri} version 2 breaks rules:",
        "  (id) is not unique: 3 values are repeated: id=1 2 times; id=2 2 times; id=3 2 times",
        "  status: 2 rows are NULL",
        f"  id: 1 values are not in id of {customers.uri}: 3",
        "  id < 3: 2 rows break it, such as id=3, status=NULL, amount=nan",
    ]


def test_lost_lineage_is_found(orders: lance_sql.Dataset, tmp_path: Path) -> None:
    plain = lance_sql.write(ROWS, tmp_path / "plain.lance", stable_row_ids=False)
    with pytest.raises(InvalidArgument, match="without stable row ids"):
        assert_invariants(plain, lineage_since=1)
    orders.create_tag("before")
    changed = orders.update({"status": "'x'"})
    for since in (1, "before", "2100-01-01"):
        assert_invariants(changed, lineage_since=since)


def test_long_values_show_where_they_differ() -> None:
    before, after = {"id": [1], "text": ["a" * 200 + "b"]}, {"id": [1], "text": ["a" * 200 + "c"]}
    with pytest.raises(AssertionError, match=r"\.\.\.a+c'  expected \.\.\.a+b'"):
        assert_table_equal(after, before, key="id")
