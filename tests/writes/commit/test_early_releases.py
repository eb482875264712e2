"""Faults written by early releases: read, reported, and corrected by the next commit."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset, RetryableConflict
from lance_sql.format.proto import table_pb2
from lance_sql.writes.commit.committer import commit
from lance_sql.writes.commit.operations import Append, Delete
from tests.writes.commit.tables import deletion, fragments, latest, table


def edit_manifest(path: Path, edit: Callable[[table_pb2.Manifest], object]) -> None:
    """Changes the message of a manifest file in place; its sections stay where they are."""
    content = path.read_bytes()
    (position,) = struct.unpack_from("<q", content, len(content) - 16)
    (length,) = struct.unpack_from("<I", content, position)
    message = table_pb2.Manifest.FromString(content[position + 4 :][:length])
    edit(message)
    made = message.SerializeToString()
    path.write_bytes(content[:position] + struct.pack("<I", len(made)) + made + content[-16:])


def newest_manifest(root: Path) -> Path:
    # the names of version 2 of the naming count down
    return min((root / "_versions").glob("*.manifest"))


@pytest.fixture(params=[True, False], ids=["stable", "addresses"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Four fragments of three rows; the last three have the id 1, two of them have deleted rows."""
    path = tmp_path / "t.lance"
    lance.write_dataset(table(range(12)), path, max_rows_per_file=3, enable_stable_row_ids=request.param)
    lance.dataset(path).delete("k IN (4, 8)")
    (deleted,) = (path / "_deletions").glob("2-*")
    numbers: list[int] = []

    def edit(message: table_pb2.Manifest) -> None:
        for fragment in message.fragments[1:]:
            fragment.id = 1
            numbers.append(fragment.id)
        message.fragments[2].deletion_file.id = 77
        message.max_fragment_id = 1

    edit_manifest(newest_manifest(path), edit)
    version, _, suffix = deleted.name.partition("-")[2].partition("-")
    deleted.rename(deleted.with_name(f"1-{version}-77.{suffix.partition('.')[2]}"))
    assert numbers == [1, 1, 1]
    return path


KEYS = [0, 1, 2, 3, 5, 6, 7, 9, 10, 11]


def keys(root: Path) -> list[int]:
    found: list[int] = sorted(lance_sql.open(root).to_table().column("k").to_pylist())
    assert found == sorted(lance.dataset(root).to_table().column("k").to_pylist())
    return found


def test_fragments_of_equal_ids_are_read_and_reported(root: Path) -> None:
    assert keys(root) == KEYS
    assert lance_sql.open(root).count_rows() == len(KEYS)
    assert lance_sql.open(root).scan(["v"], "k = 9").to_table().to_pylist() == [{"v": "v9"}]
    (problem,) = lance_sql.verify(root, version=2).problems
    assert "several fragments have one id (1)" in problem.message


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda each: lance_sql.write(table([20]), each.uri, mode="append"), [*KEYS, 20]),
        (lambda each: each.delete("k IN (3, 6, 9)"), [0, 1, 2, 5, 7, 10, 11]),
        (lambda each: each.update({"v": "'x'"}, "k >= 6"), KEYS),
        (lambda each: each.merge(table([7, 30]), on="k"), [*KEYS, 30]),
        (lambda each: each.add_columns({"w": "k + 1"}), KEYS),
        (lambda each: each.maintenance.compact(target_rows=100), KEYS),
        (lambda each: each.rename_columns({"v": "w"}), KEYS),
        (lambda each: each.config.update({"a": "b"}), KEYS),
        (lambda each: each.restore(2), KEYS),
    ],
    ids=["append", "delete", "update", "merge", "add", "compact", "rename", "config", "restore"],
)
def test_the_next_commit_mends_the_ids(root: Path, change: Callable[[Dataset], Dataset], expected: list[int]) -> None:
    made = change(lance_sql.open(root))
    ids = made.snapshot.manifest.fragments.ids
    assert len(set(ids)) == len(ids)
    assert keys(root) == expected
    assert lance_sql.verify(root, version=made.version, deep=True).is_healthy
    lance.write_dataset(made.schema.empty_table().slice(0, 0), root, mode="append")
    lance.dataset(root).delete("k < 4")
    assert keys(root) == [key for key in expected if key >= 4]


def test_a_change_that_was_computed_before_is_a_conflict(root: Path) -> None:
    before = latest(root)
    commit(before, Append(fragments(root, table([20]))))
    gone = Delete(deleted_fragment_ids=(1,))
    with pytest.raises(RetryableConflict):
        commit(before, gone)
    stale, affected = deletion(latest(root), {0: [0]})
    commit(latest(root), stale, affected_rows=affected)
    assert keys(root) == [*KEYS[1:], 20]


def test_null_items_of_an_old_dictionary_are_delivered_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2], pa.int32()), pa.array(["a", "", "b"]))
    inner = pa.StructArray.from_arrays([codes], fields=[pa.field("d", codes.type, nullable=False)])
    schema = pa.schema(
        [
            pa.field("d", codes.type, nullable=False),
            pa.field("s", inner.type, nullable=False),
            pa.field("x", pa.int64()),
        ]
    )
    rows = pa.Table.from_arrays([codes, inner, pa.array([1, 2, 3, 4])], schema=schema)
    lance.write_dataset(rows, path, data_storage_version="legacy")
    opened = lance_sql.open(path)
    assert opened.schema.field("d").nullable
    assert opened.to_table().column("d").to_pylist() == ["a", None, "a", "b"]
    assert opened.to_table().column("s").to_pylist()[:2] == [{"d": "a"}, {"d": None}]
    assert opened.count_rows("d IS NULL") == 1
    report = lance_sql.verify(path)
    assert [(problem.column, "1 value is NULL" in problem.message) for problem in report.problems] == [
        ("d", True),
        ("s", True),
    ]
    assert not report.readable_columns
    full = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a", "b"]))
    whole = pa.Table.from_arrays([full], schema=schema.empty_table().select(["d"]).schema)
    lance.write_dataset(whole, tmp_path / "whole.lance", data_storage_version="legacy")
    assert lance_sql.verify(tmp_path / "whole.lance", deep=True).is_healthy
