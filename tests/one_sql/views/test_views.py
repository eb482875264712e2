"""Materialized views: creation, reports of refreshes, and errors."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli import main
from lance_sql.errors import CorruptFile, InvalidArgument, LanceError, TableExists, UnsupportedFeature
from lance_sql.jobs.distributed import change_rows
from lance_sql.one_sql import views

QUERY = "SELECT customer, sum(amount)::BIGINT AS spent FROM 'orders.lance' GROUP BY customer"
ORDERS = pa.table({"id": [1, 2, 3], "customer": ["ada", "bo", "ada"], "amount": [10, 20, 5]})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lance_sql.write(ORDERS, "orders.lance")
    lance_sql.write(pa.table({"name": ["ada", "bo"], "town": ["Bonn", "Trier"]}), "people.lance")
    return tmp_path


def rows(view: lance_sql.View | str) -> list[tuple[Any, ...]]:
    dataset = view.dataset if isinstance(view, lance_sql.View) else lance_sql.open(view)
    return sorted((tuple(row.values()) for row in dataset.scan().to_table().to_pylist()), key=str)


def append(**columns: list[Any]) -> None:
    lance_sql.write(pa.table(columns), "orders.lance", mode="append")


def test_a_row_of_a_group_keeps_its_id_and_the_feed_tells_of_it() -> None:
    view = lance_sql.materialize(QUERY, "spent.lance")
    append(id=[4], customer=["bo"], amount=[1])
    done = view.refresh()
    assert (done.mode, done.rows_inserted, done.rows_updated, done.rows_deleted) == ("changes", 0, 1, 0)
    changes = view.dataset.changes(since=2).scan(["_change_type", "customer", "spent"]).to_table().to_pylist()
    assert [tuple(change.values()) for change in changes] == [
        ("update_preimage", "bo", 20),
        ("update_postimage", "bo", 21),
    ]


def test_nothing_is_committed_where_no_table_has_a_new_version() -> None:
    view = lance_sql.materialize(QUERY, "spent.lance")
    assert view.refresh().mode == "unchanged"
    assert lance_sql.materialize(QUERY, "spent.lance").dataset.version == view.dataset.version == 2


def test_a_compaction_changes_no_row() -> None:
    view = lance_sql.materialize(QUERY, "spent.lance")
    append(id=[4], customer=["bo"], amount=[1])
    view.refresh()
    lance_sql.open("orders.lance").maintenance.compact()
    done = view.refresh(verify=True)
    assert (done.mode, done.rows_inserted + done.rows_updated + done.rows_deleted) == ("changes", 0)
    assert view.refresh().mode == "unchanged"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT sum(amount) AS s FROM 'orders.lance'", "one row of all rows"),
        ("SELECT median(amount) AS s FROM 'orders.lance'", "one row of all rows"),
        ("SELECT id FROM 'orders.lance' LIMIT 2", "LIMIT"),
        ("SELECT id, rank() OVER (ORDER BY id) AS r FROM 'orders.lance'", "window"),
        ("WITH o AS (FROM 'orders.lance') SELECT id FROM o", "WITH"),
        ("SELECT id FROM 'orders.lance' UNION ALL SELECT 9", "UNION"),
        ("SELECT id FROM 'orders.lance' WHERE id IN (SELECT 1)", "query within"),
        ("SELECT id, random() AS r FROM 'orders.lance'", "random gives another value"),
        ("SELECT id, current_date AS d FROM 'orders.lance'", "current_date gives another value"),
        ("SELECT id FROM 'orders.lance@1'", "no Lance table at its newest version"),
        ("SELECT id, _rowid AS r FROM lance_scan('orders.lance')", "no Lance table at its newest version"),
        ("SELECT sum(amount) AS s FROM 'orders.lance' GROUP BY customer", "does not select customer"),
        ("SELECT id FROM 'orders.lance' o FULL JOIN 'people.lance' p ON o.customer = p.name", "FULL JOIN"),
        ("SELECT id FROM 'orders.lance' WHERE customer ~ 'a.*'", "cannot be computed alone"),
        (
            "SELECT customer, amount, count(*) AS n FROM 'orders.lance' GROUP BY CUBE (customer, amount)",
            # as releases of sqlglot read it
            "CUBE|groups of several kinds",
        ),
    ],
)
def test_unsupported_queries_are_recomputed_with_a_reason(query: str, reason: str) -> None:
    view = lance_sql.materialize(query, "view.lance")
    append(id=[4], customer=["bo"], amount=[100])
    done = view.refresh()
    assert done.mode == "whole"
    assert re.search(reason, done.reason or ""), done.reason
    expected = lance_sql.sql(query).to_table()
    if "random" not in query:
        assert rows(view) == sorted((tuple(row.values()) for row in expected.to_pylist()), key=str)


def _no_versions() -> None:
    append(id=[4], customer=["bo"], amount=[1])
    lance_sql.open("orders.lance").maintenance.cleanup(older_than=timedelta(0))


def _replaced() -> None:
    shutil.rmtree("orders.lance")
    lance_sql.write(ORDERS.slice(1), "orders.lance")
    append(id=[4], customer=["bo"], amount=[1])


def _more_columns() -> None:
    lance_sql.open("orders.lance").add_columns({"twice": "amount * 2"})


def _by_hand() -> None:
    lance_sql.open("orders.lance").delete("id = 1")
    lance_sql.open("view.lance").delete("id = 1")


@pytest.mark.parametrize(
    ("happened", "reason"),
    [
        (_no_versions, "was cleaned up"),
        (_replaced, "was replaced"),
        (_more_columns, "the columns of"),
        (_by_hand, "by hand"),
    ],
)
def test_a_refresh_without_a_shortcut_runs_the_query(happened: Callable[[], None], reason: str) -> None:
    view = lance_sql.materialize("SELECT id, customer FROM 'orders.lance'", "view.lance")
    happened()
    done = view.refresh(verify=True)
    assert (done.mode, reason in (done.reason or "")) == ("whole", True), done.reason
    expected = lance_sql.sql("SELECT id, customer FROM 'orders.lance'").to_pylist()
    assert rows(view) == sorted(tuple(row.values()) for row in expected)


@pytest.mark.parametrize("value", [None, "amount + 1"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, amount FROM 'orders.lance'",
        "SELECT id FROM 'orders.lance' WHERE amount > 5",
        "SELECT amount, count(*) AS n FROM 'orders.lance' GROUP BY amount",
        "SELECT DISTINCT amount FROM 'orders.lance'",
        "SELECT name, amount FROM 'people.lance' LEFT JOIN 'orders.lance' ON customer = name",
    ],
)
def test_a_column_in_the_place_of_one_that_was_dropped_is_another_one(query: str, value: str | None) -> None:
    view = lance_sql.materialize(query, "view.lance")
    orders = lance_sql.open("orders.lance").rename_columns({"amount": "old"})
    field = pa.field("amount", pa.int64())
    orders = orders.add_columns([field] if value is None else {"amount": value.replace("amount", "old")})
    orders.drop_columns("old")
    done = view.refresh()
    assert (done.mode, "the columns of" in (done.reason or "")) == ("whole", True), done.reason
    expected = lance_sql.sql(query).to_pylist()
    assert rows(view) == sorted((tuple(row.values()) for row in expected), key=str)


def test_an_overwrite_with_a_column_that_was_renamed_away_is_another_column() -> None:
    query = "SELECT DISTINCT customer, amount FROM 'orders.lance'"
    view = lance_sql.materialize(query, "view.lance")
    orders = lance_sql.open("orders.lance")
    rewritten = orders.to_table()
    orders = orders.rename_columns({"amount": "old"})
    # the new columns have the numbers of the old ones
    orders = lance_sql.write(rewritten.slice(0, 1), orders, mode="overwrite")
    done = view.refresh()
    assert (done.mode, "the columns of" in (done.reason or "")) == ("whole", True), done.reason
    assert rows(view) == sorted(tuple(row.values()) for row in lance_sql.sql(query).to_pylist())


def test_rows_of_two_time_zones_are_not_mixed() -> None:
    moments = pa.array([hour * 3_600_000_000 for hour in range(100)], pa.int64()).cast(pa.timestamp("us", "UTC"))
    logins = lance_sql.write(pa.table({"id": range(100), "moment": moments}), "logins.lance")
    query = "SELECT moment::DATE AS day, count(*) AS n FROM 'logins.lance' GROUP BY day"
    view = lance_sql.materialize(query, "days.lance")
    logins = logins.delete("id = 30")
    script = "import lance_sql; print(lance_sql.View.open('days.lance').refresh())"
    environment = {**os.environ, "TZ": "Pacific/Kiritimati"}
    told = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True)
    assert "computed anew (the time zone is Pacific/Kiritimati now, and was" in told.stdout
    moved = duckdb.connect()
    moved.execute("SET TimeZone = 'Pacific/Kiritimati'")
    moved.register("arrow", logins.scan().to_table())
    assert rows("days.lance") == sorted(moved.execute(query.replace("'logins.lance'", "arrow")).fetchall(), key=str)
    # and back
    assert view.refresh().mode == "unchanged"
    logins.delete("id = 31")
    assert "the time zone is" in (view.refresh(verify=True).reason or "")


def test_a_definition_without_a_time_zone_is_computed_anew() -> None:
    view = lance_sql.materialize(QUERY, "spent.lance")
    content = json.loads(view.dataset.snapshot.manifest.config["lance_sql.view"])
    del content["time_zone"]
    view.dataset.config.update({"lance_sql.view": json.dumps(content)})
    append(id=[4], customer=["bo"], amount=[1])
    assert "was not written down" in (view.refresh(verify=True).reason or "")
    append(id=[5], customer=["bo"], amount=[1])
    assert view.refresh(verify=True).mode == "changes"


def test_tables_without_stable_row_ids_are_read_whole() -> None:
    lance_sql.write(ORDERS, "plain.lance", stable_row_ids=False)
    view = lance_sql.materialize("SELECT id FROM 'plain.lance'", "view.lance")
    lance_sql.open("plain.lance").delete("id = 1")
    done = view.refresh()
    assert (done.mode, rows(view)) == ("whole", [(2,), (3,)])
    assert "no stable row ids" in (done.reason or "")


def test_verify_finds_what_was_changed_by_hand() -> None:
    view = lance_sql.materialize(QUERY, "spent.lance")
    view.dataset.update({"spent": "0"}, "customer = 'bo'")
    with pytest.raises(LanceError, match=r"differs from its query in 1 rows: recompute it with refresh\(full=True\)"):
        view.refresh(verify=True)
    view.refresh(full=True, verify=True)
    assert rows(view) == [("ada", 15), ("bo", 20)]


def test_verify_finds_a_row_that_is_there_twice() -> None:
    view = lance_sql.materialize(QUERY, "spent.lance")
    lance_sql.write(pa.table({"customer": ["bo"], "spent": [20]}), "spent.lance", mode="append")
    with pytest.raises(LanceError, match="in 1 rows"):
        view.refresh(verify=True)


def test_tables_beside_the_view_are_found_where_both_were_moved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lance_sql.materialize(QUERY, "spent.lance")
    append(id=[4], customer=["bo"], amount=[1])
    (folder / "moved").mkdir()
    for name in ("orders.lance", "spent.lance"):
        shutil.move(folder / name, folder / "moved" / name)
    monkeypatch.chdir(folder / "moved" / "orders.lance")
    view = lance_sql.View.open(folder / "moved" / "spent.lance")
    assert view.refresh(verify=True).mode == "changes"
    assert rows(view) == [("ada", 15), ("bo", 21)]


def test_a_view_over_a_view() -> None:
    first = lance_sql.materialize(QUERY, "spent.lance")
    second = lance_sql.materialize("SELECT customer FROM 'spent.lance' WHERE spent > 15", "rich.lance")
    append(id=[4], customer=["ada"], amount=[100])
    first.refresh()
    assert second.refresh(verify=True).mode == "changes"
    assert rows(second) == [("ada",), ("bo",)]


def test_refreshes_at_the_same_time_count_nothing_twice() -> None:
    lance_sql.materialize("SELECT id FROM 'orders.lance' WHERE id > 0", "view.lance")
    for number in range(4, 9):
        append(id=[number], customer=["bo"], amount=[1])
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: lance_sql.View.open("view.lance").refresh(), range(4)))
        assert rows("view.lance") == [(each,) for each in range(1, number + 1)]


def test_a_refresh_that_comes_second_takes_what_the_first_has(monkeypatch: pytest.MonkeyPatch) -> None:
    view = lance_sql.materialize("SELECT id FROM 'orders.lance' WHERE id > 0", "view.lance")
    append(id=[4], customer=["bo"], amount=[1])
    run = change_rows

    def another_is_first(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(views.view, "change_rows", run)
        append(id=[5], customer=["bo"], amount=[1])
        lance_sql.View.open("view.lance").refresh()
        return run(*arguments, **options)

    monkeypatch.setattr(views.view, "change_rows", another_is_first)
    done = view.refresh(verify=True)
    assert (done.mode, rows(view)) == ("changes", [(1,), (2,), (3,), (4,), (5,)])


def test_a_definition_of_other_tables_is_computed_anew() -> None:
    view = lance_sql.materialize(QUERY, "spent.lance")
    text = view.dataset.snapshot.manifest.config["lance_sql.view"]
    view.dataset.config.update({"lance_sql.view": text.replace('"name":"orders.lance"', '"name":"other.lance"')})
    assert view.refresh(verify=True).reason == "it remembers versions of other tables"


def test_another_query_needs_replace() -> None:
    lance_sql.materialize(QUERY, "spent.lance")
    other = QUERY.replace("sum", "max")
    with pytest.raises(InvalidArgument, match=r"a view of another query: .*; pass replace=True \(--replace\)"):
        lance_sql.materialize(other, "spent.lance")
    assert rows(lance_sql.materialize(other, "spent.lance", replace=True)) == [("ada", 10), ("bo", 20)]
    with pytest.raises(InvalidArgument, match="drop the view"):
        lance_sql.materialize("SELECT id FROM 'orders.lance'", "spent.lance", replace=True)


def test_invalid_requests_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="is not a view"):
        lance_sql.materialize(QUERY, "people.lance")
    with pytest.raises(InvalidArgument, match=r"not a materialized view: create one with materialize"):
        lance_sql.View.open("people.lance")
    with pytest.raises(InvalidArgument, match="needs one query"):
        lance_sql.materialize("DROP TABLE x", "new.lance")
    with pytest.raises(InvalidArgument, match="named 'id'"):
        lance_sql.materialize("SELECT id, id FROM 'orders.lance'", "new.lance")
    assert not Path("new.lance").exists()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"query": 1, "sources": []}',
        '{"query": "x", "sources": [{}]}',
        '{"query": "x", "sources": [], "time_zone": 1}',
    ],
)
def test_a_definition_that_is_damaged(text: str) -> None:
    view = lance_sql.materialize(QUERY, "spent.lance")
    view.dataset.config.update({"lance_sql.view": text})
    with pytest.raises(CorruptFile, match=r"lance_sql\.view"):
        lance_sql.View.open("spent.lance")


def test_a_table_that_is_gone_is_named() -> None:
    view = lance_sql.materialize(QUERY, "spent.lance")
    shutil.rmtree("orders.lance")
    with pytest.raises(lance_sql.TableNotFound, match=r"orders\.lance"):
        view.refresh()


def test_statements(folder: Path) -> None:
    statement = f"CREATE MATERIALIZED VIEW 'spent.lance' AS {QUERY}"
    lance_sql.sql(statement)
    with pytest.raises(TableExists, match="REFRESH MATERIALIZED VIEW"):
        lance_sql.sql(statement)
    lance_sql.sql(statement.replace("VIEW", "VIEW IF NOT EXISTS"))
    append(id=[4], customer=["bo"], amount=[1])
    refresh = "REFRESH MATERIALIZED VIEW 'spent.lance'"
    # connections of DuckDB 1.5 are plain
    run = lance_sql.sql if duckdb.__version__.startswith("1.") else lance_sql.connect().sql
    (row,) = run(refresh).fetchall()
    assert row == ("refresh", 3, 0, 1, 0)
    assert rows("spent.lance") == [("ada", 15), ("bo", 21)]
    lance_sql.sql(f"CREATE OR REPLACE MATERIALIZED VIEW 'spent.lance' AS {QUERY.replace('sum', 'min')}")
    assert rows("spent.lance") == [("ada", 5), ("bo", 1)]
    with pytest.raises(UnsupportedFeature, match="engine='duckdb'"):
        lance_sql.sql("REFRESH MATERIALIZED VIEW 'spent.lance'", "datafusion")
    lance_sql.sql("DROP MATERIALIZED VIEW 'spent.lance'")
    assert not (folder / "spent.lance").exists()


def test_commands() -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        return result.output

    assert "computed anew (it is new), +2 ~0 -0 rows" in run("materialize", QUERY, "spent.lance")
    append(id=[4], customer=["bo"], amount=[1])
    assert "from what changed, +0 ~1 -0 rows" in run("refresh", "spent.lance", "--verify")
    assert "nothing new" in run("refresh", "spent.lance")
    assert "it was asked for" in run("refresh", "spent.lance", "--full")
    result = CliRunner().invoke(main, ["refresh", "people.lance"])
    assert result.exit_code != 0
