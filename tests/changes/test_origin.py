"""The job, user and host of commits: in the feed, the history of rows, `diff` and `audit`, and on their pages."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, VersionNotFound


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    """Version 1 without a job; 2 and 3 by `nightly`, 4 by `hourly`: rows are inserted, updated, deleted, inserted."""
    made = lance_sql.write(pa.table({"id": [1, 2, 3]}), tmp_path / "t.lance")
    with lance_sql.job("nightly"):
        made = made.update({"id": "id + 10"}, "id = 2").delete("id = 3")
    return lance_sql.write({"id": [4]}, made.uri, mode="append", job="hourly")


@pytest.mark.parametrize("mode", ["all", "net", "insert_only"])
@pytest.mark.parametrize("key", [None, "id"])
def test_the_feed_has_the_origin_of_each_commit(table: lance_sql.Dataset, mode: Any, key: str | None) -> None:
    history = {entry.version: (entry.job, entry.user, entry.host) for entry in table.history()}
    feed = pickle.loads(pickle.dumps(table.changes(mode=mode, key=key, origin=True)))
    rows = feed.scan().to_table().to_pylist()
    assert rows
    for row in rows:
        assert (row["_commit_job"], row["_commit_user"], row["_commit_host"]) == history[row["_commit_version"]]
    without = table.changes(mode=mode, key=key).scan().to_table()
    assert pa.Table.from_pylist(rows, feed.schema).select(without.column_names).equals(without.cast(without.schema))
    for job in ("nightly", "hourly"):
        expected = [row for row in rows if row["_commit_job"] == job]
        assert feed.scan(filter=f"_commit_job = '{job}'").to_table().to_pylist() == expected
        assert feed.count_rows(f"_commit_job = '{job}'") == len(expected)
    tasks = [task.to_reader().read_all() for task in feed.tasks(3)]
    assert pa.concat_tables(tasks).to_pylist() == rows


def test_a_filter_on_the_job_reads_no_other_commit(table: lance_sql.Dataset) -> None:
    plan = table.changes(origin=True).scan(filter="_commit_job = 'hourly'").explain()
    assert plan.splitlines()[-1] == "  rows: 1 insert"


def test_commits_of_other_writers_have_none(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({"id": [1]}), path, enable_stable_row_ids=True)
    rows = lance_sql.open(path).changes(origin=True).scan(["_commit_job", "_commit_host"]).to_table()
    assert rows.to_pylist() == [{"_commit_job": None, "_commit_host": None}]


def test_a_column_of_that_name_hinders_only_the_origin(tmp_path: Path) -> None:
    table = lance_sql.write({"_commit_job": ["mine"]}, tmp_path / "t.lance")
    assert table.changes().scan(["_commit_job"]).to_table()["_commit_job"].to_pylist() == ["mine"]
    with pytest.raises(InvalidArgument, match="has a column '_commit_job'"):
        table.changes(origin=True)


def test_a_snapshot_has_the_origin_of_its_version(table: lance_sql.Dataset) -> None:
    table.maintenance.cleanup(retain_versions=1)
    with table.cursors.open("copy", "snapshot").read(origin=True) as rows:
        assert set(rows.scan(["_commit_job"]).to_table()["_commit_job"].to_pylist()) == {"hourly"}
        assert rows.only("insert").schema == rows.schema


def test_applied_changes_do_not_have_it(table: lance_sql.Dataset, tmp_path: Path) -> None:
    feed = table.changes(origin=True)
    for number, changes in enumerate([feed, feed.scan().to_table()]):
        applied = lance_sql.apply_changes(tmp_path / f"{number}.lance", changes, keys="id")
        assert applied.schema.names == ["id"]
    assert set(next(feed.to_debezium())["after"]) == {"id"}


def test_a_history_of_rows_has_the_jobs_of_both_ends(table: lance_sql.Dataset) -> None:
    history = pickle.loads(pickle.dumps(table.row_history(origin=True)))
    rows = history.scan(["id", "valid_from_job", "valid_to_job"]).to_table().to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == sorted(
        [(1, None, None), (2, None, "nightly"), (12, "nightly", None), (3, None, "nightly"), (4, "hourly", None)],
        key=lambda row: row[0],
    )
    assert history.count_rows("valid_to_job = 'nightly'") == 2
    late = table.row_history(4, origin=True).scan(["valid_from_job"], "id = 1").to_table()
    assert late["valid_from_job"].to_pylist() == [None]


def test_pages_name_the_job(table: lance_sql.Dataset) -> None:
    for page in (table.changes().to_html(), table.row_history().to_html(), lance_sql.diff(table, 1).to_html()):
        assert "nightly" in page
        assert "hourly" in page


def test_a_difference_has_the_commits_between(table: lance_sql.Dataset) -> None:
    difference = lance_sql.diff(table, 1)
    assert [(each.version, each.job) for each in difference.commits] == [(2, "nightly"), (3, "nightly"), (4, "hourly")]
    assert [each["operation"] for each in difference.to_dict()["commits"]] == ["update", "delete", "insert"]
    assert "3, delete" in str(difference)
    assert "job nightly" in str(difference)
    assert difference.reversed().commits == difference.commits


def test_the_last_run_of_a_job_is_compared(table: lance_sql.Dataset) -> None:
    difference = lance_sql.diff(table, job="nightly")
    assert (difference.before.version, difference.after.version) == (1, 3)
    assert lance_sql.diff(table, job="hourly").rows_inserted == 1
    assert lance_sql.diff(table).before.version == 3
    with pytest.raises(VersionNotFound, match=r"No commit of t.lance is of the job 'weekly'"):
        lance_sql.diff(table, job="weekly")
    with pytest.raises(InvalidArgument, match="either job= or"):
        lance_sql.diff(table, 1, job="nightly")
    first = lance_sql.write({"id": [1]}, table.uri.replace("t.lance", "u.lance"), job="load")
    with pytest.raises(VersionNotFound, match=r"created u.lance"):
        lance_sql.diff(first, job="load")


def test_an_audit_is_of_the_commits_of_a_job(table: lance_sql.Dataset) -> None:
    assert lance_sql.audit(table.uri, job="nightly").versions == (2, 3)
    assert lance_sql.audit(table.uri, job="weekly").versions == ()
