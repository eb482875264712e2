"""Dropped objects are released at once, with their files: nothing waits for the garbage collector."""

from __future__ import annotations

import gc
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset

ROWS = 20_000


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    # what earlier tests left in caches, and what pytest keeps of errors they raised
    lance_sql.clear_caches()
    gc.collect()
    gc.disable()
    # the collector looks at what comes from now on
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def left_to_the_collector() -> Counter[str]:
    """The kinds of objects of this library in cycles that nothing leads to; pages, readers and stores among them."""
    lance_sql.clear_caches()
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    kinds = Counter(type(each).__qualname__ for each in gc.garbage if type(each).__module__.startswith("lance_sql"))
    gc.garbage.clear()
    return kinds


def rows(*, has_structs: bool) -> pa.Table:
    rng = np.random.default_rng(3)
    numbers = np.arange(ROWS)
    columns: dict[str, pa.Array] = {
        "id": pa.array(numbers),
        "x": pa.array(rng.normal(size=ROWS), mask=rng.random(ROWS) < 0.1),
        "word": pa.array([f"word {number % 90}" for number in numbers]),
        "text": pa.array([f"{number:x} and more of it" * 3 for number in numbers]),
        "key": pa.array([f"key {number % 7}" for number in numbers]).dictionary_encode(),
        "vector": pa.FixedSizeListArray.from_arrays(rng.normal(size=ROWS * 8).astype(np.float32), 8),
        "items": pa.array([[number] * (number % 4) for number in numbers.tolist()]),
        "blob": pa.array([bytes(10)] * ROWS, pa.large_binary()),
    }
    fields = [pa.field(name, values.type) for name, values in columns.items()]
    fields[-1] = fields[-1].with_metadata({"lance-encoding:blob": "true"})
    if has_structs:
        columns["pair"] = pa.StructArray.from_arrays([columns["x"], columns["text"]], ["x", "text"])
        fields.append(pa.field("pair", columns["pair"].type))
    return pa.table(list(columns.values()), schema=pa.schema(fields))


@pytest.mark.parametrize("version", ["legacy", "2.0", "2.1", "2.2"])
def test_reading_leaves_nothing_to_the_collector(tmp_path: Path, version: Any) -> None:
    path = tmp_path / "t.lance"
    table = rows(has_structs=version != "legacy")
    if version == "2.2":
        table = table.drop_columns(["blob"])
    lance.write_dataset(table, path, data_storage_version=version, max_rows_per_file=9000)
    lance.dataset(path).delete("id % 100 = 3")
    gc.collect()
    reads: list[Callable[[Dataset], object]] = [
        lambda dataset: dataset.to_table(),
        lambda dataset: dataset.scan(["id", "items"], "x > 1 AND word = 'word 7'").to_table(),
        lambda dataset: dataset.scan(["text", "vector"], limit=5).to_table(),
        lambda dataset: dataset.scan(filter="text LIKE '%9 and%'").count_rows(),
        lambda dataset: dataset.take([5, 500, 7_000]),
        lambda dataset: next(iter(dataset.scan().to_reader())),
        lambda dataset: dataset.scan(["id", "x"]).explain(analyze=True),
    ]
    for number, read in enumerate(reads):
        # twice: what was read a moment ago is not the same snapshot, and then it is
        for _ in range(2):
            read(lance_sql.open(path))
        assert not left_to_the_collector(), number


def test_a_damaged_index_leaves_nothing_to_the_collector(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(rows(has_structs=True).select(["id", "x"]), path)
    lance_sql.open(path).indices.create("id", "btree")
    for file in path.glob("_indices/*/*.lance"):
        file.write_bytes(file.read_bytes()[:-20])
    gc.collect()
    # the error is kept with the version, and must not keep what raised it
    assert lance_sql.open(path).count_rows("id = 7") == 1
    assert "not used" in lance_sql.open(path).scan(filter="id = 7").explain()
    assert not left_to_the_collector()


def test_writing_leaves_nothing_to_the_collector(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = rows(has_structs=True).drop_columns(["blob"])
    lance_sql.write(table, path, stable_row_ids=True)
    assert not left_to_the_collector()
    lance_sql.write(table.slice(0, 10), path, mode="append")
    lance_sql.open(path).update({"x": "x + 1"}, "id % 100 = 3")
    lance_sql.open(path).merge(table.slice(100, 10), "id")
    lance_sql.open(path).indices.create("id", "btree")
    lance_sql.open(path).indices.create("vector", "ivf_flat", num_partitions=4)
    lance_sql.open(path).search(np.zeros(8, np.float32), k=3, columns=["id"]).to_table()
    lance_sql.open(path).maintenance.compact()
    lance_sql.open(path).changes(since=1).to_table()
    assert not left_to_the_collector()


def some_tables(folder: Path, count: int) -> Iterator[Path]:
    """Each with 20 files that are mapped."""
    rows = 20 * 10_000
    table = pa.table({"id": np.arange(rows), "x": np.random.default_rng(1).random(rows)})
    first = folder / "0.lance"
    lance.write_dataset(table, first, max_rows_per_file=10_000)
    for number in range(1, count):
        yield shutil.copytree(first, folder / f"{number}.lance", copy_function=os.link)


def num_mapped(folder: Path) -> int:
    return Path("/proc/self/maps").read_text().count(f"{folder}/")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="counts mapped files as Linux shows them")
def test_many_tables_one_after_the_other_are_not_mapped_at_once(tmp_path: Path) -> None:
    most = 0
    for path in some_tables(tmp_path, 20):
        table = lance_sql.open(path)
        # the first scan reads small files at once
        for _ in range(2):
            assert table.scan(filter="x > 0.5").count_rows() > 0
        most = max(most, num_mapped(tmp_path))
    # 64 files of versions that stay open, and those of the newest one
    assert 20 <= most <= 64 + 2 * 20


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="counts mapped files as Linux shows them")
def test_files_that_are_mapped_need_no_descriptors(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    tables = [lance_sql.open(path) for path in some_tables(tmp_path, 12)]
    for table in [*tables, *tables]:
        assert table.scan(filter="x > 0.5").count_rows() > 0
    assert num_mapped(tmp_path) >= 11 * 20
    # a library that is used for the first time may open one
    assert len(os.listdir("/proc/self/fd")) < before + 10
