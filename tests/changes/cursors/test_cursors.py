"""Promises of a cursor: each change is delivered once, despite crashes and races."""

from __future__ import annotations

import json
import pickle
import threading
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Cursor, Dataset
from lance_sql.errors import CommitConflict, CorruptFile, InvalidArgument, VersionNotFound
from lance_sql.writes.commit import cleanup


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"id": [1, 2, 3], "v": ["a", "b", "c"]}, tmp_path / "t.lance")


def kinds(cursor: Cursor) -> list[tuple[str, int]]:
    """Takes what there is."""
    with cursor.read() as changes:
        rows = changes.scan(["_change_type", "id"]).to_table()
    return sorted(zip(rows["_change_type"].to_pylist(), rows["id"].to_pylist(), strict=True))


def test_each_run_takes_what_was_committed_since_the_last(table: Dataset) -> None:
    cursor = table.cursors.open("warehouse", start="earliest")
    assert kinds(cursor) == [("insert", 1), ("insert", 2), ("insert", 3)]
    assert kinds(cursor) == []
    table.delete("id = 2")
    table.update({"v": "'z'"}, "id = 3")
    # another handle, in another process, has the same place
    again = lance_sql.open(table.uri).cursors.open("warehouse", start="latest")
    assert again.position == 1
    assert kinds(again) == [("delete", 2), ("update_postimage", 3), ("update_preimage", 3)]
    assert cursor.position == 3


def test_a_block_that_fails_takes_nothing(table: Dataset) -> None:
    cursor = table.cursors.open("w")
    with pytest.raises(ZeroDivisionError), cursor.read() as changes:
        _ = changes.count_rows() / 0
    assert cursor.position == 0
    assert len(kinds(cursor)) == 3


@pytest.mark.parametrize(
    ("start", "expected"),
    [("earliest", 4), ("latest", 0), ("snapshot", 2), (2, 1), ("audited", 4), (1, 2)],
)
def test_where_a_new_cursor_begins(table: Dataset, start: str | int, expected: int) -> None:
    table.tags.create("audited")
    now = table.delete("id = 1")
    cursor = now.cursors.open("w", start=start)
    with cursor.read(mode="net" if start == 1 else "all") as changes:
        count = changes.count_rows()
    assert count == expected
    assert kinds(cursor) == []


def test_peek_and_lag_move_nothing(table: Dataset) -> None:
    cursor = table.cursors.open("w", start="latest")
    assert cursor.lag() == lance_sql.changes.cursors.Lag(0, 0, 0.0)
    table.delete("id < 3")
    lag = cursor.lag()
    assert (lag.versions, lag.rows) == (1, 2)
    assert lag.seconds > 0
    assert cursor.peek().count_rows() == 2
    assert cursor.peek(mode="net").count_rows("_change_type = 'delete'") == 2
    assert cursor.position == 1


def test_until_takes_a_part(table: Dataset) -> None:
    table.delete("id = 1")
    table.delete("id = 2")
    cursor = table.cursors.open("w")
    with cursor.read(until=2) as changes:
        assert changes.end == 2
    assert cursor.position == 2
    with pytest.raises(InvalidArgument, match="the position of the cursor 'w'"), cursor.read(until=1):
        pass
    assert kinds(cursor) == [("delete", 2)]


def test_seek(table: Dataset) -> None:
    table.delete("id = 1")
    cursor = table.cursors.open("w", start="latest")
    assert kinds(cursor.seek(2)) == [("delete", 1)]
    assert kinds(cursor.seek("snapshot")) == [("insert", 2), ("insert", 3)]
    assert len(kinds(cursor.seek("earliest"))) == 4
    assert kinds(cursor.seek("latest")) == []
    with pytest.raises(VersionNotFound):
        cursor.seek(17)
    with pytest.raises(VersionNotFound, match="neither a tag"):
        cursor.seek("nothing")


def test_a_dropped_cursor_is_gone_and_its_name_is_free(table: Dataset) -> None:
    cursor = table.cursors.open("warehouse")
    kinds(cursor)
    cursor.drop()
    with pytest.raises(VersionNotFound, match="No cursor 'warehouse'"):
        cursor.read().__enter__()
    with pytest.raises(VersionNotFound):
        cursor.drop()
    assert table.cursors.list() == {}
    assert table.cursors.open("warehouse").position == 0


def test_one_of_two_concurrent_runs_moves_the_cursor(table: Dataset) -> None:
    cursor = table.cursors.open("w")
    with pytest.raises(CommitConflict, match="another run"), cursor.read():
        assert len(kinds(table.cursors.open("w"))) == 3
    assert cursor.position == 1


def test_many_runs_at_once_take_every_version_once(table: Dataset) -> None:
    for number in range(10, 30):
        lance_sql.write({"id": [number], "v": ["x"]}, table.uri, mode="append")
    table.cursors.open("w")
    taken: list[int] = []

    def run() -> None:
        cursor = lance_sql.open(table.uri).cursors.open("w")
        while (position := cursor.position) < 21:
            try:
                with cursor.read(until=min(position + 2, 21)) as changes:
                    ids = changes.scan(["id"]).to_table()["id"].to_pylist()
            except (CommitConflict, InvalidArgument):
                continue
            taken.extend(ids)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [1, 2, 3, *range(10, 30)]


def test_a_commit_has_the_changes_once(table: Dataset, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.lance")
    cursor = table.cursors.open("w")

    def run_that_dies() -> None:
        with cursor.read(target=copy) as changes:
            lance_sql.write(changes.scan(["id", "v"]), copy, properties=changes.properties)
            # between the commit and the move of the cursor
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_that_dies()
    assert cursor.position == 0
    lance_sql.write({"id": [4], "v": ["d"]}, table.uri, mode="append")
    with cursor.read(target=lance_sql.open(copy)) as changes:
        assert (changes.start, changes.end) == (2, 2)
        lance_sql.write(changes.scan(["id", "v"]), copy, mode="append", properties=changes.properties)
    assert lance_sql.open(copy).scan(["id"]).to_table()["id"].to_pylist() == [1, 2, 3, 4]
    with cursor.read(target=copy) as changes:
        assert changes.count_rows() == 0


@pytest.mark.parametrize("verb", ["append", "overwrite", "merge", "delete", "update"])
def test_a_rival_that_committed_first_is_a_conflict_for_every_verb(table: Dataset, tmp_path: Path, verb: str) -> None:
    copy = lance_sql.write({"id": [0], "v": ["0"]}, tmp_path / "copy.lance")
    cursor = table.cursors.open("w")
    with cursor.read() as changes:
        properties = changes.properties
        copy.update({"v": "'first'"}, "true", properties=properties)
    rows = {"id": [0], "v": ["second"]}
    calls = {
        "append": lambda: lance_sql.write(rows, copy.uri, mode="append", properties=properties),
        "overwrite": lambda: lance_sql.write(rows, copy.uri, mode="overwrite", properties=properties),
        "merge": lambda: copy.merge(rows, on="id", properties=properties),
        "delete": lambda: copy.delete("id = 0", properties=properties),
        "update": lambda: copy.update({"v": "'second'"}, "true", properties=properties),
    }
    with pytest.raises(CommitConflict, match="has the changes up to version 1"):
        calls[verb]()
    latest = copy.latest()
    assert (latest.version, latest.scan(["v"]).to_table()["v"].to_pylist()) == (2, ["first"])


def test_changes_of_which_nothing_was_written_leave_no_gap(table: Dataset, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.lance")
    cursor = table.cursors.open("w")
    with cursor.read() as changes:
        lance_sql.write(changes.scan(["id"]), copy, properties=changes.properties)
    lance_sql.write({"id": [4], "v": ["d"]}, table.uri, mode="append")
    with cursor.read(target=copy):
        pass
    lance_sql.write({"id": [5], "v": ["e"]}, table.uri, mode="append")
    with cursor.read(target=copy) as changes:
        made = lance_sql.write(changes.scan(["id"]), copy, mode="append", properties=changes.properties)
    assert made.scan().to_table()["id"].to_pylist() == [1, 2, 3, 5]


def test_a_restore_of_the_copy_takes_the_changes_back(table: Dataset, tmp_path: Path) -> None:
    copy = lance_sql.write({"id": pa.array([], pa.int64()), "v": pa.array([], pa.string())}, tmp_path / "copy.lance")
    cursor = table.cursors.open("w")
    with cursor.read() as changes:
        lance_sql.write(changes.scan(["id", "v"]), copy.uri, mode="append", properties=changes.properties)
    copy.restore(1)
    cursor.seek("earliest")
    with cursor.read(target=copy) as changes:
        made = lance_sql.write(changes.scan(["id", "v"]), copy.uri, mode="append", properties=changes.properties)
    assert made.count_rows() == 3


def test_pylance_goes_on_with_such_a_table_and_keeps_the_offset(table: Dataset, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.lance")
    cursor = table.cursors.open("w")
    with cursor.read() as changes:
        lance_sql.write(changes.scan(["id", "v"]), copy, properties=changes.properties)
    theirs = lance.dataset(copy)
    theirs.insert(pa.table({"id": [9], "v": ["theirs"]}))
    theirs.delete("id = 1")
    with cursor.read(target=copy) as changes:
        assert changes.count_rows() == 0
    lance_sql.write({"id": [4], "v": ["d"]}, table.uri, mode="append")
    with cursor.read(target=copy) as changes:
        lance_sql.write(changes.scan(["id", "v"]), copy, mode="append", properties=changes.properties)
    assert sorted(lance.dataset(copy).to_table()["id"].to_pylist()) == [2, 3, 4, 9]


def test_pylance_reads_cleans_and_changes_a_table_with_cursors(table: Dataset) -> None:
    table.cursors.open("w")
    theirs = lance.dataset(table.uri)
    theirs.insert(pa.table({"id": [4], "v": ["d"]}))
    theirs.cleanup_old_versions(timedelta(0))
    assert "w" in table.cursors.list()
    assert lance.dataset(table.uri).count_rows() == 4


def test_cleanup_keeps_what_a_cursor_needs(table: Dataset) -> None:
    table.cursors.open("slow", start=2)
    table.cursors.open("fast", start="latest")
    for number in range(4, 8):
        lance_sql.write({"id": [number], "v": ["x"]}, table.uri, mode="append")
    kinds(lance_sql.open(table.uri).cursors.open("fast"))
    planned = table.maintenance.cleanup(retain_versions=1)
    assert planned.versions == ()
    assert set(planned.held.values()) == {("slow",)}
    slow = lance_sql.open(table.uri).cursors.open("slow")
    with slow.read(until=3):
        pass
    assert [file.version for file in table.maintenance.cleanup(retain_versions=1).versions] == [1, 2]
    assert kinds(slow) == [("insert", 6), ("insert", 7)]
    assert [file.version for file in table.maintenance.cleanup(retain_versions=1).versions] == [3, 4]


def test_cleanup_lets_go_of_cursors_that_are_too_far_behind(table: Dataset) -> None:
    table.cursors.open("dead")
    table.delete("id = 1")
    planned = table.maintenance.cleanup(retain_versions=1, max_lag="1d")
    assert planned.released == ()
    planned = table.maintenance.cleanup(retain_versions=1, max_lag=timedelta(0))
    assert planned.released == ("dead",)
    assert [file.version for file in planned.versions] == [1]
    dead = table.latest().cursors.open("dead")
    with pytest.raises(VersionNotFound, match=r"'dead' of t.lance stands at version 0, which was removed.*seek"):
        dead.peek()
    assert kinds(dead.seek("snapshot")) == [("insert", 2), ("insert", 3)]


def test_cleanup_keeps_versions_of_main_for_a_cursor_of_a_branch(table: Dataset) -> None:
    two = lance_sql.write({"id": [4], "v": ["d"]}, table.uri, mode="append")
    three = lance_sql.write({"id": [5], "v": ["e"]}, two.uri, mode="append")
    branch = three.branches.create("dev")
    cursor = branch.cursors.open("w", start=2)
    assert set(table.maintenance.cleanup(retain_versions=1).held) == {1, 2}
    assert kinds(cursor) == [("insert", 4), ("insert", 5)]
    with pytest.raises(InvalidArgument, match="reads the branch 'dev', not 'main'"):
        table.latest().cursors.open("w")


def test_a_cursor_that_came_after_the_plan_stops_a_cleanup(table: Dataset) -> None:
    table.delete("id = 1")
    planned = cleanup.plan(table.snapshot, retain_versions=1)
    table.latest().cursors.open("w", start=2)
    with pytest.raises(CommitConflict, match="version 1 has a new tag, branch or cursor"):
        cleanup.execute(planned)


def test_earliest_of_a_table_whose_first_versions_are_gone_begins_with_all_rows(table: Dataset) -> None:
    table.delete("id = 1")
    table.latest().update({"v": "'u'"}, "id = 2")
    table.maintenance.cleanup(retain_versions=2)
    cursor = table.latest().cursors.open("w")
    assert kinds(cursor) == [("insert", 2), ("insert", 3)]
    assert kinds(cursor) == [("update_postimage", 2), ("update_preimage", 2)]


def test_versions_that_another_tool_removed(table: Dataset) -> None:
    cursor = table.cursors.open("w", start="latest")
    table.delete("id = 1")
    table.latest().delete("id = 2")
    lance.dataset(table.uri).cleanup_old_versions(timedelta(0))
    with pytest.raises(VersionNotFound, match="seek"), cursor.read():
        pass


def test_tables_without_row_ids_are_refused(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [1]}, tmp_path / "t.lance", stable_row_ids=False)
    with pytest.raises(InvalidArgument, match="stable row ids"):
        table.cursors.open("w")
    assert table.cursors.list() == {}


@pytest.mark.parametrize("name", ["", "a/b", "..", ".x", "a b", "x.lock", "ä"])
def test_names_that_no_cursor_can_have(table: Dataset, name: str) -> None:
    with pytest.raises(InvalidArgument, match="name of a cursor"):
        table.cursors.open(name)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"id": 1}', b"\xff", b"[" * 10_000])
def test_damaged_cursors_are_reported_and_can_be_dropped(table: Dataset, content: bytes) -> None:
    cursor = table.cursors.open("w")
    (path,) = Path(table.uri, "_cursors", "w").iterdir()
    path.write_bytes(content)
    with pytest.raises(CorruptFile, match="record of a cursor"):
        table.cursors.open("w")
    cursor.drop()
    assert len(kinds(table.cursors.open("w"))) == 3


def test_few_records_stay(table: Dataset) -> None:
    cursor = table.cursors.open("w")
    for number in range(4, 24):
        lance_sql.write({"id": [number], "v": ["x"]}, table.uri, mode="append")
        kinds(cursor)
    records = sorted(Path(table.uri, "_cursors", "w").iterdir())
    assert len(records) <= 5
    assert json.loads(records[-1].read_text())["position"] == 21


def test_a_run_that_slept_through_many_moves_is_a_conflict(table: Dataset) -> None:
    """Also where the records that it knew, and those after, have been removed since."""
    cursor = table.cursors.open("w")

    def others() -> None:
        for number in range(4, 24):
            lance_sql.write({"id": [number], "v": ["x"]}, table.uri, mode="append")
            kinds(table.cursors.open("w"))

    with pytest.raises(CommitConflict), cursor.read():
        others()
    assert cursor.position == 21
    assert kinds(cursor) == []


def test_changes_of_a_cursor_can_be_pickled(table: Dataset) -> None:
    feed = table.cursors.open("w", start="snapshot").peek()
    assert pickle.loads(pickle.dumps(feed)).scan().to_table() == feed.scan().to_table()
    assert feed.only("insert").count_rows() == 3
    assert feed.only("delete").count_rows() == 0
    assert "all rows of version 1" in feed.explain()


def test_cursors_in_sql(table: Dataset) -> None:
    table.cursors.open("b", start="latest")
    table.cursors.open("a")
    table.delete("id = 1")
    rows = lance_sql.connect().sql(f"FROM lance_cursors('{table.uri}')").fetchall()
    assert [row[:5] for row in rows] == [("a", None, 0, 2, False), ("b", None, 1, 1, False)]


def test_a_cursor_reads_by_key_what_has_no_stable_row_ids(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1, 2]}, tmp_path / "t.lance", stable_row_ids=False)
    with pytest.raises(InvalidArgument, match="key="):
        made.cursors.open("w")
    cursor = made.cursors.open("w", key="id")
    made.delete("id = 1")
    with cursor.read(mode="net") as changes:
        assert changes.scan(["id"]).to_table()["id"].to_pylist() == [2]
    assert cursor.lag().rows == 0
    made.update({"id": "20"}, "id = 2")
    with made.cursors.open("w").read(key=["id"]) as changes:
        assert changes.count_rows() == 2


def test_a_cursor_goes_on_by_the_primary_key_where_row_ids_become_stable(tmp_path: Path) -> None:
    field = pa.field("id", pa.int64(), False, {"lance-schema:unenforced-primary-key": "true"})
    rows = pa.table({"id": [1, 2]}, pa.schema([field]))
    table = lance_sql.write(rows, tmp_path / "t.lance", stable_row_ids=False)
    cursor = table.cursors.open("w", start="latest")
    table.delete("id = 1").maintenance.enable_stable_row_ids()
    lance_sql.write({"id": [3]}, table, mode="append")
    with cursor.read() as changes:
        kinds = changes.scan(["id", "_change_type"]).to_table().to_pylist()
    assert [(row["id"], row["_change_type"]) for row in kinds] == [(1, "delete"), (3, "insert")]
    lance_sql.open(table.uri).delete("id = 3")
    with cursor.read() as changes:
        assert changes.count_rows("_change_type = 'delete'") == 1
