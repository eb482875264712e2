"""Assertions about tables pass for correct tables, and report ten kinds of faults."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, VersionNotFound
from lance_sql.testing import (
    TableDifferenceError,
    assert_changes,
    assert_invariants,
    assert_matches_snapshot,
    assert_sql,
    assert_table_equal,
)

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
        message = said(lambda key=key: assert_table_equal(orders, expected, key=key))  # type: ignore[misc]  # bound to this value
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
        "  1 row was inserted, expected 0",
        "  not updated: id 3",
        "  updated, but not expected to be: id 2",
        "  status changed: id=2 had 'paid', has 'late'",
    ]
    with pytest.raises(InvalidArgument, match="key="):
        assert_changes(made, since=1, inserted=[7])


def test_a_column_in_the_place_of_another_one_is_no_unchanged_column(orders: lance_sql.Dataset) -> None:
    made = orders.drop_columns("amount").add_columns([orders.schema.field("amount")])
    assert_changes(made, since=1, updated=0, unchanged_columns="status")
    message = said(lambda: assert_changes(made, since=1, unchanged_columns="amount"))
    assert "amount is another column" in message


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
    with pytest.raises(InvalidArgument, match="Two columns have the same name 'x'"):
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
        f"  id: 1 value is not in id of {customers.uri}: 3",
        "  id < 3: 2 rows break it, such as id=3, status=NULL, amount=nan",
    ]


def test_lost_lineage_is_found(orders: lance_sql.Dataset, tmp_path: Path) -> None:
    plain = lance_sql.write(ROWS, tmp_path / "plain.lance", stable_row_ids=False)
    with pytest.raises(InvalidArgument, match="without stable row ids"):
        assert_invariants(plain, lineage_since=1)
    orders.tags.create("before")
    changed = orders.update({"status": "'x'"}, "true")
    for since in (1, "before", "2100-01-01"):
        assert_invariants(changed, lineage_since=since)


def test_long_values_show_where_they_differ() -> None:
    before, after = {"id": [1], "text": ["a" * 200 + "b"]}, {"id": [1], "text": ["a" * 200 + "c"]}
    with pytest.raises(AssertionError, match=r"\.\.\.a+c'  expected \.\.\.a+b'"):
        assert_table_equal(after, before, key="id")


BERLIN = pa.timestamp("us", "Europe/Berlin")
TWO_O_CLOCK = [1_729_987_200_000_000, 1_729_990_800_000_000]
"""The two moments of 2024-10-27 that clocks in Berlin call 02:00."""


@pytest.mark.parametrize("key", [None, "id"])
@pytest.mark.parametrize("wanted", [math.inf, -math.inf])
def test_an_infinity_is_only_close_to_itself(key: str | None, wanted: float) -> None:
    def table(value: float) -> dict[str, list[Any]]:
        return {"id": [1], "a": [value], "b": [[value]]}

    assert_table_equal(table(wanted), table(wanted), key=key, rtol=1e-9)
    for value in (1.0, -wanted, math.nan):
        with pytest.raises(AssertionError):
            assert_table_equal(table(value), table(wanted), key=key, rtol=1e-9)
        with pytest.raises(AssertionError):
            assert_table_equal(table(wanted), table(value), key=key, atol=1e9)
    with pytest.raises(InvalidArgument, match="rtol"):
        assert_table_equal(table(1.0), table(2.0), rtol=math.inf)


@pytest.mark.parametrize("key", [None, "id"])
def test_the_repeated_hour_has_two_moments(key: str | None) -> None:
    first, second = (pa.table({"id": [1], "at": pa.array([moment], BERLIN)}) for moment in TWO_O_CLOCK)
    assert_table_equal(first, first, key=key)
    with pytest.raises(AssertionError, match=r"1 missing|in at:"):
        assert_table_equal(first, second, key=key)


def test_moments_of_the_repeated_hour_are_two_keys(tmp_path: Path) -> None:
    rows = pa.table({"at": pa.array(TWO_O_CLOCK, BERLIN), "v": [1, 2]})
    assert_table_equal(rows, rows.take([1, 0]), key="at")
    made = lance_sql.write(rows, tmp_path / "t.lance")
    assert_invariants(made, unique="at")
    shifted = pa.table({"v": [1], "at": pa.array([TWO_O_CLOCK[1]], BERLIN)})
    changed = made.merge(shifted, on="v", when_not_matched="ignore")
    message = said(lambda: assert_changes(changed, since=1, unchanged_columns="at", key="v"))
    assert "at changed: v=1 had 2024-10-27 02:00:00+02:00, has 2024-10-27 02:00:00+01:00" in message


def test_columns_that_only_later_rows_have_count() -> None:
    expected = [{"a": 1}, {"a": 2, "b": "must be there"}]
    assert "b: missing" in said(lambda: assert_table_equal({"a": [1, 2]}, expected))
    assert_table_equal({"a": [1, 2], "b": [None, "must be there"]}, expected)


def test_keys_count_as_often_as_they_are_there(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    made = lance_sql.write({"id": [9, 9, 8]}, made.uri, mode="append")
    assert_changes(made, since=1, inserted=[9, 8, 9], key="id")
    message = said(lambda: assert_changes(made, since=1, inserted=[8, 9], key="id"))
    assert message.splitlines()[1:] == ["  inserted, but not expected to be: id 9"]
    message = said(lambda: assert_changes(made, since=1, inserted=[8, 8, 8, 9, 9], key="id"))
    assert message.splitlines()[1:] == ["  not inserted: id 8 (2 times)"]
    message = said(lambda: assert_changes(made, since=1, inserted=["x"], key="id"))
    assert "not inserted: id 'x'" in message


def test_versions_that_are_not_there_have_no_changes(orders: lance_sql.Dataset) -> None:
    with pytest.raises(VersionNotFound, match="since=99 does not exist yet"):
        assert_changes(orders, since=99, inserted=0, updated=0, deleted=0)
    with pytest.raises(VersionNotFound, match="Version 99"):
        assert_invariants(orders, lineage_since=99)


def test_misspelt_columns_are_refused(orders: lance_sql.Dataset, tmp_path: Path) -> None:
    other = {"id": [1, 2, 3], "status": ["open", "paid", None]}
    assert_table_equal(orders, other, ignore_columns=["amount"])
    with pytest.raises(InvalidArgument, match=r"no column 'amuont'\. Closest: 'amount'"):
        assert_table_equal(orders, ROWS, ignore_columns=["amuont"])
    with pytest.raises(InvalidArgument, match="no column 'amuont'"):
        assert_matches_snapshot(orders, tmp_path / "t.txt", ignore_columns="amuont")


@pytest.mark.parametrize(
    ("sql", "right", "wrong"),
    [
        ("SELECT 1", (1,), (True,)),
        ("SELECT true", (True,), (1,)),
        ("SELECT 1.0::DOUBLE", (1.0,), (1,)),
        ("SELECT 1", (1,), (1.0,)),
        ("SELECT sum(id) FROM orders", (6,), (7,)),
        ("SELECT 'nan'::DOUBLE", (math.nan,), (0.0,)),
        ("SELECT ['nan'::DOUBLE, 2]", ([math.nan, 2.0],), ([math.nan, 3.0],)),
        ("SELECT {'a': 1}", ({"a": 1},), ({"a": True},)),
        (
            "SELECT TIMESTAMPTZ '2024-10-27 01:00:00+00'",
            (datetime(2024, 10, 27, 2, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),),
            (datetime(2024, 10, 27, 2, fold=0, tzinfo=ZoneInfo("Europe/Berlin")),),
        ),
    ],
)
def test_tuples_are_compared_with_their_types(orders: lance_sql.Dataset, sql: str, right: Any, wrong: Any) -> None:
    assert_sql(orders, sql, [right])
    with pytest.raises(AssertionError):
        assert_sql(orders, sql, [wrong])


def test_a_row_of_a_query_is_a_tuple(orders: lance_sql.Dataset) -> None:
    with pytest.raises(InvalidArgument, match=r"A row must be a tuple, such as \('ab',\), not 'ab'"):
        assert_sql(orders, "SELECT 'a', 'b'", ["ab"])


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (pa.timestamp("ns"), [1, 2]),
        (pa.timestamp("ns", "UTC"), [1, 2]),
        (pa.time64("ns"), [1, 2]),
        (pa.duration("ns"), [1, 2]),
        (pa.timestamp("s"), [300_000_000_000, 300_000_000_001]),
        (pa.date32(), [4_000_000, 4_000_001]),
        (pa.float16(), [1.5, 2.5]),
        (pa.list_(pa.timestamp("ns")), [[1], [2]]),
        (pa.struct([("at", pa.time64("ns"))]), [{"at": 1}, {"at": 2}]),
    ],
    ids=str,
)
@pytest.mark.parametrize("key", [None, "id", "v"])
def test_values_that_python_does_not_hold_are_compared(
    type: pa.DataType, values: list[Any], key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if key == "v" and pa.types.is_nested(type):
        key = None
    monkeypatch.setitem(sys.modules, "pandas", None)
    one, other = (pa.table({"id": [1], "v": pa.array([value], type)}) for value in values)
    assert_table_equal(one, one, key=key)
    assert "1 of 1 rows" in said(lambda: assert_table_equal(one, other, key="id"))
    said(lambda: assert_table_equal(one, other, key=key))


@pytest.mark.parametrize("empty", [[], {"id": [], "name": []}])
def test_no_rows_are_of_any_type(empty: Any, tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1], "name": ["a"]}, tmp_path / "t.lance").delete("true")
    assert_table_equal(made, empty)
    assert_sql({"t": made}, "FROM t", empty)
    said(lambda: assert_table_equal({"id": [1], "name": ["a"]}, empty))


def test_columns_of_none_are_of_any_type(tmp_path: Path) -> None:
    made = lance_sql.write(
        pa.table({"id": [1], "name": pa.array([None], pa.string()), "tags": pa.array([[]], pa.list_(pa.int32()))}),
        tmp_path / "t.lance",
    )
    assert_table_equal(made, {"id": [1], "name": [None], "tags": [[]]}, key="id")
    assert "name" in said(lambda: assert_table_equal({"id": [1], "name": ["a"], "tags": [[]]}, made, key="id"))


def test_an_untouched_nan_is_unchanged(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1], "v": [[math.nan]], "w": [1]}, tmp_path / "t.lance").update({"w": "2"}, "true")
    assert_changes(made, since=1, updated=[1], unchanged_columns="v", key="id")


def test_keys_of_other_types_are_found(tmp_path: Path) -> None:
    text = pa.array(["a", "b"])
    parents = lance_sql.write(
        pa.table({"id": pa.array([1, 2**40], pa.int64()), "name": text.dictionary_encode()}), tmp_path / "parents.lance"
    )
    children = lance_sql.write(
        pa.table({"parent": pa.array([1, 1], pa.int32()), "name": text, "code": text.dictionary_encode()}),
        tmp_path / "children.lance",
    )
    keys = {"parent": (parents, "id"), "name": (parents, "name"), "code": (parents, "name")}
    assert_invariants(children, foreign_keys=keys)
    message = said(lambda: assert_invariants(parents, foreign_keys={"id": (children, "parent")}))
    assert f"id: 1 value is not in parent of {children.uri}: {2**40}" in message
    with pytest.raises(InvalidArgument, match="compare columns of one type"):
        assert_invariants(children, foreign_keys={"name": (parents, "id")})


def test_tolerances_are_given_by_column() -> None:
    ours, wanted = {"id": [1], "a": [1.0], "b": [1.0]}, {"id": [1], "a": [1.05], "b": [1.0005]}
    for key in (None, "id"):
        assert_table_equal(ours, wanted, key=key, atol={"a": 0.1, "b": 0.001})
        assert_table_equal(ours, wanted, key=key, atol=0.1)
        assert_table_equal(ours, wanted, key=key, rtol={"a": 0.1}, atol={"b": 0.001})
        with pytest.raises(AssertionError, match="differ"):
            assert_table_equal(ours, wanted, key=key, atol={"a": 0.1})
        with pytest.raises(AssertionError, match="differ"):
            assert_table_equal(ours, wanted, key=key, rtol={"b": 0.1})
    with pytest.raises(InvalidArgument, match="'c' names a missing column"):
        assert_table_equal(ours, wanted, atol={"c": 0.1})
    with pytest.raises(InvalidArgument, match="'id' needs a column of floats, not int64"):
        assert_table_equal(ours, wanted, atol={"id": 0.1})
    with pytest.raises(InvalidArgument, match="at least 0"):
        assert_table_equal(ours, wanted, atol={"a": -0.1})


@pytest.mark.parametrize("key", [None, "id", ["id", "s"]])
def test_differences_are_rows(key: Any) -> None:
    ours = {"id": [1, 2, 3], "s": ["x", "y", "z"], "v": [[1], None, [3]]}
    wanted = {"id": [1, 2, 4], "s": ["x", "y", "q"], "v": [[1], [2], [4]]}
    with pytest.raises(TableDifferenceError) as caught:
        assert_table_equal(ours, wanted, key=key)
    found = caught.value.to_table()
    keys = [] if key is None else [key] if isinstance(key, str) else key
    assert found.column_names == ["what", *keys, "column", "actual", "expected", "actual_row", "expected_row"]
    cells = {
        (row["what"], row["column"], row["actual"], row["expected"], row["actual_row"], row["expected_row"])
        for row in found.to_pylist()
    }
    if keys:
        assert ("changed", "v", None, "[2]", 1, 1) in cells
        assert {row["id"] for row in found.to_pylist()} == {2, 3, 4}
        assert len(cells) == 7
    else:
        assert ("missing", "v", None, "[2]", None, 1) in cells
        assert ("unexpected", "v", None, None, 1, None) in cells
        assert len(cells) == 12
    assert len(caught.value.to_pandas()) == len(cells)
    assert isinstance(caught.value, AssertionError)


@pytest.mark.parametrize(
    ("query", "row", "message"),
    [
        ("SELECT 's', 5.0::DOUBLE", ("s", 5), "the types differ (value 2 is float, expected int); write 5.0"),
        ("SELECT 1", (True,), "the types differ (value 1 is int, expected bool); write 1"),
        ("SELECT true, 2", (1, 2.0), "value 1 is bool, expected int; value 2 is int, expected float"),
        ("SELECT 's', 5.0::DOUBLE", ("t", 5), None),
        ("SELECT 5.0::DOUBLE", (6,), None),
    ],
)
def test_a_type_that_is_the_fault_is_named(
    orders: lance_sql.Dataset, query: str, row: tuple[object, ...], message: str | None
) -> None:
    shown = said(lambda: assert_sql(orders, query, [row]))
    assert "The query gives other rows than expected" in shown
    assert ("the types differ" in shown) == (message is not None)
    assert message is None or message in shown
