"""Pages of the feed and of row history match the relations."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.changes import feed_page, story_page
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.shown_rows import MAX_COLUMNS


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    """Ten rows; then an update of three, a deletion of one, a merge of one known and one new row, and a restore of the
    deleted row.
    """
    made = lance_sql.write({"id": list(range(10)), "v": [float(n) for n in range(10)]}, tmp_path / "t.lance")
    made = made.update({"v": "v + 100"}, "id < 3").delete("id = 1")
    made = made.merge({"id": [5, 77], "v": [-5.0, 7.0]}, on="id")
    return made.restore(2)


def shown(feed: ChangeFeed, filter: str | None = None) -> dict[str, Any]:
    predicate = None if filter is None else feed.predicate(filter)
    return feed_page._values(feed, predicate, feed_page.MAX_COMMITS, feed_page.MAX_ROWS)


def test_a_feed_is_counted_and_shown_by_commit(table: lance_sql.Dataset) -> None:
    found = shown(table.changes())
    by_version = {each.version: each for each in found["commits"]}
    assert {version: dict(each.counts) for version, each in by_version.items()} == {
        1: {"ins": 10},
        2: {"upd": 3},
        3: {"del": 1},
        4: {"ins": 1, "upd": 1},
        5: {"ins": 1, "upd": 1, "del": 1},
    }
    assert [each.operation for each in found["commits"]] == ["restore", "merge", "delete", "update", "create"]
    updated = [row for row in by_version[2].rows if row.kind == "upd"]
    assert [(row.cells["v"].before, row.cells["v"].value) for row in updated] == [
        (0.0, 100.0),
        (1.0, 101.0),
        (2.0, 102.0),
    ]
    assert not any(row.cells["id"].has_changed for row in updated)
    [gone] = by_version[3].rows
    assert (gone.kind, gone.cells["id"].value, gone.cells["v"].value) == ("del", 1, 101.0)


def test_rows_without_ids_are_paired_by_key(tmp_path: Path) -> None:
    made = lance_sql.write(
        {"id": list(range(40)), "v": ["a"] * 40}, tmp_path / "t.lance", stable_row_ids=False, max_rows_per_file=10
    ).update({"v": "'b'"}, "id % 3 = 0")
    found = shown(made.changes(2, 2, key=["id"]))
    [commit] = found["commits"]
    assert commit.counts == Counter(upd=14)
    assert [row.cells["id"].value for row in commit.rows] == list(range(0, 40, 3))
    assert all((row.cells["v"].before, row.cells["v"].value) == ("a", "b") for row in commit.rows)
    assert "rows matched by id" in made.changes(2, 2, key="id").to_html()


@pytest.mark.parametrize("mode", ["all", "net", "insert_only"])
@pytest.mark.parametrize("filter", [None, "id > 3", "_change_type <> 'delete'", "v < 0"])
def test_a_page_counts_what_the_feed_has(table: lance_sql.Dataset, mode: Any, filter: str | None) -> None:
    feed = table.changes(mode=mode)
    rows = feed.scan(["_change_type"], filter).to_table()["_change_type"].to_pylist()
    kinds = {"insert": "ins", "update_postimage": "upd", "delete": "del"}
    expected = Counter(kinds[kind] for kind in rows if kind in kinds)
    found = shown(feed, filter)
    assert found["totals"] == expected
    assert sum((each.counts for each in found["commits"]), Counter()) == expected
    assert "<h1>" in feed.to_html(filter)


def test_wide_tables_show_what_names_rows_and_what_changed(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(60)]
    made = lance_sql.write(pa.table({name: [1, 2, 3] for name in names}), tmp_path / "t.lance")
    made = made.update({"c59": "c59 + 1"}, "c0 = 2")
    [newest, _] = shown(made.changes())["commits"]
    assert len(newest.names) == MAX_COLUMNS
    assert {"c0", "c59"} <= set(newest.names)
    assert "36 columns not shown" in made.changes().to_html()


def test_many_commits_and_rows_are_counted_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_page, "MAX_COMMITS", 2)
    made = lance_sql.write({"id": list(range(100))}, tmp_path / "t.lance").delete("id < 60").delete("id < 70")
    page = made.changes().to_html()
    assert "1 older commit counted above" in re.sub(r"<[^>]*>", "", page)
    assert "35 rows more" in page
    assert ">100<" in page


def test_rows_have_a_history(table: lance_sql.Dataset) -> None:
    history = table.row_history()
    found = story_page._values(history, history.predicate("id IN (1, 77)"), 20)
    first, second = found["stories"]
    assert [(event.version, event.kind, event.what) for event in first.events] == [
        (1, "ins", "create"),
        (2, "upd", "update"),
        (3, "del", "delete"),
        (5, "ins", "restore"),
    ]
    assert [event.what for event in second.events] == ["merge", "restore: the row is deleted"]
    assert (first.is_current, second.is_current) == (True, False)
    update = first.events[1]
    assert update.names == ["v"]
    assert (update.row.cells["v"].before, update.row.cells["v"].value) == (1.0, 101.0)


def test_a_story_has_images_that_the_filter_does_not_pass(table: lance_sql.Dataset) -> None:
    images = table.row_history().of_rows("v = 101")
    assert images.select(["id", "v", "valid_from_version"]).to_pylist() == [
        {"id": 1, "v": 1.0, "valid_from_version": 1},
        {"id": 1, "v": 101.0, "valid_from_version": 2},
        {"id": 1, "v": 101.0, "valid_from_version": 5},
    ]
    assert table.row_history().of_rows("id = 1234").num_rows == 0
    assert table.row_history().of_rows(max_rows=2)["id"].unique().to_pylist() == [0, 1]


def test_images_before_the_range_come_first(table: lance_sql.Dataset) -> None:
    history = table.row_history(2)
    [story] = story_page._values(history, history.predicate("id = 0"), 20)["stories"]
    assert [(event.version, event.what) for event in story.events] == [(None, "exists"), (2, "update")]
    assert "before version 2" in history.to_html("id = 0")


def test_empty_tables_are_reported(table: lance_sql.Dataset) -> None:
    assert "No rows." in table.row_history().to_html("id = 1234")
    assert "No changes." in table.changes(since=5).to_html()
