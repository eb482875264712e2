"""Statements that another writer overtakes: its version is made right before theirs would have been."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import CommitConflict, Dataset, InvalidArgument, RetryableConflict
from lance_sql.store import LocalStore, PutMode
from lance_sql.writes.commit.committer import commit
from lance_sql.writes.commit.operations import DataReplacement, Replacement
from tests.writes.commit.failing_store import FailingStore, on


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


def content(table: Dataset) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lance_sql.open(table.uri).to_table().sort_by("k").to_pylist()
    return rows


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"k": [1, 2], "v": [10, 20]}, str(tmp_path / "t.lance"))


@pytest.mark.parametrize("when_matched", ["update", "keep"])
def test_two_merges_of_a_new_key_make_one_row(table: Dataset, when_matched: str) -> None:
    merge = overtaken(table, lambda other: other.merge({"k": [3], "v": [-3]}, on="k")).merge
    merge({"k": [3], "v": [30]}, on="k", when_matched=when_matched)  # type: ignore[arg-type]  # one of the texts
    assert content(table)[2:] == [{"k": 3, "v": 30 if when_matched == "update" else -3}]


def test_a_merge_sees_a_row_of_its_key_that_was_appended(table: Dataset) -> None:
    merge = overtaken(table, lambda other: lance_sql.write({"k": [3], "v": [-3]}, other.uri, mode="append")).merge
    merge({"k": [2, 3], "v": [21, 30]}, on="k")
    assert content(table)[1:] == [{"k": 2, "v": 21}, {"k": 3, "v": 30}]


def test_a_merge_that_inserts_nothing_goes_beside_an_append(table: Dataset) -> None:
    merge = overtaken(table, lambda other: lance_sql.write({"k": [3], "v": [-3]}, other.uri, mode="append")).merge
    assert merge({"k": [2, 3], "v": [21, 30]}, on="k", when_not_matched="ignore").version == 3
    assert content(table)[1:] == [{"k": 2, "v": 21}, {"k": 3, "v": -3}]


def cast(other: Dataset) -> None:
    dataset: Any = lance.dataset(other.uri)
    dataset.alter_columns({"path": "v", "data_type": pa.int32()})


def cast_and_renamed(other: Dataset) -> None:
    dataset: Any = lance.dataset(other.uri)
    dataset.alter_columns({"path": "v", "name": "w", "data_type": pa.int32()})


def dropped_and_added(other: Dataset) -> None:
    lance.dataset(other.uri).drop_columns(["v"])
    lance.dataset(other.uri).add_columns({"v": "k * 2"})


@pytest.mark.parametrize("change", [cast, cast_and_renamed, dropped_and_added])
def test_an_append_does_not_lose_the_values_of_a_column_that_was_replaced(
    table: Dataset, change: Callable[[Dataset], None]
) -> None:
    job = lance_sql.begin_write(table.schema, table.uri, mode="append")
    fragments = job.write_fragments({"k": [3], "v": [30]})
    change(table)
    before = content(table)
    with pytest.raises(RetryableConflict, match="replaced column 'v'"):
        job.commit(fragments)
    assert content(table) == before


def test_an_append_of_dropped_columns_alone_is_a_conflict(table: Dataset) -> None:
    job = lance_sql.begin_write(table.schema, table.uri, mode="append")
    fragments = job.write_fragments({"v": [30]})
    lance.dataset(table.uri).drop_columns(["v"])
    with pytest.raises(RetryableConflict, match="dropped every column"):
        job.commit(fragments)
    assert len(content(table)) == 2


def test_an_append_goes_beside_a_column_that_was_dropped(table: Dataset) -> None:
    job = lance_sql.begin_write(table.schema, table.uri, mode="append")
    fragments = job.write_fragments({"k": [3], "v": [30]})
    lance.dataset(table.uri).drop_columns(["v"])
    job.commit(fragments)
    assert content(table) == [{"k": 1}, {"k": 2}, {"k": 3}]


@pytest.mark.parametrize("change", [cast, dropped_and_added])
@pytest.mark.parametrize(
    "statement",
    [
        lambda table: table.update({"v": 7}, "k = 1"),
        lambda table: table.merge(pa.table({"k": [1], "v": pa.array([7], pa.int16())}), on="k"),
        lambda table: table.merge(pa.table({"k": [1, 3], "v": pa.array([7, 30], pa.int16())}), on="k"),
    ],
)
def test_changes_of_rows_are_computed_again_with_the_new_column(
    table: Dataset, change: Callable[[Dataset], None], statement: Callable[[Dataset], Dataset]
) -> None:
    made = statement(overtaken(table, change))
    assert content(table) == made.to_table().sort_by("k").to_pylist()
    assert content(table)[0] == {"k": 1, "v": 7}
    assert all(row["v"] is not None for row in content(table))


def test_rows_that_do_not_fit_the_new_type_are_refused(table: Dataset) -> None:
    with pytest.raises(InvalidArgument, match="v: int64 where int32 is expected"):
        overtaken(table, cast).merge({"k": [1], "v": [7]}, on="k")
    assert content(table)[0] == {"k": 1, "v": 10}


@pytest.mark.parametrize("column", ["v", "k"])
def test_computed_columns_are_computed_again_after_a_cast(table: Dataset, column: str) -> None:
    made = overtaken(table, cast).add_columns({"w": f"{column} + 1"})
    assert all(row["w"] == row[column] + 1 for row in content(table))
    assert made.schema.field("v").type == pa.int32()


def test_a_cast_sees_rows_that_pylance_appended(table: Dataset) -> None:
    def append(other: Dataset) -> None:
        lance.write_dataset(pa.table({"k": [3], "v": [30]}), other.uri, mode="append")

    overtaken(table, append).alter_column("v", type=pa.int32())
    assert content(table)[2:] == [{"k": 3, "v": 30}]


def test_pylance_does_not_append_over_our_cast(table: Dataset) -> None:
    stale = lance.dataset(table.uri)
    rows = pa.table({"k": [3], "v": [30]})
    transaction = lance.fragment.write_fragments(rows, stale, mode="append", return_transaction=True)
    table.alter_column("v", type=pa.int32())
    with pytest.raises(OSError, match="conflict"):
        lance.LanceDataset.commit(table.uri, transaction)
    assert len(content(table)) == 2


def test_replaced_data_does_not_go_to_a_column_that_was_cast(table: Dataset) -> None:
    (fragment,) = table.snapshot.manifest.fragments
    job = lance_sql.begin_write(table.schema, table.uri, mode="append")
    ((made,),) = [job.write_fragments({"v": [7, 8]})]
    operation = DataReplacement((Replacement(fragment.id, made.files[0]),))
    cast(table)
    with pytest.raises(CommitConflict):
        commit(table.snapshot, operation)
    assert [row["v"] for row in content(table)] == [10, 20]
