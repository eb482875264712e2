"""Rows of a change, for every verb that changes rows: columns in their places, and the fields that change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.format.proto import transaction_pb2

Verb = Callable[[Dataset], object]


def source(*names: str) -> pa.Table:
    """A matched row."""
    columns = {"k": [1], "a": ["new"], "b": ["other"], "n": [10]}
    return pa.table({name: columns[name] for name in names})


# each sets column a of the row k = 1 to "new", and no other column
SETTING_A: dict[str, Verb] = {
    "update": lambda table: table.update({"a": "'new'"}, "k = 1"),
    "merge": lambda table: table.merge(source("k", "a"), on="k", when_not_matched="ignore"),
    "UPDATE": lambda table: lance_sql.sql(f"UPDATE '{table.uri}' SET a = 'new' WHERE k = 1"),
    "MERGE": lambda table: lance_sql.sql(
        f"MERGE INTO '{table.uri}' AS t USING (SELECT 1 AS k) AS s ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = 'new'"
    ),
    "apply_changes": lambda table: lance_sql.apply_changes(table, source("k", "a"), "k"),
}


@pytest.fixture(params=[True, False], ids=["stable", "addresses"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Dataset:
    rows = pa.table({"k": [0, 1, 2], "a": ["a0", "a1", "a2"], "b": ["b0", "b1", "b2"], "n": [0, 1, 2]})
    return lance_sql.write(rows, tmp_path / "t.lance", stable_row_ids=request.param)


def fields_of(table: Dataset) -> set[str]:
    """Returns the columns whose indices do not cover the new fragments of the newest version."""
    newest = lance_sql.open(table.uri).snapshot
    content = (Path(table.uri) / "_transactions" / str(newest.manifest.transaction_file)).read_bytes()
    update = transaction_pb2.Transaction.FromString(content).update
    by_id = newest.manifest.schema.by_id
    return {by_id[id].name for id in update.fields_for_preserving_frag_bitmap}


@pytest.mark.parametrize("verb", SETTING_A)
def test_other_columns_and_rows_stay(table: Dataset, verb: str) -> None:
    SETTING_A[verb](table)
    rows = lance_sql.open(table.uri).scan().to_table().sort_by("k").to_pylist()
    assert rows == [
        {"k": 0, "a": "a0", "b": "b0", "n": 0},
        {"k": 1, "a": "new", "b": "b1", "n": 1},
        {"k": 2, "a": "a2", "b": "b2", "n": 2},
    ]


@pytest.mark.parametrize("verb", SETTING_A)
def test_a_transaction_names_the_columns_that_are_set(table: Dataset, verb: str) -> None:
    SETTING_A[verb](table)
    # the source of these has the key as a column
    keys = {"k"} if verb in ("merge", "apply_changes") else set()
    assert fields_of(table) == {"a"} | keys


def test_columns_that_no_clause_sets_are_null_in_new_rows(table: Dataset) -> None:
    lance_sql.sql(
        f"MERGE INTO '{table.uri}' AS t USING (SELECT 7 AS k) AS s ON t.k = s.k"
        " WHEN NOT MATCHED THEN INSERT (k, b) VALUES (s.k, 'in')"
    )
    found = lance_sql.open(table.uri).scan(filter="k = 7").to_table().to_pylist()
    assert found == [{"k": 7, "a": None, "b": "in", "n": None}]


def test_rows_are_equal_by_the_columns_that_a_statement_sets(table: Dataset) -> None:
    change = lance_sql.sql(
        f"MERGE INTO '{table.uri}' AS t USING (SELECT unnest([1, 2]) AS k) AS s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET a = 'a1'"
    )
    (row,) = change.to_pylist()
    assert (row["rows_updated"], lance_sql.open(table.uri).last_change) == (1, None)
    summary = lance_sql.open(table.uri).versions()[-1].summary
    assert summary is not None
    assert summary.rows_equal == 1


def test_deletions_alone_write_no_data_file(table: Dataset) -> None:
    before = {file.name for file in (Path(table.uri) / "data").iterdir()}
    for verb in (
        lambda: table.delete("k = 0"),
        lambda: table.merge(source("k"), on="k", when_matched="delete", when_not_matched="ignore"),
        lambda: lance_sql.sql(f"DELETE FROM '{table.uri}' WHERE k IN (SELECT 2)"),
    ):
        verb()
    assert {file.name for file in (Path(table.uri) / "data").iterdir()} == before
    assert lance_sql.open(table.uri).count_rows() == 0
