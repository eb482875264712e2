"""Appends that bring columns: one version has both, or none has either."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, RetryableConflict
from lance_sql.jobs.write_job import WriteJob
from lance_sql.writes.commit import committer, put_version

OLD: dict[str, list[Any]] = {"id": [1, 2, 3], "a": ["x", "y", "z"]}
NEW: dict[str, list[Any]] = {"id": [4, 5], "score": [0.5, None], "tags": [["p"], []]}
COLUMNS = ["id", "a", "score", "tags"]
AFTER: list[dict[str, Any]] = [
    {"id": 1, "a": "x", "score": None, "tags": None},
    {"id": 2, "a": "y", "score": None, "tags": None},
    {"id": 3, "a": "z", "score": None, "tags": None},
    {"id": 4, "a": None, "score": 0.5, "tags": ["p"]},
    {"id": 5, "a": None, "score": None, "tags": []},
]


def rows(path: Path | str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lance_sql.open(path).to_table().sort_by("id").to_pylist()
    return found


def begin(path: Path) -> tuple[WriteJob, Any]:
    """An append with new columns, whose files are written."""
    table = pa.table(NEW)
    job = lance_sql.begin_write(table.schema, path, mode="append", merge_schema=True)
    return job, job.write_fragments(table)


@pytest.mark.parametrize("file_version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("stable_row_ids", [True, False])
def test_rows_and_columns_come_with_one_version(tmp_path: Path, file_version: str, stable_row_ids: bool) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(OLD, path, file_version=file_version, stable_row_ids=stable_row_ids)
    made = lance_sql.write(pa.table(NEW), path, mode="append", merge_schema=True)
    assert made.version == 2
    assert made.schema.names == COLUMNS
    assert rows(path) == AFTER
    assert made.history()[-1].operation == "insert"
    assert made.history()[-1].rows_inserted == 2
    assert lance_sql.audit(path).is_healthy
    assert lance_sql.verify(path, deep=True).is_healthy
    if stable_row_ids:
        changes = made.changes(2).scan(["id", "_change_type"]).to_table().to_pylist()
        assert changes == [{"id": 4, "_change_type": "insert"}, {"id": 5, "_change_type": "insert"}]
    theirs: Any = lance.dataset(str(path))
    assert theirs.to_table().sort_by("id").to_pylist() == AFTER
    lance.write_dataset(pa.table({"id": [6], "a": ["w"], "score": [1.0], "tags": [["q"]]}), str(path), mode="append")
    lance.dataset(str(path)).delete("id = 1")
    assert [row["id"] for row in rows(path)] == [2, 3, 4, 5, 6]
    assert lance_sql.audit(path).is_healthy


def test_without_new_columns_it_is_an_append(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(OLD, path)
    made = lance_sql.write({"id": [4]}, path, mode="append", merge_schema=True)
    transaction = made.snapshot.transaction()
    assert transaction is not None
    assert transaction.operation == "append"


@pytest.mark.parametrize("merge_schema", [True, False])
def test_a_job_that_was_pickled_appends(tmp_path: Path, merge_schema: bool) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(OLD, path)
    table = pa.table({"id": [4], "a": ["w"]})
    job = lance_sql.begin_write(table.schema, path, mode="append", merge_schema=merge_schema)
    job = pickle.loads(pickle.dumps(job))
    transaction = job.commit(job.write_fragments(table)).snapshot.transaction()
    assert transaction is not None
    assert transaction.operation == "append"


def test_indices_and_rows_of_before_stay(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    before = lance_sql.write(OLD, path).indices.create("id", "btree").delete("id = 2")
    ids = before.scan(["id", "_rowid", "_row_last_updated_at_version"]).to_table().to_pylist()
    made = lance_sql.write(pa.table(NEW), path, mode="append", merge_schema=True)
    assert [index.name for index in made.snapshot.indices()] == [index.name for index in before.snapshot.indices()]
    assert made.scan(list(ids[0]), "id < 4").to_table().to_pylist() == ids
    assert made.to_table(filter="id = 4")["score"].to_pylist() == [0.5]


OTHERS: dict[str, Callable[[str], object]] = {
    "append": lambda path: lance_sql.write({"id": [9], "a": ["o"]}, path, mode="append"),
    "append of pylance": lambda path: lance.write_dataset(pa.table({"id": [9], "a": ["o"]}), path, mode="append"),
    "delete": lambda path: lance_sql.open(path).delete("id = 1"),
    "update": lambda path: lance_sql.open(path).update({"a": "'new'"}, "id = 2"),
    "update of pylance": lambda path: lance.dataset(path).update({"a": "'new'"}, where="id = 2"),
    "index": lambda path: lance_sql.open(path).indices.create("id", "btree"),
    "compaction": lambda path: lance_sql.open(path).maintenance.compact(),
}


@pytest.mark.parametrize("other", OTHERS)
def test_it_goes_on_top_of_what_others_do_to_rows(tmp_path: Path, other: str) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(OLD, path, max_rows_per_file=2)
    job, fragments = begin(path)
    OTHERS[other](str(path))
    between = lance_sql.open(path)
    expected: list[dict[str, Any]] = [{**dict.fromkeys(COLUMNS), **row} for row in rows(path)]
    made = job.commit(fragments)
    assert made.version == between.version + 1
    expected += AFTER[3:]
    assert rows(path) == sorted(expected, key=lambda row: int(row["id"]))
    assert lance_sql.audit(path).is_healthy
    assert lance.dataset(str(path)).to_table().sort_by("id").to_pylist() == rows(path)


@pytest.mark.parametrize(
    "other",
    [
        lambda path: lance_sql.open(path).add_columns([pa.field("score", pa.float32())]),
        lambda path: lance_sql.open(path).rename_columns({"a": "b"}),
        lambda path: lance_sql.write(pa.table(NEW), path, mode="append", merge_schema=True),
        lambda path: lance.dataset(path).add_columns({"c": "id + 1"}),
    ],
)
def test_other_columns_meanwhile_are_a_conflict_of_which_nothing_stays(
    tmp_path: Path, other: Callable[[str], object]
) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(OLD, path)
    job, fragments = begin(path)
    other(str(path))
    before, version = rows(path), lance_sql.open(path).version
    with pytest.raises(RetryableConflict):
        job.commit(fragments)
    job.abort()
    assert (rows(path), lance_sql.open(path).version) == (before, version)
    assert not [file for file in (path / "data").iterdir() if file.name.startswith(job.id)]


@pytest.mark.parametrize("is_durable", [True, False])
def test_a_writer_that_dies_leaves_both_or_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_durable: bool
) -> None:
    """The process ends just before the version is put, or just after."""
    path = tmp_path / "t.lance"
    lance_sql.write(OLD, path)
    job, fragments = begin(path)
    put = put_version.put_version

    def die(*arguments: Any, **options: Any) -> Any:
        if is_durable:
            put(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(committer, "put_version", die)
    with pytest.raises(KeyboardInterrupt):
        job.commit(fragments)
    monkeypatch.undo()
    found = lance_sql.open(path)
    assert (found.version, found.schema.names) == ((2, COLUMNS) if is_durable else (1, ["id", "a"]))
    assert rows(path) == (AFTER if is_durable else [{"id": i, "a": a} for i, a in zip(*OLD.values(), strict=True)])


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(OLD, path)
    with pytest.raises(InvalidArgument, match="a"):
        lance_sql.write({"id": [4], "a": [[1]], "b": [1]}, path, mode="append", merge_schema=True)
    assert lance_sql.open(path).version == 1
