"""Rows that a merge matches and that have its values already: not written, no change, counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli import main
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.table.commit_summary import CommitSummary
from tests.strategies import RandomArrow


def _summary(table: Dataset) -> CommitSummary:
    assert table.last_change is not None
    return table.last_change


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    rows = {
        "id": list(range(10)),
        "a": [float(i) for i in range(10)],
        "s": [None if i == 4 else str(i) for i in range(10)],
    }
    return lance_sql.write(rows, tmp_path / "t.lance")


def test_only_rows_that_differ_are_written(table: Dataset) -> None:
    source = {"id": [1, 2, 4, 5, 11], "a": [1.0, 7.0, 4.0, 5.0, 1.0], "s": ["1", "2", None, "other", "new"]}
    made = table.merge(source, on="id")
    done = _summary(made)
    assert (done.rows_updated, done.rows_inserted, done.rows_deleted, done.rows_equal) == (2, 1, 0, 2)
    fresh = made.scan(["id", "_row_last_updated_at_version"]).to_table().to_pylist()
    assert {row["id"] for row in fresh if row["_row_last_updated_at_version"] == made.version} == {2, 5, 11}
    changes = made.changes(since=table.version).to_table().to_pylist()
    assert {(row["id"], row["_change_type"]) for row in changes} == {
        (2, "update_preimage"),
        (2, "update_postimage"),
        (5, "update_preimage"),
        (5, "update_postimage"),
        (11, "insert"),
    }
    assert lance_sql.audit(table.uri).is_healthy


def test_nothing_but_equal_rows_makes_no_version(table: Dataset) -> None:
    made = table.merge(table.scan().to_table(), on="id")
    assert made.version == table.version
    assert _summary(made).rows_equal == 10
    assert lance_sql.open(table.uri).version == table.version


def test_some_columns_are_compared_alone(table: Dataset) -> None:
    made = table.merge({"id": [3, 4], "a": [3.0, 3.0]}, on="id")
    assert (_summary(made).rows_updated, _summary(made).rows_equal) == (1, 1)
    assert made.scan(["s"], "id = 4").to_table()["s"].to_pylist() == [None]


def test_rows_that_are_equal_are_not_unmatched(table: Dataset) -> None:
    made = table.merge(table.scan(filter="id < 3").to_table(), on="id", delete_unmatched=True)
    assert sorted(made.scan().to_table()["id"].to_pylist()) == [0, 1, 2]
    assert (_summary(made).rows_deleted, _summary(made).rows_equal) == (7, 3)


@pytest.mark.parametrize(
    ("old", "new", "are_equal"),
    [
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        (None, None, True),
        (None, 0.0, False),
        (0.0, None, False),
    ],
)
def test_values_that_can_be_told_apart_differ(tmp_path: Path, old: Any, new: Any, are_equal: bool) -> None:
    table = lance_sql.write(pa.table({"id": [1], "f": pa.array([old], pa.float64())}), tmp_path / "t.lance")
    made = table.merge(pa.table({"id": [1], "f": pa.array([new], pa.float64())}), on="id")
    assert _summary(made).rows_equal == are_equal


@pytest.mark.parametrize("seed", range(20))
def test_values_of_any_type(tmp_path: Path, seed: int) -> None:
    draw = RandomArrow(seed, file_version="2.2")
    types = [draw.type(2) for _ in range(3)]
    old, new = (
        pa.table({"id": np.arange(200), **{f"c{i}": draw.array(type, 200) for i, type in enumerate(types)}})
        for _ in range(2)
    )
    table = lance_sql.write(old, tmp_path / "t.lance")
    stays = np.random.default_rng(seed).random(200) < 0.5
    source = pa.concat_tables([old.filter(pa.array(stays)), new.filter(pa.array(~stays))])
    made = table.merge(source, on="id")
    expected = {row["id"]: repr(row) for row in source.to_pylist()}
    assert {row["id"]: repr(row) for row in made.scan().to_table().to_pylist()} == expected
    before = {row["id"]: repr(row) for row in old.to_pylist()}
    num_equal = sum(before[key] == row for key, row in expected.items())
    assert _summary(made).rows_equal == num_equal
    assert _summary(made).rows_updated == 200 - num_equal


def test_sql_reports_equal_rows(table: Dataset) -> None:
    done = lance_sql.sql(
        f"MERGE INTO '{table.uri}' t USING (SELECT * FROM (VALUES (1, 1.0), (2, 9.0)) v(id, a)) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET a = s.a"
    )
    assert {**done.to_pylist()[0], "version": 0} == {
        "operation": "merge",
        "version": 0,
        "rows_inserted": 0,
        "rows_updated": 1,
        "rows_deleted": 0,
        "rows_equal": 1,
    }
    assert lance_sql.open(table.uri).version == table.version + 1


def test_an_equal_row_and_another_one_of_its_key_are_refused(table: Dataset) -> None:
    with pytest.raises(InvalidArgument, match="Two rows of the source match one row"):
        lance_sql.sql(
            f"MERGE INTO '{table.uri}' t USING (SELECT * FROM (VALUES (1, 1.0), (1, 9.0)) v(id, a)) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET a = s.a"
        )


def test_the_command_line_lists_them(table: Dataset, tmp_path: Path) -> None:
    source = tmp_path / "new.csv"
    source.write_text("id,a\n1,1.0\n2,9.0\n")
    result = CliRunner().invoke(main, ["merge", table.uri, str(source), "--on", "id", "--yes"])
    assert result.exit_code == 0, result.output
    assert "updated 1 row, left 1 equal row as it was" in result.output + result.stderr
