"""Random conditions on tables whose files have page statistics: a pruned scan and a full one find the same rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.reads.scan.predicates import evaluate, from_sql
from tests.properties.test_filters import TABLE, conditions

ROWS_PER_PAGE = 6
STEMS = ["", "a", "é" * 40, "x" * 63, "x" * 64, "x" * 65, "x" * 70 + "é", "\U0010ffff" * 20, "y"]
"""Statistics keep 64 bytes of a string, cut between characters; nothing can be greater than the last but one."""


def legacy(table: pa.Table, path: Path) -> lance_sql.Dataset:
    """The table in files of version 0.1, in pages of a few rows."""
    lance.write_dataset(
        table, path, data_storage_version="legacy", max_rows_per_group=ROWS_PER_PAGE, max_rows_per_file=50
    )
    return lance_sql.open(path)


def batch_of(dataset: lance_sql.Dataset) -> pa.RecordBatch:
    return dataset.to_table().combine_chunks().to_batches()[0]


def check(dataset: lance_sql.Dataset, condition: str) -> None:
    """The rows of a filtered scan are those that pass the filter among all of them."""
    everything = batch_of(dataset)
    passed = everything.filter(evaluate(from_sql(condition, dataset.schema), everything))
    found = dataset.scan(filter=condition).to_table()
    assert found.to_pydict().__repr__() == pa.Table.from_batches([passed]).to_pydict().__repr__(), condition


def num_pages(dataset: lance_sql.Dataset, condition: str) -> tuple[int, int]:
    pages = dataset.scan(filter=condition).plan.count_pages()
    return pages.selected, pages.total


@pytest.fixture(scope="module", params=["i", "f", "s", "m", "unsorted"])
def sorted_by(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    """The table of the filter tests, so ordered that most pages have bounds of their own in one column."""
    table = TABLE
    if request.param != "unsorted":
        table = table.take(np.argsort([str(v) for v in TABLE[request.param].to_pylist()], kind="stable"))
    return legacy(table, tmp_path_factory.mktemp("pruned") / "t")


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(condition=conditions)
def test_a_pruned_scan_finds_the_rows_of_a_full_one(sorted_by: lance_sql.Dataset, condition: str) -> None:
    check(sorted_by, condition)


texts = st.builds("".join, st.lists(st.sampled_from(STEMS), max_size=3))
columns_of_texts = st.lists(st.none() | texts, min_size=1, max_size=30)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(values=columns_of_texts, asked=texts, nullable=st.booleans(), kind=st.sampled_from([pa.string(), pa.binary()]))
def test_bounds_that_were_cut_exclude_no_string(
    values: list[str | None], asked: str, nullable: bool, kind: pa.DataType, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not nullable:
        values = [value or "" for value in values]
    schema = pa.schema([pa.field("s", kind, nullable)])
    array = pa.array(values, pa.string()).cast(kind)
    dataset = legacy(pa.table([array], schema), tmp_path_factory.mktemp("cut") / "t")
    literal = f"'{asked}'"
    if kind == pa.binary():
        literal = "'" + "".join(f"\\x{byte:02X}" for byte in asked.encode()) + "'::BLOB"
    for op in ("=", "<>", "<", "<=", ">", ">="):
        check(dataset, f"s {op} {literal}")
        check(dataset, f"NOT (s {op} {literal})")
    if kind == pa.string():
        check(dataset, f"starts_with(s, {literal})")
    for condition in ("s IS NULL", "s IS NOT NULL"):
        check(dataset, condition)


NAN = float("nan")


@pytest.mark.parametrize(
    "values",
    [[1.0, None, 3.0], [NAN, 1.0], [NAN, NAN], [None, None], [0.0, -0.0], [float("inf"), NAN, None], [-1.0, 5.0]],
    ids=str,
)
def test_missing_numbers_are_found_as_what_they_read_as(values: list[float | None], tmp_path: Path) -> None:
    dataset = legacy(pa.table({"f": pa.array(values, pa.float64())}), tmp_path / "t")
    numbers = ["-1", "0", "1", "2", "5", "'nan'::DOUBLE", "'inf'::DOUBLE"]
    for op, number in itertools.product(("=", "<>", "<", "<=", ">", ">="), numbers):
        check(dataset, f"f {op} {number}")
    check(dataset, "f IS NULL")
    check(dataset, "isnan(f)")
    check(dataset, "NOT isnan(f)")


def ordered(tmp_path: Path, make: Callable[[np.ndarray[Any, Any]], pa.Array]) -> lance_sql.Dataset:
    return legacy(pa.table({"c": make(np.arange(60))}), tmp_path / "t")


@pytest.mark.parametrize(
    ("make", "condition", "selected"),
    [
        (lambda n: pa.array(n), "c < 6", 1),
        (lambda n: pa.array(n), "c >= 54", 1),
        (lambda n: pa.array(n), "c = 30", 1),
        (lambda n: pa.array(n), "c IN (0, 59)", 2),
        (lambda n: pa.array(n), "NOT (c >= 6)", 1),
        (lambda n: pa.array(n), "c < 6 OR c > 100", 1),
        (lambda n: pa.array(n), "c BETWEEN 20 AND 21", 1),
        (lambda n: pa.array(n), "c > 5 AND c < 12", 1),
        (lambda n: pa.array(n // 6), "c <> 3", 9),
        (lambda n: pa.array(n * 1.0), "c < 6", 1),
        (lambda n: pa.array(n * 1.0), "c > 53", 10),
        (lambda n: pa.array(n < 30), "c", 5),
        (lambda n: pa.array(n < 30), "NOT c", 5),
        (lambda n: pa.array([f"k{i:02}" for i in n]), "c = 'k30'", 1),
        (lambda n: pa.array([f"k{i:02}" for i in n]), "c LIKE 'k5%'", 2),
        (lambda n: pa.array(n, pa.int32()).cast(pa.date32()), "c < '1970-01-03'", 1),
        (lambda n: pa.array(n).cast(pa.decimal128(21, 2)), "c > 53.5", 1),
        (lambda n: pa.array(n), "c IS NULL", 10),
        (lambda n: pa.array(n).cast(pa.timestamp("us")), "c = '1970-01-01'", 10),
    ],
)
def test_pages_that_cannot_match_are_not_read(
    tmp_path: Path, make: Callable[[np.ndarray[Any, Any]], pa.Array], condition: str, selected: int
) -> None:
    dataset = ordered(tmp_path, make)
    assert num_pages(dataset, condition)[0] == selected
    check(dataset, condition)


def test_explain_counts_the_pages_that_are_not_read(tmp_path: Path) -> None:
    dataset = ordered(tmp_path, lambda n: pa.array(n))
    text = dataset.scan(filter="c = 7").explain()
    assert "pages: 1 of 10 (9 pruned)" in text
    assert "rows: 6 of 60 (54 pruned)" in text


def test_members_of_structs_are_pruned_by_their_own_bounds(tmp_path: Path) -> None:
    numbers = pa.array(np.arange(60))
    table = pa.table({"p": pa.StructArray.from_arrays([numbers, numbers], ["x", "y"]), "n": numbers})
    dataset = legacy(table, tmp_path / "t")
    check(dataset, "p.x < 6 AND p.y > 3")
    assert dataset.scan(["n"], "p.x < 6").plan.num_candidates == 6
