"""Changes that many processes write and one commits: the same result and lineage as in one process."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import CommitConflict, Dataset, InvalidArgument
from lance_sql.jobs.distributed import CHANGE, ChangeJob, CompactionJob, Written, change_rows, compact_groups
from tests.writes.commit.tables import rows as rows_of

Change = tuple[int | None, str | None, int | None, str]
"""Key, value and address of a row, and what becomes of it."""


@pytest.fixture(params=[True, False], ids=["stable", "addresses"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Dataset:
    rows = pa.table({"k": range(12), "v": [f"v{n}" for n in range(12)], "w": [f"w{n}" for n in range(12)]})
    return lance_sql.write(rows, tmp_path / "t.lance", max_rows_per_file=4, stable_row_ids=request.param)


def batch(dataset: Dataset, changes: Sequence[Change]) -> pa.RecordBatch:
    ids = {row["_rowaddr"]: row["_rowid"] for row in dataset.scan(["_rowaddr", "_rowid"]).to_table().to_pylist()}
    addresses = [each[2] for each in changes]
    return pa.record_batch(
        {
            "k": pa.array([each[0] for each in changes], pa.int64()),
            "v": pa.array([each[1] for each in changes], pa.string()),
            "w": pa.array([None if each[0] is None else f"w{each[0]}" for each in changes], pa.string()),
            "_rowid": pa.array([None if each is None else ids[each] for each in addresses], pa.uint64()),
            "_rowaddr": pa.array(addresses, pa.uint64()),
            CHANGE: [each[3] for each in changes],
        }
    )


def workers(*parts: Sequence[Change]) -> Callable[[ChangeJob], list[Written]]:
    """Workers that each write some changes."""

    def run(job: ChangeJob) -> list[Written]:
        sent = pickle.dumps(job)
        return [
            pickle.loads(pickle.dumps(pickle.loads(sent).write([batch(job.dataset, [change]) for change in part])))
            for part in parts
        ]

    return run


def address(fragment: int, offset: int) -> int:
    return (fragment << 32) | offset


def data_files(table: Dataset) -> set[str]:
    return {file.name for file in (Path(table.uri) / "data").iterdir()}


def used_files(table: Dataset) -> set[str]:
    fragments = lance_sql.open(table.uri).snapshot.manifest.fragments
    return {file.path for fragment in fragments for file in fragment.files}


def test_rows_are_updated_inserted_and_deleted_by_several(table: Dataset) -> None:
    run = workers(
        [(1, "new", address(0, 1), "write"), (100, "in", None, "write"), (None, None, address(1, 0), "delete")],
        [(None, None, address(0, 0), "delete"), (9, "new", address(2, 1), "write")],
        [],
    )
    made = change_rows(table, "merge", run)
    found = {row["k"]: row for row in rows_of(made.uri)}
    assert {key: row["v"] for key, row in found.items() if row["v"][0] != "v"} == {1: "new", 9: "new", 100: "in"}
    assert {key: row["w"] for key, row in found.items()} == {
        key: f"w{key}" for key in (1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 100)
    }
    summary = made.versions()[-1].summary
    assert summary is not None
    assert (summary.operation, summary.rows_updated, summary.rows_inserted, summary.rows_deleted) == ("merge", 2, 1, 2)
    assert made.version == 2
    if "_row_created_at_version" in made.system_columns:
        lineage = {
            key: (row["_rowid"], row["_row_created_at_version"], row["_row_last_updated_at_version"])
            for key, row in found.items()
        }
        assert (lineage[1], lineage[9], lineage[100], lineage[5]) == ((1, 1, 2), (9, 1, 2), (12, 2, 2), (5, 1, 1))
        report = lance_sql.audit(made.uri)
        assert report.is_healthy, str(report)
    assert data_files(table) == used_files(table) | {
        file.path for fragment in table.snapshot.manifest.fragments for file in fragment.files
    }


def test_nothing_to_do_makes_no_version(table: Dataset) -> None:
    assert change_rows(table, "update", workers([], [])) is table
    assert lance_sql.open(table.uri).version == 1


def test_only_deletes(table: Dataset) -> None:
    made = change_rows(table, "delete", workers([(None, None, address(0, n), "delete") for n in range(4)]))
    assert made.versions()[-1].operation == "delete"
    assert made.count_rows() == 8


def test_a_row_that_is_changed_twice_is_refused(table: Dataset) -> None:
    files = data_files(table)
    for kind in ("write", "delete"):
        run = workers([(1, "a", address(0, 1), "write")], [(1, "b", address(0, 1), kind)])
        with pytest.raises(InvalidArgument, match="Two rows of the source match one row"):
            change_rows(table, "merge", run)
    assert lance_sql.open(table.uri).version == 1
    assert data_files(table) == files


def test_files_of_lost_and_failed_tasks_go(table: Dataset) -> None:
    files = data_files(table)

    def lossy(job: ChangeJob) -> list[Written]:
        workers([(1, "lost", address(0, 1), "write")])(job)
        return workers([(1, "kept", address(0, 1), "write")])(job)

    change_rows(table, "update", lossy)
    assert data_files(table) == files | used_files(table)

    def failing(job: ChangeJob) -> list[Written]:
        workers([(2, "lost", address(0, 2), "write")])(job)
        raise RuntimeError("the job fails")

    before = data_files(table)
    with pytest.raises(RuntimeError, match="the job fails"):
        change_rows(table, "update", failing)
    assert data_files(table) == before

    def unfit(job: ChangeJob) -> list[Written]:
        rows = batch(job.dataset, [(3, "lost", address(0, 3), "write")])
        return [job.write([rows, rows.drop_columns(["k"]).append_column("k", pa.array(["three"]))])]

    with pytest.raises(InvalidArgument, match="column 'k' does not fit its type int64"):
        change_rows(table, "update", unfit)
    assert data_files(table) == before


def test_others_that_change_other_rows_are_built_upon(table: Dataset) -> None:
    calls = []

    def run(job: ChangeJob) -> list[Written]:
        calls.append(job.snapshot.version)
        written = workers([(1, "ours", address(0, 1), "write")])(job)
        if len(calls) == 1:
            lance_sql.open(table.uri).delete("k = 0")
            lance.write_dataset(pa.table({"k": [50], "v": ["x"], "w": ["y"]}), table.uri, mode="append")
        return written

    made = change_rows(table, "update", run)
    assert (calls, made.version, made.count_rows()) == ([1], 4, 12)
    assert made.count_rows("v = 'ours'") == 1


def test_others_that_change_the_same_rows_come_first(table: Dataset) -> None:
    """The change is computed again from the newest version."""
    calls = []

    def run(job: ChangeJob) -> list[Written]:
        calls.append(job.snapshot.version)
        (row,) = job.dataset.scan(["v", "_rowaddr"], "k = 1").to_table().to_pylist()
        written = workers([(1, row["v"] + "+", row["_rowaddr"], "write")])(job)
        if len(calls) == 1:
            lance_sql.open(table.uri).update({"v": "'theirs'"}, "k = 1")
        return written

    made = change_rows(table, "update", run)
    assert calls == [1, 2]
    assert made.scan(["v"], "k = 1").to_table().to_pylist() == [{"v": "theirs+"}]
    assert lance_sql.verify(table.uri).is_healthy


def test_groups_are_compacted_by_several(table: Dataset) -> None:
    table.delete("k IN (1, 5)")
    before = rows_of(table.uri)

    def run(job: CompactionJob) -> list[Any]:
        return [pickle.loads(pickle.dumps(job)).write(number) for number in range(len(job.groups))]

    made = compact_groups(table, run, target_rows=100)
    assert len(made.snapshot.manifest.fragments) == 1
    after = rows_of(table.uri)
    assert [{**row, "_rowaddr": None} for row in after if "_row_created_at_version" in row] == [
        {**row, "_rowaddr": None} for row in before if "_row_created_at_version" in row
    ]
    assert [row["k"] for row in after] == [row["k"] for row in before]
    assert compact_groups(made, run, target_rows=100) is made


def test_a_compaction_that_comes_too_late_is_not_computed_again(table: Dataset) -> None:
    calls = []

    def run(job: CompactionJob) -> list[Any]:
        calls.append(job.snapshot.version)
        written = [job.write(number) for number in range(len(job.groups))]
        lance_sql.open(table.uri).update({"v": "'theirs'"}, "k >= 0")
        return written

    with pytest.raises(CommitConflict):
        compact_groups(table, run, target_rows=100)
    assert calls == [1]
    assert lance_sql.open(table.uri).count_rows("v = 'theirs'") == 12
