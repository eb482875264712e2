"""The number of requests of statements; independent ones are concurrent."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from benchmarks import object_store_server
from benchmarks.object_store_server import StoreServer
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.take import take_at
from tests.object_stores.places import BUCKET, Place
from tests.object_stores.proxy import Fault, kinds

MOST: Final = {
    "open": 2,
    "append": 7,
    "job": 9,
    "update": 13,
    "scan of 4 files": 12,
    "change query": 6,
    "point query by zonemap": 8,
    "point query by btree": 8,
    "point query by bitmap": 8,
}


def rows(start: int, count: int = 100) -> pa.Table:
    keys = range(start, start + count)
    return pa.table({"k": pa.array(keys, pa.int64()), "v": [f"value {key}" for key in keys]})


@pytest.fixture
def uri(place: Place) -> str:
    uri = place.new_uri()
    lance_sql.write(rows(0), uri, storage_options=place.options)
    for start in (100, 200, 300):
        lance_sql.write(rows(start), uri, mode="append", storage_options=place.options)
    return uri


def check(what: str, counted: dict[str, int]) -> None:
    assert sum(counted.values()) <= MOST[what], counted


def test_opening(place: Place, uri: str) -> None:
    with place.proxy.counted() as seen:
        lance_sql.open(uri, storage_options=place.options)
    check("open", kinds(seen))


def test_an_append(place: Place, uri: str) -> None:
    with place.proxy.counted() as seen:
        lance_sql.write(rows(400), uri, mode="append", storage_options=place.options)
    check("append", kinds(seen))


def test_a_job_of_one_part(place: Place, uri: str) -> None:
    with place.proxy.counted() as seen:
        job = lance_sql.begin_write(rows(0).schema, uri, mode="append", storage_options=place.options)
        job.commit(job.write_fragments(rows(400)))
    check("job", kinds(seen))


def test_an_update_of_one_row(place: Place, uri: str) -> None:
    with place.proxy.counted() as seen:
        lance_sql.open(uri, storage_options=place.options).update({"v": "'new'"}, "k = 150")
    check("update", kinds(seen))


def test_a_scan_of_four_files(place: Place, uri: str) -> None:
    with place.proxy.counted() as seen:
        found = lance_sql.open(uri, storage_options=place.options).scan().to_table()
    assert found.num_rows == 400
    check("scan of 4 files", kinds(seen))
    assert "HEAD" not in kinds(seen)


def test_a_change_query_that_reads_one_file(place: Place, uri: str) -> None:
    with place.proxy.counted() as seen:
        table = lance_sql.open(uri, storage_options=place.options)
        found = table.scan(["k"], "_row_created_at_version = 3").to_table()
    assert found["k"].to_pylist() == list(range(200, 300))
    check("change query", kinds(seen))


def test_files_of_a_scan_are_asked_for_together(place: Place, uri: str) -> None:
    """Each answer is slow, and the scan takes the time of few of them."""
    for start in range(400, 1600, 100):
        lance_sql.write(rows(start), uri, mode="append", storage_options=place.options)
    lance_sql.open(uri, storage_options=place.options).delete("k % 100 = 7")
    place.proxy.most_at_once = 0
    slowly = place.proxy.injecting(lambda request: Fault.SLOW if request.kind == "GET" else None)
    with slowly, place.proxy.counted() as seen:
        found = lance_sql.open(uri, storage_options=place.options).scan().to_table()
    assert found.num_rows == 1600 - 16
    assert kinds(seen) == {"LIST": 1, "GET": 1 + 16 + 16}
    assert place.proxy.most_at_once >= 10


@pytest.mark.parametrize("how", ["by id", "by address"])
def test_files_of_taken_rows_are_requested_together(place: Place, how: str) -> None:
    uri = place.new_uri()
    content = pa.concat_tables([rows(start) for start in range(0, 1600, 100)])
    lance_sql.write(content, uri, max_rows_per_file=100, storage_options=place.options)
    table = lance_sql.open(uri, storage_options=place.options)
    wanted = list(range(7, 1600, 100))
    place.proxy.most_at_once = 0
    with place.proxy.injecting(lambda request: Fault.SLOW if request.kind == "GET" else None):
        if how == "by id":
            found = table.take(wanted)
        else:
            addresses = np.array([(k // 100) << 32 | k % 100 for k in wanted], np.uint64)
            found = take_at(table.snapshot, resolve(table.snapshot, None), addresses)
    assert found.equals(content.take(wanted))
    assert place.proxy.most_at_once >= 10


@pytest.mark.parametrize("kind", ["zonemap", "btree", "bitmap"])
def test_a_point_query_on_an_indexed_table(place: Place, kind: str) -> None:
    """Of 50 files it opens one, whatever else the index says."""
    uri = place.new_uri()
    content = pa.concat_tables([rows(start) for start in range(0, 5000, 100)])
    lance_sql.write(content, uri, max_rows_per_file=100, storage_options=place.options)
    lance_sql.open(uri, storage_options=place.options).indices.create("k", kind)
    with place.proxy.counted() as seen:
        table = lance_sql.open(uri, storage_options=place.options)
        found = table.scan(["v"], "k = 1234").to_table()
    assert found["v"].to_pylist() == ["value 1234"]
    check(f"point query by {kind}", kinds(seen))
    assert len({request.key for request in seen if "/data/" in request.key}) == 1


def test_checksums_go_with_a_table_in_a_bucket(place: Place, uri: str) -> None:
    table = lance_sql.open(uri, storage_options=place.options).delete("k = 7")
    report = lance_sql.verify(table.uri, checksums=True, storage_options=place.options)
    assert report.is_healthy
    assert report.compared is not None
    assert (report.compared.with_checksum, report.compared.without) == (5, 0)
    key = table.uri.removeprefix("s3://").partition("/")[2]
    path = table.snapshot.manifest.fragments[1].files[0].path
    client = place.client("s3")
    content = bytearray(client.get_object(Bucket=BUCKET, Key=f"{key}/data/{path}")["Body"].read())
    content[0:40] = bytes(40)
    client.put_object(Bucket=BUCKET, Key=f"{key}/data/{path}", Body=bytes(content))
    damaged = lance_sql.verify(table.uri, checksums=True, storage_options=place.options)
    assert {problem.file for problem in damaged.problems} == {f"data/{path}"}


def test_a_stream_does_not_repeat_requests(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = pa.table({name: rng.integers(0, 2**62, 1_000_000) for name in "abcd"})
    # several pages a column, of which a small batch opens the first, and more than is asked for beside that batch
    batches = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(100_000))
    lance.write_dataset(batches, tmp_path / "t.lance", data_storage_version="2.2")
    stored = sum(file.stat().st_size for file in (tmp_path / "t.lance" / "data").iterdir())
    with StoreServer(tmp_path, seconds=0.0, bytes_per_second=1e12) as server:
        table = lance_sql.open(f"s3://{object_store_server.BUCKET}/t.lance", storage_options=server.options)
        assert pa.RecordBatchReader.from_stream(table.scan()).read_all().equals(rows)
        count = server.take_count()
    assert count.num_bytes < 1.05 * stored
    # the versions, the manifest, the end of the file; the first batch of each column; the rest in parts of 4 MiB
    assert count.requests <= 3 + 4 + stored // 2**22 + 1


@pytest.mark.parametrize("column", ["text", "text?", "struct", "vector?"])
def test_few_rows_of_pages_without_levels_take_few_bytes(tmp_path: Path, column: str) -> None:
    """Of which the kernels know only as a whole where the rows are."""
    count = 150_000
    rng = np.random.default_rng(5)
    numbers = pa.array(rng.integers(0, 2**62, count))
    texts = pa.array([f"order number {number} for somebody" for number in numbers.to_pylist()])
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rng.random(8 * count)), 8)
    some = pa.array(rng.random(count) < 0.1)
    columns: dict[str, pa.Array] = {
        "text": texts,
        "text?": pa.array(texts.to_pylist(), mask=some.to_numpy(zero_copy_only=False)),
        "struct": pa.StructArray.from_arrays([numbers, texts], ["x", "s"]),
        "vector?": pa.FixedSizeListArray.from_arrays(vectors.values, 8, mask=some),
    }
    rows = pa.table({column: columns[column]})
    lance.write_dataset(rows, tmp_path / "t.lance", data_storage_version="2.0")
    with StoreServer(tmp_path, seconds=0.0, bytes_per_second=1e12) as server:
        table = lance_sql.open(f"s3://{object_store_server.BUCKET}/t.lance", storage_options=server.options)
        ends = [0, len(rows) - 1]
        # pages are open then, and what opens them is not counted
        assert table.take(ends).equals(rows.take(ends))
        server.take_count()
        assert table.scan(limit=5).to_table().equals(rows.slice(0, 5))
        assert table.take(range(70_000, 70_010)).equals(rows.slice(70_000, 10))
        assert server.take_count().num_bytes < 50_000
