"""Handles of tables that were dropped and written again at the same path, so that they count the same versions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import RetryableConflict
from lance_sql.store import MemoryStore
from lance_sql.store.contract import ObjectInfo
from lance_sql.table import location, versions
from lance_sql.table.paths import NamingScheme, manifest_path
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit import committer
from lance_sql.writes.commit.operations import Append


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.lance"


def written(path: Path, first: int) -> Dataset:
    """A table of three rows in the place of the one that is there."""
    shutil.rmtree(path, ignore_errors=True)
    return lance_sql.write(pa.table({"x": range(first, first + 3), "y": range(3)}), path)


def rows(table: Dataset) -> list[int]:
    values: list[int] = table.to_table()["x"].to_pylist()
    return values


@pytest.mark.parametrize("is_read", [False, True])
def test_the_newest_version_is_that_of_the_other_table(path: Path, is_read: bool) -> None:
    table = written(path, 1)
    if is_read:
        assert rows(table) == [1, 2, 3]
    written(path, 7)
    latest = table.latest()
    assert (latest.version, rows(latest)) == (1, [7, 8, 9])
    assert [rows(Dataset(each)) for each in table.snapshot.siblings()] == [[7, 8, 9]]


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.drop_columns(["y"]),
        lambda table: table.config.update({"key": "value"}),
        lambda table: table.delete("x = 100"),
        lambda table: table.indices.create("x", "btree"),
    ],
)
def test_changes_are_made_of_the_other_table(path: Path, change: Callable[[Dataset], Dataset]) -> None:
    table = written(path, 1)
    rows(table)
    written(path, 7)
    assert rows(change(table)) == [7, 8, 9]
    assert rows(lance_sql.open(path)) == [7, 8, 9]


@pytest.mark.parametrize("has_more", [False, True])
def test_results_of_a_replaced_table_are_not_committed(path: Path, has_more: bool) -> None:
    before = written(path, 1).delete("x = 2") if not has_more else written(path, 1)
    rows(before)
    after = written(path, 7)
    if has_more:
        after = after.delete("x = 8")
    with pytest.raises(RetryableConflict, match="was replaced by another table"):
        committer.commit(before.snapshot, Append(()))
    assert lance_sql.open(path).version == after.version


def test_a_manifest_that_is_only_touched_is_still_the_same(path: Path) -> None:
    table = written(path, 1)
    os.utime(path / table.snapshot.manifest_path, (1, 1))
    assert table.latest() is table
    assert table.latest() is table


def test_a_manifest_that_is_renamed_is_read_under_its_new_name(path: Path) -> None:
    table = written(path, 1)
    rows(table)
    snapshot = table.snapshot
    (path / snapshot.manifest_path).rename(path / manifest_path(1, NamingScheme.V1))
    latest = table.latest()
    assert latest.snapshot.commit_id == snapshot.commit_id
    assert latest.snapshot.transaction() is not None
    assert committer.commit(snapshot, Append(())).version == 2


class TaggedStore(MemoryStore):
    """A store whose listings tell contents apart, as those of object stores do."""

    concurrency = 8

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        for info in super().files(prefix):
            yield info._replace(tag=str(hash(self._files[info.path])))


def in_memory(path: Path, first: int) -> dict[str, bytes]:
    written(path, first)
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("kind", [MemoryStore, TaggedStore])
def test_stores_without_identities_tell_tables_apart(path: Path, kind: type[MemoryStore]) -> None:
    files = in_memory(path, 1)
    store = kind(files)
    file = versions.newest(store)
    assert file is not None
    snapshot = Snapshot("t.lance", store, store, file)
    old = snapshot.commit_id
    assert snapshot.latest() is snapshot
    other = in_memory(path, 7)
    files.clear()
    files.update(other)
    assert snapshot.latest().commit_id != old
    assert snapshot.commit_id == old


def test_a_table_that_is_written_while_it_is_looked_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_table = location._check_table

    def write_first(*arguments: object) -> None:
        monkeypatch.setattr(location, "_check_table", check_table)
        written(path, 1)

    monkeypatch.setattr(location, "_check_table", write_first)
    assert rows(lance_sql.open(path)) == [1, 2, 3]
