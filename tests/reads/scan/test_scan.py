"""Scans of whole tables: columns, limits, batches, tasks, errors."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import ColumnNotFound, CorruptFile, InvalidArgument
from lance_sql.format.proto import table_pb2
from lance_sql.reads.scan import read_ahead
from lance_sql.reads.scan.system_columns import CREATED_AT, LAST_UPDATED_AT, ROW_ADDRESS, ROW_ID
from tests.damaged.messages import column_messages, with_manifest
from tests.damaged.tables import data_file, files_below, in_memory, manifest_file, write
from tests.format.file.counting import CountingStore

NUM_ROWS = 3000


def sample() -> pa.Table:
    numbers = np.arange(NUM_ROWS)
    points = pa.StructArray.from_arrays(
        [
            pa.array(numbers, pa.int32()),
            pa.StructArray.from_arrays(
                [pa.array([f"p{n}" for n in numbers]), pa.array(numbers / 2)],
                ["name", "weight"],
                mask=pa.array(numbers % 5 == 0),
            ),
        ],
        ["x", "inner"],
        mask=pa.array(numbers % 3 == 0),
    )
    return pa.table(
        {"id": numbers, "text": [f"row {n}" for n in numbers], "point": points, "tags": [[n, n + 1] for n in numbers]}
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three fragments of 1,000 rows, with rows 500 .. 599 deleted in the second version; stable row ids."""
    path = tmp_path_factory.mktemp("scan") / "t.lance"
    lance.write_dataset(sample(), str(path), max_rows_per_file=1000, enable_stable_row_ids=True)
    lance.dataset(str(path)).delete("id >= 500 AND id < 600")
    return path


@pytest.fixture(scope="module")
def dataset(root: Path) -> Dataset:
    return lance_sql.open(root)


LIVE = [n for n in range(NUM_ROWS) if not 500 <= n < 600]


def test_columns_come_in_the_order_asked_for(dataset: Dataset) -> None:
    table = dataset.scan(["text", ROW_ADDRESS, "id"]).to_table()
    assert table.column_names == ["text", ROW_ADDRESS, "id"]
    assert table["id"].to_pylist() == LIVE
    assert dataset.scan().schema.names == ["id", "text", "point", "tags"]
    assert table[ROW_ADDRESS].to_pylist()[1000] == (1 << 32) + 100


def test_members_of_structs_are_columns_of_their_own(dataset: Dataset) -> None:
    table = dataset.scan(["point.inner.weight", "point.x", "point"]).to_table()
    assert table.column_names == ["point.inner.weight", "point.x", "point"]
    points = table["point"].to_pylist()
    assert table["point.x"].to_pylist() == [point and point["x"] for point in points]
    inner = [point and point["inner"] for point in points]
    assert table["point.inner.weight"].to_pylist() == [part and part["weight"] for part in inner]
    assert table.schema.field("point.x").nullable


def test_members_of_structs_are_filtered_on(dataset: Dataset) -> None:
    found = dataset.scan(["id"], "point.inner.weight < 2 AND point.x > 0").to_table()
    assert found["id"].to_pylist() == [1, 2]


@pytest.mark.parametrize("columns", [["nope"], ["point.nope"], ["id.x"], ["tags.item.x"]])
def test_unknown_columns_are_refused(dataset: Dataset, columns: list[str]) -> None:
    with pytest.raises(ColumnNotFound):
        dataset.scan(columns)


@pytest.mark.parametrize("columns", [["id", "id"], [ROW_ID, "id", ROW_ID], ["point.x", "point.x"]])
def test_a_column_is_asked_for_once(dataset: Dataset, columns: list[str]) -> None:
    with pytest.raises(InvalidArgument, match="is selected twice"):
        dataset.scan(columns)


def test_no_columns_leave_the_number_of_rows(dataset: Dataset) -> None:
    assert dataset.scan([]).to_table().num_rows == 2900
    assert dataset.scan([], "id % 2 = 0").to_table().num_rows == 1450
    assert sum(batch.num_rows for batch in dataset.scan([], limit=7).to_reader()) == 7
    assert dataset.scan([]).to_reader().schema.names == []


def test_rows_without_values_are_those_of_the_version(tmp_path: Path) -> None:
    """Whole tables, some with deletions, some in batches, and with a column of NULLs."""
    path = tmp_path / "t"
    for start in range(0, 500, 100):
        lance_sql.write(pa.table({"i": range(start, start + 100)}), path, mode="append" if start else "create")
    whole = lance_sql.open(path)
    assert [batch.num_rows for batch in whole.scan([], batch_size=200).to_reader()] == [200, 200, 100]
    (batch,) = whole.scan([]).with_nulls(0, "nothing").to_reader()
    assert batch.equals(pa.record_batch({"nothing": pa.nulls(500)}))
    assert pa.RecordBatchReader.from_stream(whole.scan([], limit=130)).read_all().num_rows == 130
    fewer = whole.delete("i % 3 = 0")
    assert fewer.scan([]).to_table().num_rows == fewer.scan(["i"]).to_table().num_rows == 333
    assert sum(task.to_reader().read_all().num_rows for task in fewer.scan([]).tasks(3)) == 333


@pytest.mark.parametrize("limit", [0, 1, 499, 500, 501, 950, 2899, 2900, 10**12])
def test_a_limit_takes_the_first_rows(dataset: Dataset, limit: int) -> None:
    assert dataset.scan(["id"], limit=limit).to_table()["id"].to_pylist() == LIVE[:limit]
    even = [n for n in LIVE if n % 2 == 0]
    assert dataset.scan(["id"], "id % 2 = 0", limit=limit).to_table()["id"].to_pylist() == even[:limit]
    recent = [n for n in LIVE if n > 700]
    assert dataset.scan(["id"], f"{ROW_ID} > 700", limit=limit).to_table()["id"].to_pylist() == recent[:limit]
    assert dataset.scan(["id"], "id % 2 = 0", limit=limit).count_rows() == min(limit, 1450)


def test_a_limit_reads_no_more_fragments_than_it_needs(root: Path) -> None:
    store = CountingStore(files_below(root))
    assert store.open().scan(["id"], limit=10).to_table().num_rows == 10
    assert len({path for path, _ in store.requests if path.startswith("data/")}) == 1


@pytest.mark.parametrize("batch_size", [1, 7, 100, 10**9])
def test_batches_are_no_larger_than_asked_for(dataset: Dataset, batch_size: int) -> None:
    columns, limit = ["id", "tags"], 620
    batches = list(dataset.scan(columns, limit=limit, batch_size=batch_size).to_reader())
    assert max(batch.num_rows for batch in batches) <= batch_size
    assert pa.Table.from_batches(batches)["id"].to_pylist() == LIVE[:limit]


@pytest.mark.parametrize("options", [{"limit": -1}, {"batch_size": 0}, {"batch_size": -5}])
def test_limits_that_make_no_sense_are_refused(dataset: Dataset, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="must be at least"):
        dataset.scan(["id"], **options)


def test_explain_counts_rows_pruned_by_planning(dataset: Dataset) -> None:
    text = dataset.scan(["id", "text"], f"{ROW_ADDRESS} >= {2 << 32} AND {ROW_ID} < 2010 AND text LIKE '%1'").explain()
    assert "columns: id, text" in text
    assert "fragments: 1 of 3 (2 pruned)" in text
    assert "rows: 10 of 2900 (2890 pruned)" in text
    assert "pages: 2 of 6 (4 pruned)" in text
    nothing = dataset.scan(["id"], f"{CREATED_AT} > 5").explain()
    assert "fragments: 0 of 3 (3 pruned)" in nothing
    assert "rows: 0 of 2900 (2900 pruned)" in nothing


def test_counting_rows_reads_no_page(root: Path) -> None:
    store = CountingStore(files_below(root))
    dataset = store.open()
    assert dataset.count_rows() == 2900
    assert dataset.count_rows(f"{CREATED_AT} = 1 AND {ROW_ID} >= 1000") == 2000
    assert dataset.count_rows(f"{LAST_UPDATED_AT} > 1") == 0
    assert not [path for path, _ in store.requests if path.startswith("data/")]


def test_planning_alone_reads_no_data_file(root: Path) -> None:
    store = CountingStore(files_below(root))
    scan = store.open().scan(["id"], f"{ROW_ID} = 5")
    assert scan.schema.names == ["id"]
    scan.to_reader()
    scan.tasks(4)
    assert not [path for path, _ in store.requests if path.startswith("data/")]


def test_version_columns_need_stable_row_ids(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"a": [1, 2]}), str(tmp_path / "plain.lance"))
    dataset = lance_sql.open(tmp_path / "plain.lance")
    assert dataset.system_columns == (ROW_ID, ROW_ADDRESS)
    for name in (CREATED_AT, LAST_UPDATED_AT):
        reason = r"plain\.lance( version 1)? was created without stable row ids, so row history is not recorded"
        with pytest.raises(InvalidArgument, match=reason):
            dataset.scan(["a", name])
        with pytest.raises(InvalidArgument, match=reason):
            dataset.scan(["a"], f"a > 1 OR {name} > 3")
        with pytest.raises(InvalidArgument, match=reason):
            dataset.scan(["a"], pc.field(name) > 3)
        with pytest.raises(InvalidArgument, match=reason):
            dataset.count_rows(f'"{name}" = 1')
        with pytest.raises(InvalidArgument, match=reason):
            dataset.take([0], [name])
    assert dataset.scan([ROW_ID, ROW_ADDRESS]).to_table().to_pydict() == {ROW_ID: [0, 1], ROW_ADDRESS: [0, 1]}


def test_a_text_that_only_looks_like_a_version_column_is_no_column(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"a": ["x", CREATED_AT]}), str(tmp_path / "plain.lance"))
    assert lance_sql.open(tmp_path / "plain.lance").count_rows(f"a = '{CREATED_AT}'") == 1


def test_rows_are_taken_in_the_order_asked_for(dataset: Dataset) -> None:
    assert dataset.take([2999, 0, 700, 0], ["id", ROW_ID]).to_pydict() == {
        "id": [2999, 0, 700, 0],
        ROW_ID: [2999, 0, 700, 0],
    }
    assert dataset.take([], ["id", "point"]).to_pydict() == {"id": [], "point": []}
    assert dataset.take([1, 2], []).num_rows == 2
    assert dataset.take([], []).num_rows == 0
    assert dataset.take([4]).column_names == ["id", "text", "point", "tags"]


@pytest.mark.parametrize(
    "ids",
    [
        [1, 2],
        (1, 2),
        range(1, 3),
        np.array([1, 2], np.int16),
        np.array([1, 2], np.uint64),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
        iter([1, 2]),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_row_ids_are_integers_of_any_kind(dataset: Dataset, ids: Any) -> None:
    assert dataset.take(ids, ["id"])["id"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    "ids",
    [[-1], [2**64], [1.5], ["1"], [None], pa.array([1, None]), pa.array([-1]), pa.array([0.5]), np.array([1.0])],
    ids=str,
)
def test_anything_else_is_no_row_id(dataset: Dataset, ids: Any) -> None:
    with pytest.raises(InvalidArgument, match="Row ids are integers"):
        dataset.take(ids, ["id"])


@pytest.mark.parametrize("id", [500, 599, 3000, 2**63, 2**64 - 1])
def test_ids_of_no_live_row_are_named(dataset: Dataset, id: int) -> None:
    with pytest.raises(InvalidArgument, match=f"has no rows with the row ids {id}$"):
        dataset.take([1, id], ["id"])


def test_every_reader_starts_anew(dataset: Dataset) -> None:
    scan = dataset.scan(["id"])
    first = scan.to_reader()
    first.read_next_batch()
    assert scan.to_table().num_rows == 2900
    assert pa.RecordBatchReader.from_stream(scan).read_all().num_rows == 2900


def busy_threads() -> int:
    return read_ahead._executor()._work_queue.qsize()


def other_threads() -> set[threading.Thread]:
    """All but the one that gives memory back, which ends by itself."""
    return {thread for thread in threading.enumerate() if thread.name != "lance-sql-memory"}


def test_a_reader_dropped_half_read_leaves_no_work_behind(dataset: Dataset) -> None:
    reader = dataset.scan(batch_size=1).to_reader()
    for _ in range(3):
        reader.read_next_batch()
    before = other_threads()
    del reader
    gc.collect()
    deadline = time.monotonic() + 5
    while busy_threads() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert busy_threads() == 0
    assert other_threads() <= before
    assert dataset.scan(["id"]).to_table().num_rows == 2900


def test_few_batches_are_read_ahead(root: Path) -> None:
    store = CountingStore(files_below(root))
    reader = store.open().scan(["text"], batch_size=10).to_reader()
    reader.read_next_batch()
    assert len(store.data_requests()) <= 2
    reader.read_next_batch()
    time.sleep(0.05)
    assert len(store.data_requests()) <= 2 + read_ahead.MAX_IN_FLIGHT + 1


@pytest.mark.parametrize("target", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("filter", [None, "id % 3 = 1", f"{ROW_ID} BETWEEN 400 AND 1100"])
def test_tasks_together_are_the_scan(dataset: Dataset, target: int, filter: str | None) -> None:
    scan = dataset.scan(["id", ROW_ID], filter)
    tasks = scan.tasks(target)
    parts = [pickle.loads(pickle.dumps(task)).to_reader().read_all() for task in tasks]
    assert pa.concat_tables(parts).equals(scan.to_table())
    assert len(tasks) <= max(target, 1) + 3
    assert sum(task.num_candidates for task in tasks) >= scan.plan.num_candidates
    sizes = [task.num_candidates for task in tasks]
    assert max(sizes) <= -(-sum(sizes) // target)


def test_there_are_no_more_tasks_than_rows(dataset: Dataset) -> None:
    tasks = dataset.scan(["id"], "id < 3").tasks(10**12)
    assert sum(task.num_candidates for task in tasks) >= 3
    assert [task.to_reader().read_all().num_rows for task in tasks].count(1) == 3


def test_a_limit_is_one_task(dataset: Dataset) -> None:
    (task,) = dataset.scan(["id"], limit=5).tasks(8)
    assert task.to_reader().read_all().num_rows == 5
    assert dataset.scan(["id"], f"{ROW_ID} > 9999").tasks(8) == []


def test_handles_scans_and_tasks_are_pickled(dataset: Dataset) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(dataset, protocol))
        assert (again.version, again.uri) == (dataset.version, dataset.uri)
        scan = dataset.scan(["point.x", CREATED_AT], "id < 10 OR text = 'row 700'")
        assert pickle.loads(pickle.dumps(scan, protocol)).to_table().equals(scan.to_table())


def _rows_of(task: Any) -> int:
    return int(task.to_reader().read_all().num_rows)


def test_tasks_are_read_in_other_processes(dataset: Dataset) -> None:
    tasks = dataset.scan(["id"], "id % 2 = 0").tasks(2)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert sum(pool.map(_rows_of, tasks)) == 1450


@pytest.fixture
def with_a_damaged_page(tmp_path: Path) -> Dataset:
    """The last page of column `b` is overwritten from its second chunk on."""
    rows = 400_000
    table = pa.table({"a": np.arange(rows), "b": np.random.default_rng(1).integers(0, 2**62, rows)})
    files = write(tmp_path / "t", table, "2.2")
    path = data_file(files)
    page = column_messages(files[path])[1].pages[-1]
    start, end = page.buffer_offsets[1] + 10_000, page.buffer_offsets[1] + page.buffer_sizes[1]
    data = bytearray(files[path])
    data[start:end] = b"\xff" * (end - start)
    return in_memory({**files, path: bytes(data)})


def test_errors_while_reading_name_file_column_and_page(with_a_damaged_page: Dataset) -> None:
    scan = with_a_damaged_page.scan(["a", "b"])
    where = r"data/\w+\.lance: column 'b', page \d+: "
    with pytest.raises(CorruptFile, match=where):
        scan.to_table()
    with pytest.raises(CorruptFile, match=where):
        for _ in scan.to_reader():
            pass
    with pytest.raises(CorruptFile, match=where):
        with_a_damaged_page.count_rows("b > 5")
    with pytest.raises((pa.ArrowException, OSError), match=where):
        pa.RecordBatchReader.from_stream(scan).read_all()
    assert with_a_damaged_page.scan(["a"]).to_table().num_rows == 400_000


def test_columns_added_later_are_null_in_old_fragments(tmp_path: Path) -> None:
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({"a": [1, 2]}), uri, data_storage_version="2.2")
    added = pa.field("s", pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))]))
    lance.dataset(uri).add_columns(pa.schema([added]))
    more = pa.table({"a": [3], "s": pa.array([{"x": 1, "y": ["z"]}], added.type)})
    lance.write_dataset(more, uri, mode="append")
    table = lance_sql.open(uri).to_table()
    assert table.to_pydict() == {"a": [1, 2, 3], "s": [None, None, {"x": 1, "y": ["z"]}]}
    assert lance_sql.open(uri).scan(["s.x"]).to_table()["s.x"].to_pylist() == [None, None, 1]
    assert lance_sql.open(uri).scan(["a"], "s.x IS NULL").to_table()["a"].to_pylist() == [1, 2]
    assert lance_sql.open(uri).take([0], ["s"]).to_pydict() == {"s": [None]}


def test_a_struct_may_be_spread_over_several_files(tmp_path: Path) -> None:
    ids = pa.array([0, 1, 2, 3])
    first = pa.array([{"x": 1}, None, {"x": None}, None], pa.struct([("x", pa.int64())]))
    second = pa.array([{"y": "a"}, {"y": "b"}, None, None], pa.struct([("y", pa.string())]))
    files = write(tmp_path / "first", pa.table({"id": ids, "s": first}), "2.2")
    others = write(tmp_path / "second", pa.table({"s": second}), "2.2")

    def add_member(manifest: table_pb2.Manifest) -> None:
        (struct,) = (field for field in manifest.fields if field.name == "s")
        manifest.fields.add(name="y", id=9, parent_id=struct.id, logical_type="string", nullable=True)
        file = manifest.fragments[0].files.add()
        file.CopyFrom(manifest.fragments[0].files[0])
        file.path = "second.lance"
        file.fields[:] = [9]
        file.column_indices[:] = [0]
        file.file_size_bytes = 0

    path = manifest_file(files)
    changed = {path: with_manifest(files[path], add_member), "data/second.lance": others[data_file(others)]}
    dataset = in_memory({**files, **changed})
    expected = [{"x": 1, "y": "a"}, {"x": None, "y": "b"}, {"x": None, "y": None}, None]
    assert dataset.to_table().to_pydict() == {"id": [0, 1, 2, 3], "s": expected}
    assert dataset.scan(["s.y", "s.x"], "id <> 0").to_table().to_pydict() == {
        "s.y": ["b", None, None],
        "s.x": [None, None, None],
    }
    assert dataset.take([3, 0], ["s"])["s"].to_pylist() == [None, expected[0]]


def test_dictionaries_of_several_fragments_are_taken_from(tmp_path: Path) -> None:
    type = pa.dictionary(pa.int8(), pa.string())
    for name in "ab":
        words = pa.array([f"{name}{n}" for n in range(100)])
        table = pa.table({"word": pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), words)})
        lance.write_dataset(table, str(tmp_path / "t"), mode="append")
    dataset = lance_sql.open(tmp_path / "t")
    taken = dataset.take([7, (1 << 32) + 7, (1 << 32) + 3, 0])
    assert taken["word"].to_pylist() == ["a7", "b7", "b3", "a0"]
    assert taken.schema.field("word").type == type
    assert dataset.count_rows("word = 'b9'") == 1


def test_structs_without_members_are_there_inside_of_others(tmp_path: Path) -> None:
    rows = [{"nothing": {}, "x": n, "deep": {"nothing": {}}} for n in range(5)]
    none = pa.struct([])
    type = pa.struct([("nothing", none), ("x", pa.int64()), ("deep", pa.struct([("nothing", none)]))])
    lance.write_dataset(pa.table({"s": pa.array(rows, type), "e": pa.array([{}] * 5, none)}), str(tmp_path / "t"))
    dataset = lance_sql.open(tmp_path / "t")
    assert dataset.to_table().to_pydict() == {"s": rows, "e": [{}] * 5}
    assert dataset.scan(["s.x", "s.deep"], "s.x > 3").to_table().to_pylist() == [{"s.x": 4, "s.deep": {"nothing": {}}}]


def test_a_filter_is_judged_by_a_sample(tmp_path: Path) -> None:
    rows = 100_000
    table = pa.table({"n": np.arange(rows), "x": np.random.default_rng(0).random(rows)})
    lance.write_dataset(table, tmp_path / "t", max_rows_per_file=7_000, enable_stable_row_ids=True)
    lance.dataset(tmp_path / "t").delete("n < 50000")
    dataset = lance_sql.open(tmp_path / "t")

    def sample(condition: str) -> tuple[float, bool]:
        found = dataset.scan(["x"], condition, limit=3).sample_filter()
        return round(found.share, 1), found.is_free

    assert sample("x < 0.3") == (0.3, False)
    assert sample("n >= 75000") == (0.5, False)
    assert sample("n = 77777") == (0.0, False)
    assert sample("x > 0 AND n IS NOT NULL") == (1.0, False)
    assert sample("n IS NOT NULL") == (1.0, True)
    assert sample("_rowid < 60000") == (0.2, True)
    assert sample("_rowid < 60000 AND x < 0.5") == (0.1, False)
    assert sample("_rowid < 50000") == (0.0, True)


_FAULTS = """
import resource, sys
import lance_sql
scan = lance_sql.open(sys.argv[1]).scan()
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    num_bytes = sum(batch.nbytes for batch in scan.to_reader())
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(faults * resource.getpagesize() / num_bytes)
"""


def test_a_stream_reuses_the_memory_of_batches_that_nobody_holds(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"x": np.random.default_rng(0).random(4_000_000)}), tmp_path / "t")
    done = subprocess.run(
        [sys.executable, "-c", _FAULTS, str(tmp_path / "t")], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 0.1


_KEPT = """
import re, sys, time
import lance_sql

def anonymous():
    return int(re.search(r"RssAnon:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024

scan = lance_sql.open(sys.argv[1]).scan()
scan.to_reader().read_next_batch()
time.sleep(1)
before = anonymous()
reader = scan.to_reader()
held = [reader.read_next_batch() for _ in range(int(sys.argv[2]))]
most = anonymous()
held.clear()
del reader
time.sleep(1)
print((anonymous() - before) / (most - before))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_goes_back_after_a_scan_that_was_dropped(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"x": np.random.default_rng(0).random(8_000_000)}), tmp_path / "t")
    done = subprocess.run(
        [sys.executable, "-c", _KEPT, str(tmp_path / "t"), "10"], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 0.25


_PEAK = """
import resource, sys
import lance_sql
total = 0
for batch in lance_sql.open(sys.argv[1]).scan(["x"]).to_reader():
    total += batch.column(0).to_numpy(zero_copy_only=False).sum()
assert total > 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    peaks = []
    for scale in (1, 10):
        uri = str(tmp_path / f"{scale}.lance")
        rng = np.random.default_rng(0)
        for _ in range(scale):
            lance.write_dataset(pa.table({"x": rng.random(2_000_000)}), uri, mode="append", max_rows_per_file=1_000_000)
        done = subprocess.run([sys.executable, "-c", _PEAK, uri], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < 1.2 * peaks[0]


def test_a_task_has_the_conversions_of_a_scan(tmp_path: Path) -> None:
    dataset = lance_sql.write({"id": list(range(30))}, tmp_path / "t.lance", max_rows_per_file=10)
    scan = dataset.scan(["id"], "id >= 5")
    tasks = scan.tasks(3)
    assert pa.concat_tables(task.to_table() for task in tasks) == scan.to_table()
    assert [row for task in tasks for row in task.to_pandas()["id"]] == list(range(5, 30))
    assert sum(task.to_polars().height for task in tasks) == 25
