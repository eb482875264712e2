"""Statistics of columns without reading them, and counts that need few values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.format.file.learned import LEARNED
from lance_sql.reads.scan.column_statistics import ColumnStatistics
from lance_sql.reads.scan.scan import ScanTask

ROWS = 30_000


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    LEARNED.clear()
    yield
    LEARNED.clear()


def rows() -> pa.Table:
    numbers = np.arange(ROWS)
    return pa.table(
        {
            "i": numbers,
            "n": pa.array(numbers, mask=numbers % 3 == 0),
            "f": np.where(numbers == 9, np.nan, numbers / 2),
            "d": pa.array([Decimal(int(number)) for number in numbers], pa.decimal128(12, 0)),
            "s": [f"{number:05d} and more" for number in numbers],
            "k": pa.array([("red", "green", "blue")[number % 3] for number in numbers]),
            "l": [[1]] * ROWS,
            "empty": pa.nulls(ROWS, pa.int32()),
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    lance.write_dataset(rows(), tmp_path / "t", data_storage_version="2.2", max_rows_per_file=20_000)
    return lance_sql.open(tmp_path / "t")


def by_name(found: Sequence[ColumnStatistics]) -> dict[str, ColumnStatistics]:
    return {each.column: each for each in found}


def bounds(known: ColumnStatistics) -> tuple[int | None, object, object, bool]:
    return known.num_nulls, known.smallest, known.largest, known.is_exact


def test_unread_columns_have_no_statistics(table: lance_sql.Dataset) -> None:
    found = by_name(table.maintenance.statistics())
    assert list(found) == table.schema.names
    assert found["i"].num_rows == ROWS
    assert found["i"].num_bytes > 0
    assert bounds(found["i"]) == (
        None,
        None,
        None,
        False,
    )
    assert found["k"].num_distinct == 3
    assert found["i"].num_distinct is None


def test_analyzed_columns_are_known(table: lance_sql.Dataset) -> None:
    found = by_name(table.maintenance.statistics(analyze=True))
    assert bounds(found["i"]) == (
        0,
        0,
        ROWS - 1,
        True,
    )
    assert (found["n"].num_nulls, found["n"].smallest, found["n"].largest) == (ROWS // 3, 1, ROWS - 1)
    assert math.isnan(found["f"].largest)
    assert found["f"].smallest == 0.0
    assert (found["d"].smallest, found["d"].largest, found["d"].is_exact) == (Decimal(0), Decimal(ROWS - 1), False)
    # of text the first eight bytes are known
    assert (found["s"].smallest, found["s"].largest, found["s"].is_exact) == ("00000 an", "29999 ao", False)
    assert (found["empty"].num_nulls, found["empty"].smallest, found["empty"].is_exact) == (ROWS, None, False)
    assert (found["l"].num_nulls, found["l"].smallest) == (None, None)
    (again,) = table.maintenance.statistics(["i"])
    assert again == found["i"]


def test_deleted_rows_leave_bounds(table: lance_sql.Dataset) -> None:
    found = by_name(table.delete("i < 10").maintenance.statistics(["i", "n"], analyze=True))
    assert (found["i"].num_rows, found["i"].num_nulls, found["i"].smallest, found["i"].is_exact) == (
        ROWS - 10,
        0,
        0,
        False,
    )
    assert found["n"].num_nulls is None


def test_indices_list_their_columns(table: lance_sql.Dataset) -> None:
    table = table.indices.create("i", "zonemap").indices.create("k", "bitmap").indices.create("n", "bitmap")
    found = by_name(table.maintenance.statistics())
    assert bounds(found["i"]) == (
        0,
        0,
        ROWS - 1,
        True,
    )
    assert (found["k"].num_distinct, found["n"].num_distinct) == (3, ROWS - ROWS // 3)
    added = lance_sql.write(rows(), table.uri, mode="append").maintenance.statistics(["i", "n"])
    assert [(each.smallest, each.num_distinct) for each in added] == [(None, None), (None, None)]
    without = lance_sql.open(table.uri, version=table.version, use_indices=False).maintenance.statistics(["i"])
    assert without[0].smallest is None


def test_other_columns_are_refused(table: lance_sql.Dataset) -> None:
    with pytest.raises(lance_sql.ColumnNotFound):
        table.maintenance.statistics(["nothing"])
    nested = lance_sql.write({"p": [{"x": 1}]}, "memory://nested-statistics")
    with pytest.raises(lance_sql.InvalidArgument, match=r"top-level"):
        nested.maintenance.statistics(["p.x"])
    assert nested.maintenance.statistics(analyze=True)[0].smallest is None


def test_a_table_without_rows_has_statistics(tmp_path: Path) -> None:
    made = lance_sql.write(rows().slice(0, 0), tmp_path / "none")
    (found, *_) = made.maintenance.statistics(analyze=True)
    assert (found.num_rows, found.num_bytes, found.smallest) == (0, 0, None)


def test_sql_has_them_as_a_table(table: lance_sql.Dataset) -> None:
    table.maintenance.analyze(["i"])
    connection = lance_sql.connect()
    found = connection.execute(
        f"SELECT rows, nulls, smallest, largest, exact FROM lance_statistics('{table.uri}') WHERE \"column\" = 'i'"
    ).fetchall()
    assert found == [(ROWS, 0, "0", str(ROWS - 1), True)]


@pytest.mark.parametrize(
    ("condition", "most_read"),
    [
        ("i >= 100", 8192),
        ("i < 25000 AND i >= 9", 2 * 8192),
        ("i <> 77", 8192),
        ("i >= 0", 0),
        ("n IS NULL", ROWS),
        ("empty IS NULL", 0),
        ("empty IS NOT NULL", 0),
        ("NOT (i < 100)", 8192),
        ("i < 100 OR i > 200", 8192),
        ("f >= 10", 8192),
    ],
)
def test_counting_reads_only_zones_that_are_not_decided(
    table: lance_sql.Dataset, condition: str, most_read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    original = ScanTask.to_reader

    def counting(task: ScanTask, **options: bool) -> pa.RecordBatchReader:
        read.append(task.num_candidates)
        return original(task, **options)

    for now in (table, table.delete("i % 10 = 3")):
        expected = lance_sql.open(now.uri, version=now.version, learn_statistics=False).count_rows(condition)
        now.maintenance.analyze()
        with monkeypatch.context() as patched:
            patched.setattr(ScanTask, "to_reader", counting)
            read.clear()
            assert now.count_rows(condition) == expected
            assert sum(read) <= most_read
        assert now.scan([], condition, limit=10).count_rows() == min(10, expected)
