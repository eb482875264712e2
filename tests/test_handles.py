"""Handles: what the change did that returned one, which are equal, and their rows as frames."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, TableNotFound, VersionNotFound


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    return lance_sql.write({"id": list(range(10)), "v": ["a"] * 10}, tmp_path / "t.lance")


def counts(dataset: lance_sql.Dataset) -> tuple[Any, ...]:
    change = dataset.last_change
    assert change is not None
    return change.operation, change.rows_inserted, change.rows_updated, change.rows_deleted


def test_changes_report_their_operation(table: lance_sql.Dataset) -> None:
    assert counts(table) == ("create", 10, 0, 0)
    assert counts(table.update({"v": "'b'"}, "id < 3")) == ("update", 0, 3, 0)
    assert counts(table.delete("id = 9")) == ("delete", 0, 0, 1)
    assert counts(table.merge({"id": [1, 50], "v": ["x", "y"]}, on="id")) == ("merge", 1, 1, 0)
    assert counts(table.add_columns({"w": "id + 1"})) == ("add_columns", 0, 10, 0)
    assert counts(lance_sql.write({"id": [7]}, table.uri, mode="append")) == ("insert", 1, 0, 0)
    made = table.indices.create("id", "btree")
    assert counts(made)[0] == "create_index"
    assert counts(made.maintenance.compact())[0] == "compact"
    written = table.update({"v": "'c'"}, "id = 1").last_change
    assert written is not None
    assert (written.files_written, (written.bytes_written or 0) > 0, written.duration_ms is not None) == (1, True, True)


def test_it_matches_the_history(table: lance_sql.Dataset) -> None:
    made = table.delete("id < 4")
    entry, change = made.history()[-1], made.last_change
    assert change is not None
    assert (entry.operation, entry.rows_deleted, entry.duration_ms) == (
        "delete",
        change.rows_deleted,
        change.duration_ms,
    )


def test_a_change_of_nothing_has_zeros(table: lance_sql.Dataset) -> None:
    made = table.delete("id = 1")
    assert counts(made.delete("id = 99")) == ("delete", 0, 0, 0)
    assert counts(table.update({"v": "'x'"}, "id = 99")) == ("update", 0, 0, 0)
    assert counts(made) == ("delete", 0, 0, 1)
    first = lance_sql.write({"id": [5]}, table.uri, mode="append", txn_app_id="job", txn_version=1)
    again = lance_sql.write({"id": [5]}, table.uri, mode="append", txn_app_id="job", txn_version=1)
    assert (counts(first), counts(again)) == (("insert", 1, 0, 0), ("insert", 0, 0, 0))


def test_opening_is_no_change(table: lance_sql.Dataset) -> None:
    assert lance_sql.open(table.uri).last_change is None
    assert table.delete("id = 1").latest().last_change is not None
    assert table.latest().last_change is None


def test_handles_on_one_version_are_equal(
    table: lance_sql.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    same = lance_sql.open("t.lance")
    assert table == same == pickle.loads(pickle.dumps(same))
    assert len({table, same}) == 1
    made = table.delete("id = 1")
    assert made != table
    assert made.restore(1) != table
    assert table != "t.lance"
    branch = table.branches.create("dev")
    assert branch != table
    copy = lance_sql.write(table, tmp_path / "copy.lance")
    assert copy != table


def test_the_newest_version_is_one_call_away(table: lance_sql.Dataset) -> None:
    made = table.delete("id = 1")
    assert (table.latest(), table.version) == (made, 1)
    branch = table.branches.create("dev")
    later = branch.delete("id = 2")
    assert (branch.latest(), later.branch) == (later, "dev")


def test_rows_are_frames(table: lance_sql.Dataset) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert isinstance(table.to_pandas(), pandas.DataFrame)
    assert table.to_pandas(["id"], "id > 7")["id"].tolist() == [8, 9]
    assert table.to_polars(filter="id = 3").rows() == [(3, "a")]
    assert isinstance(table.scan(["id"], limit=2).to_polars(), polars.DataFrame)
    feed = table.delete("id = 1").changes(since=1)
    assert feed.to_pandas()["_change_type"].tolist() == ["delete"]
    assert feed.scan(["id"]).to_polars()["id"].to_list() == [1]


def test_reprs_are_short(table: lance_sql.Dataset) -> None:
    made = table.delete("id = 1")
    assert (
        repr(table.scan(["id"], "id > 3", limit=2))
        == "Scan('t.lance version 1', columns=['id'], filter='id > 3', limit=2)"
    )
    assert repr(made.maintenance.layout()) == "Layout('t.lance version 2', fragments=1, to_compact=0)"
    assert "damage" not in repr(made.history()[0])
    assert repr(made.history()) == "History('t.lance', versions 1-2)"
    assert repr(lance_sql.verify(made.uri)).endswith("versions=2, problems=0)")
    everything = [
        *made.scan().tasks(1),
        made.changes(since=1).scan(),
        *made.changes(since=1).scan().tasks(1),
        made.history(),
    ]
    assert max(len(repr(each)) for each in everything) < 600


def test_the_release_is_known() -> None:
    from importlib.metadata import version

    assert lance_sql.__version__ == version("lance-sql")


def test_rows_may_be_dicts(table: lance_sql.Dataset) -> None:
    made = lance_sql.write([{"id": 20, "v": "x"}, {"id": 21}], table.uri, mode="append")
    assert made.scan(filter="id >= 20").to_table().to_pylist() == [
        {"id": 20, "v": "x"},
        {"id": 21, "v": None},
    ]
    merged = made.merge([{"id": 20, "v": "y"}], on="id")
    assert counts(merged) == ("merge", 0, 1, 0)
    new = lance_sql.write([{"a": 1}, {"b": "two"}], Path(table.uri).parent / "new.lance")
    assert new.scan().to_table().to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": "two"}]
    typed = lance_sql.write(
        [{"a": 1}], Path(table.uri).parent / "typed.lance", schema=pa.schema([("a", pa.int8()), ("b", pa.string())])
    )
    assert typed.schema.types == [pa.int8(), pa.string()]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": 1}, 5], "Part 1 of the rows is a int, not a record batch, table, frame or dict"),
        ([{"id": 1}, {"id": "x"}], "Cannot build a table"),
        ([], "pass schema="),
        ([5], "Part 0 of the rows is a int"),
    ],
)
def test_rows_that_are_no_dicts_are_refused(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        lance_sql.write(rows, tmp_path / "t.lance")
    with pytest.raises(InvalidArgument, match="'b', which is not in the schema"):
        lance_sql.write([{"a": 1, "b": 2}], tmp_path / "t.lance", schema=pa.schema([("a", pa.int64())]))


def test_lazy_frames_are_collected(table: lance_sql.Dataset) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame({"id": [30, 31], "v": ["p", "q"]}).filter(polars.col("id") > 30)
    made = lance_sql.write(frame, table.uri, mode="append")
    assert made.scan(filter="id >= 30").to_table().to_pylist() == [{"id": 31, "v": "q"}]


def test_a_version_stands_behind_the_name_of_a_table(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    made = lance_sql.write({"id": [2]}, made.uri, mode="append")
    made.tags.create("first", 1)
    made.branches.create("dev").delete("id = 1")
    assert [lance_sql.open(f"{made.uri}@{name}").count_rows() for name in ("1", "2", "-1", "first")] == [1, 2, 1, 1]
    assert lance_sql.open(f"{made.uri}@dev").branch == "dev"
    with pytest.raises(VersionNotFound, match="Did you mean 'first'"):
        lance_sql.open(f"{made.uri}@frist")
    with pytest.raises(TableNotFound, match=r"x\.lance@3"):
        lance_sql.open(tmp_path / "x.lance@3")
    named = lance_sql.write({"id": [1, 2, 3]}, tmp_path / "a@b.lance")
    assert lance_sql.open(named.uri).count_rows() == 3


def test_two_versions_of_a_table_are_compared_by_their_numbers(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    for number in (2, 3):
        made = lance_sql.write({"id": [number]}, made.uri, mode="append")
    assert lance_sql.diff(made, 1, 2).rows_inserted == 1
    assert lance_sql.diff(made.uri, 1).rows_inserted == 2
    assert lance_sql.diff(made, 3, 1).rows_deleted == 2
    with pytest.raises(VersionNotFound, match="Version 9"):
        lance_sql.diff(made, 1, 9)
    with pytest.raises(InvalidArgument, match="not a number"):
        lance_sql.diff(made, 1, "id")
    with pytest.raises(InvalidArgument, match="is not a column"):
        lance_sql.diff(made, made, 1)
