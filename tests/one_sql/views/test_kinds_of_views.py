"""Refreshes of queries that cannot be followed row by row, after types changed, and of views changed by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, LanceError, UnsupportedFeature
from lance_sql.one_sql.views import View


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table() -> Dataset:
    rows = {
        "id": [1, 2, 3, 4],
        "n": [10, 20, 30, 40],
        "k": ["ADA", "bo", "ada", None],
        "tags": [["a"], ["b", "c"], [], None],
        "s": [{"p": 1, "q": 2}, {"p": 2, "q": 3}, None, {"p": 1, "q": 2}],
    }
    return lance_sql.write(rows, "t.lance")


def rows(relation: Any) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in relation.to_pylist())


def check(view: View, query: str, **mode: str) -> None:
    done = view.refresh()
    assert rows(done.dataset.scan().to_table()) == rows(lance_sql.sql(query)), str(done)
    assert not mode or done.mode == mode["mode"], str(done)


WHOLE = [
    "SELECT id, to_json(x) AS doc FROM 't.lance' x",
    "SELECT id, to_json(t) AS doc FROM 't.lance'",
    "SELECT id, md5(x::VARCHAR) AS m FROM 't.lance' x",
    "SELECT id, length(to_json(x)::VARCHAR) AS l FROM 't.lance' x WHERE to_json(x)::VARCHAR LIKE '%id%'",
    "SELECT hash(x) AS h, count(*) AS c FROM 't.lance' x GROUP BY ALL",
    "SELECT DISTINCT x FROM 't.lance' x",
    "SELECT id, x FROM 't.lance' AS x",
    "SELECT id, x['n'] AS n FROM 't.lance' x",
    "SELECT k, max(x) AS m FROM 't.lance' x GROUP BY k",
    "SELECT n, #1 AS first FROM 't.lance'",
    "SELECT #2 AS second, id FROM 't.lance' ORDER BY #1",
    "SELECT k COLLATE NOCASE AS k, count(*) AS c FROM 't.lance' GROUP BY ALL",
    "SELECT DISTINCT k COLLATE NOCASE AS k FROM 't.lance'",
    "SELECT k, sum(n) AS total, count(*) AS c, total / c AS mean FROM 't.lance' GROUP BY ALL",
    "SELECT unnest(tags) AS tag, count(*) AS c FROM 't.lance' GROUP BY tag",
    "SELECT DISTINCT unnest(tags) AS tag FROM 't.lance'",
    "SELECT json_group_array(n) AS a FROM 't.lance'",
    "SELECT geomean(n) AS g FROM 't.lance'",
    "SELECT id, s.* FROM 't.lance'",
    "SELECT id, unnest(s) FROM 't.lance'",
    "SELECT upper(k) AS u, u || '!' AS v, count(*) AS c FROM 't.lance' GROUP BY ALL",
]
FOLLOWED = [
    "SELECT k, weighted_avg(n, id) AS w FROM 't.lance' GROUP BY ALL",
    "SELECT id, s.p AS p, x.s.q AS q, s['p'] AS r FROM 't.lance' x",
    "SELECT id, list_transform(tags, lambda e: e || k) AS l FROM 't.lance'",
    "SELECT id, n * 2 AS d FROM 't.lance' WHERE d > 20",
    "SELECT id, n AS m, m + 1 AS o FROM 't.lance'",
    "SELECT k, sum(n)::BIGINT AS total FROM 't.lance' GROUP BY k HAVING total > 10 ORDER BY total",
    "SELECT upper(k) AS u, count(*) AS c FROM 't.lance' GROUP BY u",
    "SELECT T.ID, unnest(tags) AS tag FROM 't.lance'",
]


@pytest.mark.parametrize(
    ("query", "mode"), [*((each, "whole") for each in WHOLE), *((each, "changes") for each in FOLLOWED)]
)
def test_a_refresh_gives_the_rows_of_the_query(query: str, mode: str) -> None:
    if duckdb.__version__ < "2" and "unnest(tags) AS tag, count" in query:
        pytest.skip("DuckDB 1.5 does not group by unnest()")
    source = table()
    view = lance_sql.materialize(query, "v.lance")
    source = source.update({"n": "n + 1"}, "id = 2")
    check(view, query, mode=mode)
    source = lance_sql.write(
        {"id": [5], "n": [50], "k": ["Ada"], "tags": [["c"]], "s": [{"p": 9, "q": 9}]}, source, mode="append"
    )
    check(view, query, mode=mode)
    source.delete("id = 1")
    check(view, query, mode=mode)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pa.array([1, 2]), pa.array([1.5, 2.25])),
        (pa.array([1, 2]), pa.array(["a", "b"])),
        (pa.array(["1", "2"]), pa.array([1, 2])),
        (pa.array([True, False]), pa.array([5, 6])),
        (pa.array([1, 2], pa.date32()), pa.array([1, 10**15], pa.timestamp("us"))),
        (pa.array([1, 2], pa.timestamp("us")), pa.array([1, 2], pa.timestamp("us", "UTC"))),
        (pa.array([1, 2], pa.timestamp("s")), pa.array([1, 2], pa.timestamp("ns"))),
        (pa.array([1, 2], pa.time64("us")), pa.array([1, 2], pa.timestamp("us"))),
        (pa.array([1, 2], pa.decimal128(3, 2)), pa.array([1.1051, 2])),
        (pa.array([[1], [2]]), pa.array([[1.5], [2]])),
        (pa.array([{"a": 1}, None]), pa.array([{"a": 1.5}, None])),
        (pa.array([{"a": 1}, None]), pa.array([{"b": 1}, None])),
    ],
)
@pytest.mark.parametrize("query", ["SELECT id, max(v) AS v FROM 't.lance' GROUP BY id", "SELECT id, v FROM 't.lance'"])
def test_a_type_that_changed_is_refused(query: str, before: pa.Array, after: pa.Array) -> None:
    lance_sql.write(pa.table({"id": [1, 2], "v": before}), "t.lance")
    view = lance_sql.materialize(query, "v.lance")
    expected = view.dataset.to_table()
    lance_sql.write(pa.table({"id": [1, 2], "v": after}), "t.lance", mode="overwrite")
    for _ in range(2):
        with pytest.raises(
            InvalidArgument, match=r"cannot hold the column v, which is .* drop the view .* and create it again"
        ):
            view.refresh()
    assert lance_sql.open("v.lance").to_table() == expected


@pytest.mark.parametrize("query", ["SELECT id, max(v) AS v FROM 't.lance' GROUP BY id", "SELECT id, v FROM 't.lance'"])
def test_a_type_that_the_view_holds_is_taken(query: str) -> None:
    lance_sql.write(pa.table({"id": [1, 2], "v": pa.array([1, 2], pa.int64())}), "t.lance")
    view = lance_sql.materialize(query, "v.lance")
    lance_sql.write(pa.table({"id": [1, 2], "v": pa.array([5, 6], pa.int32())}), "t.lance", mode="overwrite")
    assert sorted(view.refresh().dataset.to_table()["v"].to_pylist()) == [5, 6]


def test_a_source_that_gets_stable_row_ids_can_be_refreshed() -> None:
    source = lance_sql.write({"id": [1, 2]}, "t.lance", stable_row_ids=False)
    view = lance_sql.materialize("SELECT id FROM 't.lance'", "v.lance")
    source = source.maintenance.enable_stable_row_ids()
    lance_sql.write({"id": [3]}, source, mode="append")
    check(view, "SELECT id FROM 't.lance'", mode="whole")


@pytest.mark.parametrize("names", ['id AS a, n AS "A"', "id, n AS ID", "id AS a, n AS a"])
def test_two_columns_of_one_name_make_no_view(names: str, tmp_path: Path) -> None:
    table()
    with pytest.raises(InvalidArgument, match="Two columns"):
        lance_sql.materialize(f"SELECT {names} FROM 't.lance'", "v.lance")
    assert not (tmp_path / "v.lance").exists()


SETTINGS = ["SET TimeZone = 'Asia/Tokyo'", "SET default_collation = 'NOCASE'", "SET default_null_order = 'nulls_first'"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_view_is_computed_with_the_settings_of_its_session(setting: str) -> None:
    moments = pa.array([20 * 3600 * 10**6, 10 * 3600 * 10**6]).cast(pa.timestamp("us", "UTC"))
    source = lance_sql.write(pa.table({"t": moments, "k": ["ada", "ADA"], "n": [1, None]}), "t.lance")
    query = "SELECT t::DATE AS d, k, list(n ORDER BY n) AS l FROM 't.lance' GROUP BY ALL"
    connection = lance_sql.connect()
    connection.execute(setting)
    lance_sql.sql(f"CREATE MATERIALIZED VIEW 'v.lance' AS {query}", connection=connection)

    def expected() -> Counter[str]:
        return rows(lance_sql.sql(query, connection=connection))

    assert rows(lance_sql.open("v.lance").to_table()) == expected()
    lance_sql.write(pa.table({"t": moments, "k": ["Ada", "ADA"], "n": [3, None]}), source, mode="append")
    lance_sql.sql("REFRESH MATERIALIZED VIEW 'v.lance'", connection=connection)
    assert rows(lance_sql.open("v.lance").to_table()) == expected()
    source.update({"n": "n + 1"}, "k = 'ada'")
    # another session
    view = View("v.lance")
    check(view, query, mode="whole")


def test_a_view_has_nothing_of_one_connection_alone() -> None:
    table()
    connection = lance_sql.connect()
    connection.execute("CREATE TABLE own AS SELECT 1 AS a; CREATE MACRO plus(a) AS a + 1")
    for query in ("SELECT plus(n) AS p FROM 't.lance'", "SELECT id, a FROM 't.lance', own"):
        with pytest.raises(LanceError):
            lance_sql.sql(f"CREATE MATERIALIZED VIEW 'v.lance' AS {query}", connection=connection)


def _overwritten(view: Dataset) -> Dataset:
    return lance_sql.write({"k": ["x"], "c": [7]}, view, mode="overwrite")


BY_HAND: list[Callable[[Dataset], Dataset]] = [
    _overwritten,
    lambda view: view.update({"c": "9"}, "k = 'bo'"),
    lambda view: lance_sql.write({"k": ["bo"], "c": [1]}, view, mode="append"),
    lambda view: view.delete("k = 'bo'"),
    lambda view: view.delete("true"),
    lambda view: lance_sql.write({"k": ["bo"], "c": [1]}, view, mode="append").maintenance.compact(),
]


@pytest.mark.parametrize("change", BY_HAND)
@pytest.mark.parametrize("has_new", [True, False])
def test_a_view_that_was_changed_by_hand_is_computed_anew(change: Callable[[Dataset], Dataset], has_new: bool) -> None:
    source = table()
    query = "SELECT k, count(*) AS c FROM 't.lance' GROUP BY k"
    view = lance_sql.materialize(query, "v.lance")
    try:
        change(view.dataset.latest())
    except UnsupportedFeature:
        pytest.skip("not of views")
    if has_new:
        lance_sql.write({"id": [5], "n": [1], "k": ["bo"], "tags": [[]], "s": [None]}, source, mode="append")
    check(View("v.lance"), query, mode="whole")
    check(View("v.lance"), query, mode="unchanged")


@pytest.mark.parametrize(
    "keep", [lambda view: view.maintenance.compact(), lambda view: view.indices.create("c", "btree"), lambda view: view]
)
def test_a_view_that_was_kept_in_order_is_not(keep: Callable[[Dataset], Dataset]) -> None:
    source = table()
    query = "SELECT k, count(*) AS c FROM 't.lance' GROUP BY k"
    view = lance_sql.materialize(query, "v.lance")
    keep(view.dataset.latest())
    check(View("v.lance"), query, mode="unchanged")
    source.delete("id = 1")
    check(View("v.lance"), query, mode="changes")


def test_a_column_that_cannot_be_stored_makes_no_view(tmp_path: Path) -> None:
    table()
    with pytest.raises(UnsupportedFeature, match="union"):
        lance_sql.materialize("SELECT union_value(a := n) AS u FROM 't.lance'", "v.lance")
    assert not (tmp_path / "v.lance").exists()
