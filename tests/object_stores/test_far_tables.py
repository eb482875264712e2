"""Remote tables return the rows of local ones, for every query, batch size and failure on the way; pylance reads the
same rows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_sql
from benchmarks.object_store_server import BUCKET, StoreServer
from lance_sql.cli.main import main
from lance_sql.dataset import Dataset
from lance_sql.errors import CorruptFile
from lance_sql.format.file import ahead, file_bytes, open_pages, page_parts
from lance_sql.reads.scan import batches
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.stream import far_runs
from lance_sql.store import disk_cache, object_store
from lance_sql.store import ranges as store_ranges
from tests.object_stores.proxy import Fault, Proxy, Request
from tests.properties.test_filters_in_streams import SETUPS, conditions, written


@dataclass(frozen=True)
class Pair:
    """One table, read in two ways."""

    near: Dataset
    far: Dataset


@pytest.fixture(scope="module")
def small(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is much is little, so that small tables are read in many runs, with many requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_pages, "LONG_FILE_ROWS", 0)
        patch.setattr(file_bytes, "TAIL_BYTES", 512)
        patch.setattr(file_bytes, "ROUND_TRIP_BYTES", 4000)
        patch.setattr(batches, "FIRST_BATCH_ROWS", 64)
        patch.setattr(batches, "MAX_RUN_BYTES", 20_000)
        patch.setattr(batches, "ROUND_TRIP_BYTES", 4000)
        patch.setattr(far_runs, "ROUND_TRIP_BYTES", 4000)
        patch.setattr(far_runs, "MAX_BYTES", 100_000)
        patch.setattr(far_runs, "FIRST_BYTES", 10_000)
        patch.setattr(far_runs, "BATCH_ROWS", 100)
        patch.setattr(far_runs, "_CHUNK_ROWS", 100)
        patch.setattr(object_store, "ROUND_TRIP_BYTES", 500)
        patch.setattr(ahead, "ROUND_TRIP_BYTES", 2000)
        patch.setattr(ahead, "_SHORT_BYTES", 4000)
        patch.setattr(ahead, "GAP_BYTES", 50)
        patch.setattr(ahead, "_ROWS_PER_RANGE", 100)
        patch.setattr(page_parts, "GAP_BYTES", 50)
        patch.setattr(store_ranges, "GAP_BYTES", 50)
        patch.setattr(store_ranges, "LEAST_OVER_READ", 4000)
        patch.setattr(store_ranges.merge, "__defaults__", (2000, 7000))
        yield


@pytest.fixture(scope="module")
def folder(small: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("far")
    for number, setup in enumerate(SETUPS):
        written(setup, folder / f"{number}.lance")
    lance.write_dataset(nested(), folder / "nested.lance", max_rows_per_file=900)
    return folder


def nested(count: int = 2000) -> pa.Table:
    """Lists, lists of structs and vectors, some of them NULL."""
    draw = random.Random(5)
    items = [None if draw.random() < 0.1 else list(range(draw.randrange(6))) for _ in range(count)]
    structs = [None if draw.random() < 0.1 else [{"a": i, "b": f"text {i}"} for i in each or []] for each in items]
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(count * 4, dtype=np.float32)), 4)
    return pa.table(
        {
            "id": pa.array(range(count)),
            "key": pa.array([draw.randrange(50) for _ in range(count)]),
            "items": pa.array(items, pa.list_(pa.int64())),
            "structs": pa.array(structs),
            "vector": vectors,
        }
    )


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[StoreServer]:
    with StoreServer(folder, seconds=0.0, bytes_per_second=1e12) as server:
        yield server


@pytest.fixture(scope="module")
def pairs(server: StoreServer, folder: Path) -> list[Pair]:
    names = [*map(str, range(len(SETUPS))), "nested"]
    return [
        Pair(
            lance_sql.open(folder / f"{name}.lance"),
            lance_sql.open(f"s3://{BUCKET}/{name}.lance", storage_options=server.options),
        )
        for name in names
    ]


def read(scan: Scan, way: str) -> pa.Table:
    if way == "table":
        return scan.to_table()
    if way == "stream":
        return pa.RecordBatchReader.from_stream(scan).read_all()
    parts = [task.to_reader().read_all() for task in scan.tasks(3)]
    return pa.concat_tables(parts) if parts else scan.schema.empty_table()


@given(data=st.data(), where=st.none() | conditions)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_far_table_gives_the_rows_of_a_near_one(pairs: list[Pair], data: st.DataObject, where: str | None) -> None:
    number = data.draw(st.integers(0, len(SETUPS) - 1))
    if where is not None and "late" in where and "late" not in pairs[number].near.schema.names:
        where = None
    check(pairs[number], data, where)


@given(
    data=st.data(), where=st.sampled_from([None, "key = 7", "id > 300 AND id < 1500", "key < 25", "id IN (3, 1700)"])
)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_nested_columns_too(pairs: list[Pair], data: st.DataObject, where: str | None) -> None:
    check(pairs[-1], data, where)


def check(pair: Pair, data: st.DataObject, where: str | None) -> None:
    hidden = ["_rowid", "_rowaddr"]
    names = st.lists(st.sampled_from([*pair.near.schema.names, *hidden]), unique=True, min_size=1, max_size=6)
    columns = data.draw(st.none() | names)
    limit = data.draw(st.none() | st.integers(0, 900))
    batch_size = data.draw(st.none() | st.sampled_from([1 << 20, 97]))
    way = data.draw(st.sampled_from(["table", "stream", "tasks"]))
    near, far = (each.scan(columns, where, limit=limit, batch_size=batch_size) for each in (pair.near, pair.far))
    expected = near.to_table()
    found = read(far, way)
    # of floats, NaN is equal to itself here
    assert found.schema == expected.schema
    assert found.num_rows == expected.num_rows
    for name in found.column_names:
        assert repr(found[name].to_pylist()) == repr(expected[name].to_pylist())
    assert far.count_rows() == expected.num_rows


@pytest.mark.parametrize("where", ["id % 50 = 7", "id < 40", "id > 5 AND id < 1400 AND q = 1", "runs = 2", "u = 255"])
@pytest.mark.parametrize("number", range(len(SETUPS)))
def test_pylance_reads_the_same(pairs: list[Pair], server: StoreServer, number: int, where: str) -> None:
    theirs = lance.dataset(f"s3://{BUCKET}/{number}.lance", storage_options=server.options)
    columns = ["id", "text", "mm", "bytes", "whole"]
    expected = theirs.to_table(columns=columns, filter=where)
    assert pairs[number].far.scan(columns, where).to_table().equals(expected)


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.CUT, Fault.UNAVAILABLE, Fault.SLOW])
def test_answers_that_get_lost_are_asked_for_again(server: StoreServer, pairs: list[Pair], fault: Fault) -> None:
    host, _, port = server.address.partition(":")
    draw = random.Random(fault.value)

    def inject(request: Request) -> Fault | None:
        return fault if request.kind == "GET" and draw.random() < 0.05 else None

    with Proxy((host, int(port))) as proxy:
        proxy.slow_seconds = 0.05
        options = {**server.options, "aws_endpoint": proxy.endpoint}
        with proxy.injecting(inject):
            for number in (1, 3, 9):
                far = lance_sql.open(f"s3://{BUCKET}/{number}.lance", storage_options=options)
                near = pairs[number].near
                for where in (None, "id % 9 = 4", "whole = 2"):
                    expected = near.scan(None, where).to_table()
                    found = far.scan(None, where).to_table()
                    assert repr(found.to_pylist()) == repr(expected.to_pylist())


def test_a_file_that_is_shorter_than_it_was_is_an_error_of_one_line(folder: Path, server: StoreServer) -> None:
    lance_sql.write(pa.table({"id": range(5000), "t": [f"text {i}" for i in range(5000)]}), folder / "cut.lance")
    far = lance_sql.open(f"s3://{BUCKET}/cut.lance", storage_options=server.options)
    far.scan(["id"], limit=1).to_table()
    # another file in its place: the server is told of nothing, as a store would be
    (data,) = (folder / "cut.lance" / "data").iterdir()
    content = data.read_bytes()
    data.unlink()
    data.write_bytes(content[: len(content) // 8])
    with StoreServer(folder, seconds=0.0, bytes_per_second=1e12) as fresh:
        again = lance_sql.open(f"s3://{BUCKET}/cut.lance", storage_options=fresh.options)
        with pytest.raises(CorruptFile) as error:
            again.scan().to_table()
    assert "\n" not in str(error.value)
    assert data.name in str(error.value)


def test_a_table_that_was_read_is_read_from_the_cache(
    server: StoreServer, pairs: list[Pair], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request opens it, for there may be another version; what it then holds is on this machine."""
    monkeypatch.setattr(disk_cache, "BLOCK_BYTES", 512)
    for number, pair in enumerate(pairs[:-1]):
        expected = repr(pair.near.to_table().to_pylist())
        for requests in (None, 1):
            server.take_count()
            uri = f"s3://{BUCKET}/{number}.lance"
            found = lance_sql.open(uri, storage_options=server.options, cache=tmp_path).to_table()
            assert repr(found.to_pylist()) == expected
            assert requests is None or server.take_count().requests == requests
    query = f"SELECT count(*), sum(id) FROM 's3://{BUCKET}/0.lance'"
    for name, value in server.options.items():
        monkeypatch.setenv(f"AWS_{name.removeprefix('aws_').upper()}", value)
    connection = lance_sql.connect(cache=tmp_path)
    server.take_count()
    assert connection.execute(query).fetchall() == [(1440, sum(range(1440)))]
    assert server.take_count().requests == 1
    connection.close()
    shown = CliRunner().invoke(main, ["cache", "--folder", str(tmp_path), "-o", "json"])
    assert {each["table"] for each in json.loads(shown.stdout)} == {
        f"s3://{BUCKET}/{number}.lance" for number in range(len(SETUPS))
    }
    cleared = CliRunner().invoke(main, ["cache", "--folder", str(tmp_path), "--clear"])
    assert cleared.stderr.startswith("Removed ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", [None, "id >= 0"])
def test_counting_all_rows_takes_two_requests(server: StoreServer, where: str | None) -> None:
    server.take_count()
    table = lance_sql.open(f"s3://{BUCKET}/0.lance", storage_options=server.options)
    if where is None:
        assert table.scan([]).count_rows() == table.count_rows()
        assert server.take_count().requests == 2
    else:
        assert table.scan(["id"], where).count_rows() == table.count_rows()
