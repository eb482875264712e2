"""Arguments of other kinds than asked for: refused by name, before anything is read or written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument, LanceError, VersionNotFound
from lance_sql.values.durations import parse_age


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"id": [1, 2, 3], "i": [4, 5, 6], "d": [7, 8, 9]}, tmp_path / "t.lance")


@pytest.mark.parametrize(
    "call",
    [
        lambda table: table.scan("id"),
        lambda table: table.take([0], "id"),
        lambda table: table.scanner(columns="id"),
        lambda table: table.to_table(columns="id"),
        lambda table: table.to_table("id"),
        lambda table: table.head(1, columns="id"),
    ],
)
def test_a_text_is_no_list_of_columns(table: Dataset, call: Callable[[Dataset], Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"columns='id' is a text: give a list of names, such as \['id'\]"):
        call(table)


@pytest.mark.parametrize("columns", [["id", 1], [None], 5, [b"id"]])
def test_names_are_texts(table: Dataset, columns: Any) -> None:
    with pytest.raises(InvalidArgument, match="a list of names"):
        table.scan(columns)


@pytest.mark.parametrize("columns", [("id",), {"id": 1}, iter(["id"])])
def test_names_come_in_any_collection(table: Dataset, columns: Any) -> None:
    assert table.scan(columns).to_table().column_names == ["id"]


@pytest.mark.parametrize("value", ["3", 1.5, True, b"1"])
def test_numbers_of_rows_are_whole(table: Dataset, value: Any) -> None:
    for call in (
        lambda: table.scan(limit=value),
        lambda: table.scan(batch_size=value),
        lambda: table.compact(target_rows=value),
        lambda: table.cleanup(retain_versions=value),
    ):
        with pytest.raises(InvalidArgument, match="not a whole number"):
            call()


def test_an_age_is_a_text_or_a_timedelta(table: Dataset) -> None:
    table.delete("id = 1")
    assert table.cleanup(older_than="7d", dry_run=True).versions == ()
    assert table.cleanup(older_than=timedelta(days=7), dry_run=True).versions == ()
    assert [file.version for file in table.cleanup(older_than="0s").versions] == [1]


@pytest.mark.parametrize("age", ["soon", "", "7", "d", "-1d", "1.5d", "7 days", "999999999w", 7, 1.5])
def test_what_is_no_age(table: Dataset, age: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"is not an age such as 30d|not a timedelta|longer than"):
        table.cleanup(older_than=age)


def test_ages() -> None:
    found = [parse_age(text) for text in ("2w", " 30d ", "12h", "90m", "5s")]
    assert found == [
        timedelta(weeks=2),
        timedelta(days=30),
        timedelta(hours=12),
        timedelta(minutes=90),
        timedelta(seconds=5),
    ]


@pytest.mark.parametrize("name", ["x" * 300, "ä" * 200, "a/" * 100 + "b"])
def test_names_that_are_too_long(table: Dataset, name: str) -> None:
    for create in (table.create_tag, table.create_branch):
        with pytest.raises(InvalidArgument, match=r"characters: the name of a (tag|branch) has at most 150"):
            create(name)
    for use in (table.move_tag, table.delete_tag, lambda name: lance_sql.open(table.uri, tag=name)):
        with pytest.raises(VersionNotFound):
            use(name)
    for use in (table.delete_branch, lambda name: lance_sql.open(table.uri, branch=name)):
        with pytest.raises(LanceError):
            use(name)
    assert (table.tags(), table.branches()) == ({}, {})


def test_names_are_text(table: Dataset) -> None:
    with pytest.raises(InvalidArgument, match="names are text"):
        table.create_tag(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="names are text"):
        table.create_branch(5)  # type: ignore[arg-type]


def test_the_longest_names(table: Dataset) -> None:
    name = "x" * 150
    table.create_tag(name)
    assert table.create_branch(name).branch == name
    assert lance_sql.open(table.uri, tag=name).version == lance_sql.open(table.uri, branch=name).version == 1
    table.move_tag(name)
    table.delete_tag(name)
    table.delete_branch(name)
