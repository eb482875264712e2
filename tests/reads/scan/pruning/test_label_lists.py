"""LABEL_LIST indices that pylance wrote, asked for an item of a list: never a row less than a scan finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.writes.commit import committer
from lance_sql.writes.commit.operations import CreateIndex

ROWS = 3000

ITEMS: dict[pa.DataType, tuple[Callable[[int], Any], str, str]] = {
    pa.string(): (lambda number: f"label {number}", "'label 3'", "'label 4'"),
    pa.large_string(): (lambda number: f"label {number}", "'label 3'", "'label 4'"),
    pa.int32(): (lambda number: number, "3", "4"),
    pa.int64(): (lambda number: number, "3", "4"),
}
"""Items by their number, and two constants."""


def lists(num_rows: int, seed: int, type: pa.DataType) -> pa.Array:
    """Lists of some items of 200, with NULL, without any, and with NULL and the same item twice inside."""
    random = np.random.default_rng(seed)
    item, _, _ = ITEMS[type]
    found: list[list[Any] | None] = []
    for number in range(num_rows):
        items: list[Any] = [item(int(each)) for each in random.integers(0, 200, number % 4)]
        found.append(None if number % 11 == 0 else items + [None] * (number % 5 == 0) + items[:1])
    return pa.array(found, pa.list_(type))


def content(num_rows: int, seed: int, type: pa.DataType) -> pa.Table:
    return pa.table({"id": np.arange(num_rows), "tags": lists(num_rows, seed, type)})


def make(path: Path, type: pa.DataType, **options: Any) -> lance.LanceDataset:
    """A table of three fragments with an index."""
    dataset = lance.write_dataset(content(ROWS, 1, type), path, max_rows_per_file=1000, **options)
    dataset.create_scalar_index("tags", "LABEL_LIST")
    return dataset


def left(path: Path, condition: str) -> int:
    """How many rows an index leaves, among them all that a scan without it finds."""
    scan = lance_sql.open(path).scan(None, condition)
    expected = lance_sql.open(path, use_indices=False).scan(None, condition).to_table()
    assert scan.to_table().equals(expected)
    return scan.plan.num_candidates


def matches(path: Path, condition: str) -> int:
    return int(lance_sql.open(path, use_indices=False).scan(None, condition).to_table().num_rows)


@pytest.mark.parametrize("type", ITEMS, ids=str)
def test_rows_without_the_item_are_ruled_out(tmp_path: Path, type: pa.DataType) -> None:
    make(tmp_path / "t", type)
    _, first, second = ITEMS[type]
    one = f"list_contains(tags, {first})"
    other = f"list_contains(tags, {second})"
    assert 0 < left(tmp_path / "t", one) == matches(tmp_path / "t", one) < 100
    both = f"{one} AND {other}"
    assert left(tmp_path / "t", both) == matches(tmp_path / "t", both)
    either = f"{one} OR {other}"
    assert left(tmp_path / "t", either) == matches(tmp_path / "t", either)
    assert left(tmp_path / "t", f"{one} AND id < 1000") == left(tmp_path / "t", one)
    assert "tags_idx (labellist): covers 3 of 3 fragments" in lance_sql.open(tmp_path / "t").scan(None, one).explain()


@pytest.mark.parametrize(
    "condition",
    ["NOT list_contains(tags, 3)", "list_contains(tags, 3) IS NULL", "tags IS NULL", "len(tags) = 3", "id = 7"],
)
def test_other_questions_are_not_for_it(tmp_path: Path, condition: str) -> None:
    make(tmp_path / "t", pa.int64())
    assert left(tmp_path / "t", condition) == ROWS


@pytest.mark.parametrize("stable", [False, True])
def test_changes_of_both_writers_are_seen(tmp_path: Path, *, stable: bool) -> None:
    path = tmp_path / "t"
    dataset = make(path, pa.string(), enable_stable_row_ids=stable)
    condition = "list_contains(tags, 'label 3')"
    before = left(path, condition)
    dataset.delete("id % 4 = 1")
    assert left(path, condition) <= before
    dataset.insert(content(500, 2, pa.string()))
    assert left(path, condition) < before + 501
    dataset.update({"id": "id + 10000"}, "id % 9 = 2")
    left(path, condition)
    lance_sql.open(path).update({"id": "id + 20000"}, "id % 9 = 3")
    left(path, condition)
    dataset = lance.dataset(path)
    dataset.optimize.optimize_indices()
    assert left(path, condition) <= before + 500
    changed = pa.table({"id": np.arange(0, 1000, 3), "tags": lists(334, 5, pa.string())})
    dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(changed)
    left(path, condition)
    lance_sql.open(path).delete("id % 8 = 2")
    left(path, condition)
    lance.dataset(path).optimize.compact_files()
    left(path, condition)
    lance_sql.open(path).restore(3)
    left(path, condition)


def test_a_version_that_is_not_known_is_not_used(tmp_path: Path) -> None:
    make(tmp_path / "t", pa.int64())
    table = lance_sql.open(tmp_path / "t")
    (segment,) = table.snapshot.indices()
    committer.commit(table.snapshot, CreateIndex((replace(segment, index_version=2),), (segment,)))
    assert left(tmp_path / "t", "list_contains(tags, 3)") == ROWS
    explained = lance_sql.open(tmp_path / "t").scan(None, "list_contains(tags, 3)").explain()
    assert "version 2 of labellist is not supported" in explained


def test_one_that_is_damaged_is_not_used(tmp_path: Path) -> None:
    make(tmp_path / "t", pa.int64())
    (file,) = (tmp_path / "t" / "_indices").glob("*/*.lance")
    file.write_bytes(file.read_bytes()[:-9])
    assert left(tmp_path / "t", "list_contains(tags, 3)") == ROWS
    assert "tags_idx: not used" in lance_sql.open(tmp_path / "t").scan(None, "list_contains(tags, 3)").explain()
