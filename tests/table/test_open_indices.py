"""Open indices pass on to later versions, as long as their files are the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.format.index_files.btree import BTree
from lance_sql.store import file_statuses

ROWS = 10_000


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"k": range(ROWS)}, tmp_path / "t.lance").indices.create("k", "btree")


def opened(table: Dataset) -> object:
    """The open segment of the only index."""
    (segment,) = table.snapshot.indices()
    return table.snapshot.open_indices.open(segment)


def files(table: Dataset) -> list[Path]:
    return sorted((Path(table.uri) / "_indices").rglob("*.lance"))


def found(table: Dataset, key: int) -> list[int]:
    scan = table.scan(["k"], f"k = {key}")
    assert "scalar indices" in scan.explain()
    return [row["k"] for row in scan.to_table().to_pylist()]


def test_a_later_version_takes_over_what_an_earlier_one_has_opened(table: Dataset) -> None:
    assert found(table, 7) == [7]
    lance_sql.write({"k": [-1]}, table, mode="append")
    later = table.latest()
    assert opened(later) is opened(table)
    assert found(later, 7) == [7]
    assert found(later, -1) == [-1]
    # one that reads nothing passes it on
    lance_sql.write({"k": [-2]}, table, mode="append")
    unread = later.latest()
    lance_sql.write({"k": [-3]}, table, mode="append")
    assert opened(unread.latest()) is opened(table)


@pytest.mark.parametrize("number", [0, 1])
def test_a_file_that_was_written_again_is_opened_again(table: Dataset, number: int) -> None:
    assert found(table, 7) == [7]
    lance_sql.write({"k": [-1]}, table, mode="append")
    file = files(table)[number]
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content)
    later = table.latest()
    assert isinstance(opened(later), BTree)
    assert opened(later) is not opened(table)
    assert found(later, 7) == [7]


def test_an_index_of_another_column_is_not_taken_over(table: Dataset) -> None:
    before = opened(table)
    later = table.update({"k": "k + 1"}, "k >= 0").indices.drop("k_idx").indices.create("k", "btree")
    assert opened(later) is not before
    assert found(later, 7) == [7]


def test_a_damaged_file_is_opened_again(table: Dataset) -> None:
    assert found(table, 7) == [7]
    lance_sql.write({"k": [-1]}, table, mode="append")
    for file in files(table):
        file.write_bytes(b"damage")
    later = table.latest()
    rows = later.scan(["k"], "k = 7")
    assert "not used" in rows.explain()
    assert rows.count_rows() == 1


def test_a_version_opened_by_path_takes_over_what_the_one_opened_before_it_has_opened(table: Dataset) -> None:
    before = lance_sql.open(table.uri)
    assert found(before, 7) == [7]
    lance_sql.write({"k": [-1]}, table.uri, mode="append")
    later = lance_sql.open(table.uri)
    assert opened(later) is opened(before)
    assert found(later, -1) == [-1]
    # one that was opened otherwise shares nothing
    other = lance_sql.open(table.uri, use_indices=False)
    assert opened(other) is not opened(before)


@pytest.mark.parametrize("number", [0, 1])
def test_a_version_opened_by_path_opens_files_that_were_written_again(table: Dataset, number: int) -> None:
    before = lance_sql.open(table.uri)
    assert found(before, 7) == [7]
    lance_sql.write({"k": [-1]}, table.uri, mode="append")
    file = files(table)[number]
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content)
    later = lance_sql.open(table.uri)
    assert opened(later) is not opened(before)
    assert found(later, 7) == [7]


def test_a_file_that_changes_after_it_was_taken_over_is_noticed(
    table: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the clock of the file system tells all changes apart
    monkeypatch.setattr(file_statuses, "_is_settled", lambda status: True)
    assert found(lance_sql.open(table.uri), 7) == [7]
    lance_sql.write({"k": [-1]}, table.uri, mode="append")
    later = lance_sql.open(table.uri)
    assert found(later, 7) == [7]
    assert lance_sql.open(table.uri).snapshot is later.snapshot
    for file in files(table):
        file.write_bytes(b"damage")
    again = lance_sql.open(table.uri)
    assert again.snapshot is not later.snapshot
    assert "not used" in again.scan(["k"], "k = 7").explain()


def test_a_table_that_was_dropped_and_written_again_takes_over_nothing(table: Dataset) -> None:
    before = lance_sql.open(table.uri)
    assert found(before, 7) == [7]
    shutil.rmtree(table.uri)
    lance_sql.write({"k": range(5, 50)}, table.uri).indices.create("k", "btree")
    later = lance_sql.open(table.uri)
    assert opened(later) is not opened(before)
    assert found(later, 7) == [7]
    assert found(later, 4) == []
