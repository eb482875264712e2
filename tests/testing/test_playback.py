"""Incremental jobs that are right, and those that are not."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.testing import replay


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    made = lance_sql.write({"id": [1, 2, 3], "amount": [10, 20, 30]}, tmp_path / "orders.lance")
    made = made.update({"amount": "5"}, "id = 1").delete("id = 2").maintenance.compact()
    lance_sql.write({"id": [4], "amount": [40]}, made.uri, mode="append")
    return made.latest().restore(2)


def copy(source: str, target: str) -> None:
    with lance_sql.open(source).cursors.open("job").read(target=target) as changes:
        lance_sql.apply_changes(target, changes, "id")


def forgets_deletions(source: str, target: str) -> None:
    with lance_sql.open(source).cursors.open("job").read(mode="net", target=target) as changes:
        rows = changes.scan(["id", "amount"], "_change_type IN ('insert', 'update_postimage')").to_table()
        if not Path(target).exists():
            lance_sql.write(rows, target)
        lance_sql.open(target).merge(rows, on="id")


def test_a_job_that_is_right(table: Dataset) -> None:
    before = sorted(path.name for path in Path(table.uri).iterdir())
    replay(table, copy, key="id")
    replay(table.uri, copy, key="id", start=2, end=5, check_each=True)
    assert sorted(path.name for path in Path(table.uri).iterdir()) == before
    assert table.cursors.list() == {}


def test_a_job_that_forgets_deletions(table: Dataset) -> None:
    with pytest.raises(
        AssertionError, match=r"After version 6, the table of a job that ran after each commit .* id=4|id.*4"
    ):
        replay(table, forgets_deletions, key="id")
    with pytest.raises(AssertionError, match="After version 3, the table of a job"):
        replay(table, forgets_deletions, key="id", check_each=True)


def test_invalid_replays_are_refused(table: Dataset) -> None:
    for start, end in ((4, 2), (None, 99)):
        with pytest.raises(InvalidArgument, match="has versions 1 to"):
            replay(table, copy, start=start, end=end)
    lance_sql.write({"id": [1]}, "memory://replay/t.lance")
    with pytest.raises(UnsupportedFeature, match="local disk"):
        replay("memory://replay/t.lance", copy)


def test_a_history_whose_first_versions_are_gone(tmp_path: Path) -> None:
    source = str(tmp_path / "cleaned.lance")
    for number in range(1, 4):
        table = lance_sql.write({"id": [number]}, source, mode="append" if number > 1 else "create")
    table.maintenance.cleanup(older_than=datetime.timedelta(0))
    for number in range(4, 6):
        lance_sql.write({"id": [number]}, source, mode="append")

    def copy(at: str, target: str) -> None:
        with lance_sql.open(at).cursors.open("copy").read(target=target) as changes:
            lance_sql.apply_changes(target, changes, "id")

    replay(source, copy, key="id")
    replay(source, copy, key="id", start=4, check_each=True)

    def forgets(at: str, target: str) -> None:
        with lance_sql.open(at).cursors.open("copy").read(target=target) as changes:
            lance_sql.apply_changes(target, changes.scan(filter="id <> 4") if changes.end == 4 else changes, "id")

    with pytest.raises(AssertionError, match="differs from that of a job"):
        replay(source, forgets, key="id")
