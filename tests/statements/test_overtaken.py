"""Statements that another writer overtakes: its version is made right before theirs would have been."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.store import LocalStore, PutMode
from tests.commit.failing_store import FailingStore, on


class OvertakenStore(FailingStore):
    """A store that makes another change of the table before it puts the first manifest."""

    def __init__(self, root: str, other: Callable[[], object]) -> None:
        super().__init__(LocalStore(root))
        self.other: Callable[[], object] | None = other

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        if path.startswith("_versions/") and self.other is not None:
            other, self.other = self.other, None
            other()
        super().put(path, data, mode=mode)


def overtaken(table: Dataset, other: Callable[[Dataset], object]) -> Dataset:
    """The table, with a change that comes before the next one that it is given."""
    return Dataset(on(OvertakenStore(table.uri, lambda: other(lance_sql.open(table.uri))), table.snapshot))


def content(table: Dataset) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = lance_sql.open(table.uri).to_table().sort_by("k").to_pylist()
    return rows


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"k": [1, 2], "v": [10, 20]}, str(tmp_path / "t.lance"))


@pytest.mark.parametrize("when_matched", ["update", "keep"])
def test_two_merges_of_a_new_key_make_one_row(table: Dataset, when_matched: str) -> None:
    merge = overtaken(table, lambda other: other.merge({"k": [3], "v": [-3]}, on="k")).merge
    merge({"k": [3], "v": [30]}, on="k", when_matched=when_matched)  # type: ignore[arg-type]
    assert content(table)[2:] == [{"k": 3, "v": 30 if when_matched == "update" else -3}]


def test_a_merge_sees_a_row_of_its_key_that_was_appended(table: Dataset) -> None:
    merge = overtaken(table, lambda other: lance_sql.write({"k": [3], "v": [-3]}, other.uri, mode="append")).merge
    merge({"k": [2, 3], "v": [21, 30]}, on="k")
    assert content(table)[1:] == [{"k": 2, "v": 21}, {"k": 3, "v": 30}]


def test_a_merge_that_inserts_nothing_goes_beside_an_append(table: Dataset) -> None:
    merge = overtaken(table, lambda other: lance_sql.write({"k": [3], "v": [-3]}, other.uri, mode="append")).merge
    assert merge({"k": [2, 3], "v": [21, 30]}, on="k", when_not_matched="ignore").version == 3
    assert content(table)[1:] == [{"k": 2, "v": 21}, {"k": 3, "v": -3}]
