"""Limits of scans: the first rows of the same scan without one, and no more reading than these probably take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from benchmarks.object_store_server import BUCKET, Count, StoreServer
from lance_sql import _kernels
from lance_sql.dataset import Dataset

NUM_ROWS = 400_000
FILTERS = (
    None,
    "x >= 0",
    "x < 5",
    "x = 77 AND text LIKE '%1%'",
    "x < 500 OR some IS NULL",
    "upper(text) >= 'ROW 5' AND x < 500",
    "x = 5000",
)
LIMITS = (0, 1, 10, 3_000, 20_000, 90_000, 10**7, 2**60)


def rows(num_rows: int, start: int) -> pa.Table:
    rng = np.random.default_rng(start)
    numbers = np.arange(start, start + num_rows)
    return pa.table(
        {
            "id": numbers,
            "x": rng.integers(0, 1000, num_rows),
            "text": [f"row {number}" for number in numbers.tolist()],
            "some": pa.array(numbers, mask=numbers % 3 == 0),
            "tags": pa.array([[number] * (number % 3) for number in numbers.tolist()]),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of a long fragment, a long one with deletions, and short ones."""
    path = tmp_path_factory.mktemp("limits")
    uri = path / "t.lance"
    start = 0
    for size in (NUM_ROWS, 100_000, *[700] * 60):
        lance.write_dataset(rows(size, start), uri, mode="append", data_storage_version="2.2")
        start += size
    lance.dataset(uri).delete(f"id % 5 = 1 AND id > {NUM_ROWS}")
    return path


@pytest.fixture(scope="module")
def far(folder: Path) -> Iterator[tuple[StoreServer, Dataset]]:
    with StoreServer(folder, seconds=0.0, bytes_per_second=1e12) as server:
        yield server, lance_sql.open(f"s3://{BUCKET}/t.lance", storage_options=server.options)


@pytest.mark.parametrize("condition", FILTERS)
@pytest.mark.parametrize("is_far", [False, True])
def test_the_first_rows_of_the_scan_without_a_limit(
    folder: Path, far: tuple[StoreServer, Dataset], condition: str | None, is_far: bool
) -> None:
    table = far[1] if is_far else lance_sql.open(folder / "t.lance")
    for columns in (["id", "text"], ["tags", "some", "x"], []):
        everything = table.scan(columns, condition).to_table()
        for limit in LIMITS:
            scan = table.scan(columns, condition, limit=limit)
            expected = everything.slice(0, min(limit, len(everything)))
            for found in (
                scan.to_table(),
                scan.to_reader().read_all(),
                pa.RecordBatchReader.from_stream(scan).read_all(),
            ):
                found.validate(full=True)
                assert found.equals(expected)
            for task in scan.tasks(3):
                assert task.to_reader().read_all().equals(expected)
            assert scan.count_rows() == len(expected)


@pytest.mark.parametrize("batch_size", [1000, 30_000])
def test_batches_of_a_caller_s_size(folder: Path, batch_size: int) -> None:
    table = lance_sql.open(folder / "t.lance")
    found = list(table.scan(["id"], "x < 900", limit=95_000, batch_size=batch_size).to_reader())
    assert max(batch.num_rows for batch in found) <= batch_size
    expected = table.scan(["id"], "x < 900").to_table().slice(0, 95_000)
    assert pa.Table.from_batches(found).equals(expected)


@pytest.mark.parametrize("limit", [0, 1, 9, 10, 11, 30, 95, 1000])
def test_a_stream_requests_no_batch_behind_its_limit(limit: int) -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "n": pa.array([1, None, 3, 4, None, 6, 7, 8, 9, None]),
            "s": pa.array(["a", "b", None] * 3 + ["c"]).dictionary_encode(),
            "l": pa.array([[1], None, [], [2, None], [3], [4], [], None, [5], [6]]),
            "p": pa.array([{"x": 1}, None, {"x": None}, {"x": 2}, {"x": 3}] * 2),
            "z": pa.nulls(10),
            "b": pa.array([True, None] * 5),
        }
    ).slice(1, 8)
    num_requested = 0
    is_closed = False

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal num_requested, is_closed
        try:
            while num_requested < 12:
                num_requested += 1
                yield batch
        finally:
            is_closed = True

    def stream() -> _kernels.BatchStream:
        return _kernels.BatchStream(batches(), batch.schema, most_ahead=4, eager=True, most_rows=limit)

    found = pa.RecordBatchReader.from_stream(stream()).read_all()
    found.validate(full=True)
    expected = pa.Table.from_batches([batch] * 12).slice(0, limit)
    assert found.equals(expected)
    assert [column.null_count for column in found.columns] == [column.null_count for column in expected.columns]
    assert num_requested == min(-(-limit // 8), 12)
    num_requested = 0
    iterator = stream()
    parts = [pa.RecordBatch._import_from_c(each.address, batch.schema) for each in iterator]
    assert sum(part.num_rows for part in parts) == min(limit, 96)
    # the iterator is still there
    assert is_closed or limit == 0
    assert next(iterator, None) is None


def test_a_remote_limit_takes_few_bytes(folder: Path, far: tuple[StoreServer, Dataset]) -> None:
    server, _ = far
    stored = sum(file.stat().st_size for file in (folder / "t.lance" / "data").iterdir())

    def count(condition: str, limit: int) -> Count:
        table = lance_sql.open(f"s3://{BUCKET}/t.lance", storage_options=server.options)
        server.take_count()
        assert table.scan(None, condition, limit=limit).to_table().num_rows == limit
        return server.take_count()

    # a part of the first page of each column, or a short page
    assert count("x >= 0", 10).num_bytes < stored // 3
    assert count("x < 100", 1000).num_bytes < stored // 3
