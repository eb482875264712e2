"""Commits as they come, and changes in Debezium's envelope."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument, TableNotFound


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, tmp_path / "t.lance")


def append(table: Dataset, *ids: int) -> Dataset:
    return lance_sql.write({"id": list(ids), "v": ["x"] * len(ids)}, table.uri, mode="append")


def test_existing_commits_precede_new_ones(table: Dataset) -> None:
    append(table, 3)
    following = table.changes().follow(poll=0.01, timeout=10)
    first, second = next(following), next(following)
    assert [first.version, second.version] == [1, 2]
    assert first.changes.count_rows() == 2
    writer = threading.Timer(0.1, append, (table, 4, 5))
    writer.start()
    third = next(following)
    writer.join()
    assert (third.version, third.operation, third.changes.count_rows()) == (3, "append", 2)
    assert following.version == 3


def test_a_timeout_ends_it(table: Dataset) -> None:
    assert [commit.version for commit in table.changes().follow(timeout=0)] == [1]
    following = table.changes(since=1).follow(poll=0.01, timeout=0.05)
    assert list(following) == []
    append(table, 3)
    assert [commit.version for commit in following] == [2]


def test_it_is_asynchronous_too(table: Dataset) -> None:
    async def versions() -> list[int]:
        return [commit.version async for commit in table.changes().follow(poll=0.01, timeout=0.05)]

    append(table, 3)
    assert asyncio.run(versions()) == [1, 2]


def test_options_of_the_feed_hold_for_each_commit(table: Dataset) -> None:
    table.update({"v": "'b'"}, "id = 2")
    feed = table.latest().changes(2, drop_unchanged=True)
    assert [commit.changes.count_rows() for commit in feed.follow(timeout=0)] == [0]


@pytest.mark.parametrize("options", [{"poll": 0}, {"poll": float("nan")}, {"timeout": -1}])
def test_seconds_that_make_no_sense(table: Dataset, options: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument, match="numbers of seconds"):
        table.changes().follow(**options)


def test_net_changes_are_not_followed(table: Dataset) -> None:
    with pytest.raises(InvalidArgument, match="one by one"):
        table.changes(mode="net").follow()


def test_a_table_that_goes_away_ends_it_with_an_error(table: Dataset) -> None:
    following = table.changes(since=1).follow(poll=0.01)
    for path in Path(table.uri, "_versions").iterdir():
        path.unlink()
    with pytest.raises(TableNotFound):
        next(following)
