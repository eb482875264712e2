"""Streams of the kernels: the rows that Python reads, in order, and a clean end whatever happens to them."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql import _kernels
from lance_sql.dataset import Dataset
from lance_sql.errors import CorruptFile
from lance_sql.format.file import writer
from lance_sql.format.file.open_column import OpenColumn
from lance_sql.reads.scan import batches
from lance_sql.reads.scan.compact_types import compact_types
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.stream import output, runs
from lance_sql.reads.scan.stream.run_cache import RUN_CACHE
from lance_sql.table.row_ids import RowIds
from lance_sql.values import row_ranges

pytestmark = pytest.mark.usefixtures("maps_files")

NUM_ROWS = 120_000
COLUMNS = ("id", "small", "price", "mode", "letter", "text", "some", "tags", "point", "place", "maybe")
MEMBERS = ("point.x", "maybe.y", "place.name", "place.at.x", "place.is_even")
FILTERS = (
    None,
    "small < 40",
    "small < 40 AND mode = 'AIR'",
    "some IS NULL",
    "some IS NOT NULL AND price > 0.5",
    "mode IN ('AIR', 'SHIP') AND id BETWEEN 30000 AND 90000",
    "small = 1000",
    "small < 40 OR mode = 'AIR'",
    "text LIKE '%7%' AND small < 50",
    "maybe.x > 100000",
    "place.name IN ('place 7', 'place 8') OR maybe.y IS NULL",
    "place.at.x < place.at.y AND small < 40 AND place.name IS NOT NULL",
    "place.is_even AND NOT maybe.x BETWEEN 1000 AND 100000",
)


def rows(num_rows: int, start: int = 0) -> pa.Table:
    rng = np.random.default_rng(start)
    numbers = np.arange(start, start + num_rows)
    point = pa.StructArray.from_arrays([pa.array(numbers), pa.array(numbers * 2)], ["x", "y"])
    words = pa.array([f"place {number}" for number in rng.integers(0, 50, num_rows)], mask=rng.random(num_rows) < 0.1)
    return pa.table(
        {
            "id": numbers,
            "small": rng.integers(0, 100, num_rows),
            "price": rng.random(num_rows),
            # each file has a dictionary of its own
            "mode": np.array(["AIR", "SHIP", "RAIL", f"only in {start}"])[rng.integers(0, 4, num_rows)],
            "letter": np.array(["A", "N", "R"])[rng.integers(0, 3, num_rows)],
            "text": [f"order {number} of somebody" for number in rng.integers(0, 2**40, num_rows)],
            "some": pa.array(numbers, mask=rng.random(num_rows) < 0.2),
            "tags": pa.array([[int(number)] * (int(number) % 3) for number in numbers]),
            "point": point,
            "place": pa.StructArray.from_arrays([words, point, pa.array(numbers % 2 == 0)], ["name", "at", "is_even"]),
            # a struct that is NULL in some rows
            "maybe": pc.if_else(pa.array(numbers % 5 > 0), point, pa.scalar(None, point.type)),
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Three fragments of long pages, one with deletions, and a short one."""
    uri = tmp_path_factory.mktemp("table") / "t.lance"
    for number, size in enumerate((NUM_ROWS, NUM_ROWS, NUM_ROWS, 500)):
        lance.write_dataset(rows(size, number * NUM_ROWS), uri, mode="append", data_storage_version="2.2")
    lance.dataset(uri).delete("id % 7 = 3 AND id < 100000")
    return lance_sql.open(uri)


def read_by_python(scan: Scan) -> pa.Table:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "why_none", lambda *_: "for a test")
        return scan.to_table()


def plain(table: pa.Table) -> pa.Table:
    """The same values without dictionaries."""
    types = [type.value_type if pa.types.is_dictionary(type) else type for type in table.schema.types]
    return table.cast(pa.schema([field.with_type(type) for field, type in zip(table.schema, types, strict=True)]))


def runs_of(scan: Scan) -> list[bool]:
    """For each run whether the kernels read it by themselves."""
    found = batches.runs(scan.read_plan, scan.plan.fragments(), batches.Cutting(scan.batch_size))
    return [runs.prepared(scan.read_plan, run) is not None for run in found]


@pytest.mark.parametrize("condition", FILTERS)
def test_streams_have_the_rows_that_python_reads(table: Dataset, condition: str | None) -> None:
    for columns in (
        ["id"],
        ["price", "mode", "some"],
        ["text", "letter", "small"],
        ["tags", "id"],
        ["place", "maybe"],
        [],
    ):
        scan = table.scan(columns, condition)
        expected = read_by_python(scan)
        assert scan.to_table().equals(expected)
        assert scan.to_reader().read_all().equals(expected)
        assert pa.RecordBatchReader.from_stream(scan).read_all().equals(expected)


def test_columns_of_a_fragment_are_found_once(table: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """By scans of the same columns in the same types; a handle of its own finds its own."""
    found: list[int] = []
    find = output._find

    def count(plan: Any, fragment: Any, rows: Any) -> Any:
        found.append(fragment.id)
        return find(plan, fragment, rows)

    monkeypatch.setattr(output, "_find", count)
    table = lance_sql.open(table.uri)
    expected = read_by_python(table.scan(["mode", "price", "place"]))
    for condition in (None, "small < 40", "some IS NULL"):
        table.scan(["mode", "price", "place"], condition).to_reader().read_all()
    found.clear()
    assert table.scan(["mode", "price", "place"]).to_reader().read_all().equals(expected)
    assert not found
    types = compact_types(table.snapshot)
    compact = pa.RecordBatchReader.from_stream(table.scan(["mode", "price", "place"]).with_types(types)).read_all()
    assert compact.schema.field("mode").type == types["mode"]
    assert plain(compact).equals(plain(expected))
    assert set(found) == {0, 1, 2}
    # what keeps them may let go of some of their columns
    RUN_CACHE.after_fork()
    cache = table.snapshot.open_fragments.files.page_cache
    columns = [key for key in cache if isinstance(cache.peek(key), OpenColumn)]
    for key in columns[::2]:
        cache.pop(key)
    found.clear()
    assert table.scan(["mode", "price", "place"]).to_reader().read_all().equals(expected)
    assert set(found) == {0, 1, 2}


def test_columns_for_rows_of_every_page_are_cached(table: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    find = output._find

    def count(plan: Any, fragment: Any, rows: Any) -> Any:
        found.append(row_ranges.count(rows))
        return find(plan, fragment, rows)

    monkeypatch.setattr(output, "_find", count)
    table = lance_sql.open(table.uri)
    plan = table.scan(["mode", "price"]).read_plan
    fragment = plan.open(table.snapshot.manifest.fragments[0])
    # a page for each column
    for first in (3, 5, 7):
        output.output(plan, fragment, row_ranges.single(first, first + 2))
    assert found == [2]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_columns_filters_and_sizes_of_batches(table: Dataset, data: st.DataObject) -> None:
    columns = data.draw(st.lists(st.sampled_from(COLUMNS + MEMBERS), unique=True, max_size=5))
    condition = data.draw(st.sampled_from(FILTERS))
    size = data.draw(st.sampled_from([None, 1000, 40_000, 10**6]))
    scan = table.scan(columns, condition, batch_size=size)
    if data.draw(st.booleans()):
        scan = scan.with_types(compact_types(table.snapshot))
    found = pa.RecordBatchReader.from_stream(scan).read_all()
    assert found.schema.equals(scan.schema)
    # made dictionaries have their items in the order that suits who makes them
    assert plain(found).equals(plain(read_by_python(scan)))
    if size is not None:
        assert all(batch.num_rows <= size for batch in scan.to_reader())


def test_runs_read_by_the_kernels(table: Dataset) -> None:
    flat = ["id", "small", "price", "mode", "letter", "text", "some"]
    # the last fragment is short: such are read together
    assert runs_of(table.scan(flat)) == [True] * 4 + [False]
    assert runs_of(table.scan(flat).with_types(compact_types(table.snapshot))) == [True] * 4 + [False]
    assert runs_of(table.scan(["id"], "small < 3 AND some IS NULL AND mode = 'AIR'")) == [True] * 4 + [False]
    assert runs_of(table.scan(["point", "id", "place"], "small < 3")) == [True] * 4 + [False]
    for columns in (["tags"], ["maybe"], ["id", "tags"]):
        assert runs_of(table.scan(columns, "small < 3")) == [True] * 4 + [False]
    # a text without a dictionary is evaluated by Python, on batches of the kernels
    assert runs_of(table.scan(["id"], "text LIKE '%1%'")) == [True] * 4 + [False]
    for columns in (["_rowid"], ["id", "_rowaddr"]):
        assert runs_of(table.scan(columns, "_rowaddr > 5")) == [True] * 4 + [False]
    assert runs_of(table.scan(MEMBERS, "maybe.x > 5 AND place.at.y > 3")) == [True] * 4 + [False]
    assert not any(runs_of(table.scan(["place.at"])))
    assert runs_of(table.scan(["id"], "id + small < 7")) == [True] * 4 + [False]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_members_are_null_where_a_struct_is(tmp_path: Path, version: Any) -> None:
    rng = np.random.default_rng(9)
    num_rows = 40_000

    def some(values: Any, type: pa.DataType | None = None) -> pa.Array:
        return pa.array(values, type, mask=rng.random(num_rows) < 0.1)

    def struct(**members: pa.Array) -> pa.Array:
        # files of version 2.0 have no NULL structs
        mask = pa.array(rng.random(num_rows) < (0.0 if version == "2.0" else 0.2))
        return pa.StructArray.from_arrays(list(members.values()), list(members), mask=mask)

    long = [f"{number:400d}" for number in range(num_rows)]
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rng.random(300 * num_rows), pa.float32()), 300)
    inner = struct(
        number=some(np.arange(num_rows)),
        text=some([f"text {number % 1000}" for number in range(num_rows)]),
        long=some(long),
        never_null=pa.array(long),
        fixed=some([b"%256d" % number for number in range(num_rows)], pa.binary(256)),
        vector=vectors,
        one=some(np.full(num_rows, 7)),
        word=some(["word"] * num_rows),
        nothing=pa.nulls(num_rows, pa.int32()),
        truth=some(np.arange(num_rows) % 3 == 0),
    )
    path = tmp_path / "t"
    lance.write_dataset(pa.table({"id": range(num_rows), "s": struct(inner=inner)}), path, data_storage_version=version)
    table = lance_sql.open(path, learn_statistics=False)
    names = [f"s.inner.{field.name}" for field in inner.type]
    for condition in (
        None,
        "id % 3 < 2",
        "id < 9000 OR id > 30000",
        *(f"{name} IS NULL" for name in names),
        *(f"{name} IS NOT NULL AND id < 20000" for name in names),
        "s.inner.number < 1000",
        "s.inner.text = 'text 7'",
        "s.inner.one = 7",
        "s.inner.one <> 7 OR s.inner.word >= 'word'",
        "s.inner.truth AND NOT s.inner.number > 9000",
        "s.inner.number < id",
    ):
        scan = table.scan(["id", *names], condition)
        found = scan.to_reader().read_all()
        assert found.equals(read_by_python(scan)), condition
        assert found.equals(scan.to_table()), condition
    expected = lance.dataset(path).to_table()["s"].combine_chunks().flatten()[0].flatten()
    found = table.scan(names).to_reader().read_all()
    assert [column.combine_chunks() for column in found.columns] == expected
    if version != "2.0":
        assert all(runs_of(table.scan(names)))


SYSTEM_COLUMNS = ["_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version"]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Long fragments with row ids of several forms, versions in short and long runs, and a later column."""
    uri = tmp_path_factory.mktemp("changed") / "t.lance"
    options: Any = {"data_storage_version": "2.2", "enable_stable_row_ids": True}
    for number in range(2):
        lance.write_dataset(rows(NUM_ROWS, number * NUM_ROWS), uri, mode="append", **options)
    written = lance.dataset(uri)
    written.update({"small": "small + 1"}, where="id % 3 = 0 AND id < 150000")
    written.add_columns(pa.schema([("later", pa.int64()), ("words", pa.string()), ("yes", pa.bool_())]))
    lance.write_dataset(
        rows(NUM_ROWS, 2 * NUM_ROWS).append_column("later", pa.array(range(NUM_ROWS), pa.int64())),
        uri,
        mode="append",
        **options,
    )
    lance.dataset(uri).delete("id % 11 = 5 AND id > 100000 AND id < 300000")
    lance.dataset(uri).update({"small": "small + 2"}, where="id BETWEEN 1000 AND 40000")
    return lance_sql.open(uri)


@pytest.mark.parametrize(
    "condition",
    [
        *(None, "small < 40", "_rowid > 100000", "_rowid IN (5, 77, 100000, 200001)", "_rowaddr % 2 = 0"),
        *("_row_created_at_version = 2 AND small < 50", "_row_last_updated_at_version > 2 OR small < 3"),
        *("_row_last_updated_at_version > _row_created_at_version", "_rowid < _rowaddr", "_rowid IS NULL"),
        *("_rowid IS NOT NULL AND id > 7", "later IS NULL", "later > 500", "later IS NULL OR later < 70"),
        *("words IS NULL AND small < 9", "words = 'x' OR yes OR small = 4", "later = small", "NOT (later < 500)"),
    ],
)
def test_columns_that_no_file_has_are_those_that_python_makes(changed: Dataset, condition: str | None) -> None:
    for columns in (
        ["id", *SYSTEM_COLUMNS],
        *([name] for name in SYSTEM_COLUMNS),
        ["later", "mode", "words", "yes", "_rowid"],
        ["later"],
        [],
    ):
        scan = changed.scan(columns, condition)
        expected = read_by_python(scan)
        assert scan.to_table().equals(expected)
        assert scan.to_reader().read_all().equals(expected)
        if len(columns) != 1:
            with_nulls = scan.with_nulls(0, "nothing")
            found = with_nulls.to_reader().read_all()
            assert found.equals(read_by_python(with_nulls))
            assert found.column(0).equals(pa.chunked_array([pa.nulls(expected.num_rows)])) or not expected.num_rows
        # kept and prepared ones
        assert scan.to_reader().read_all().equals(expected)


def test_missing_columns_are_built_by_the_kernels(changed: Dataset) -> None:
    for columns in (["_rowid"], ["later", "words", "yes"], SYSTEM_COLUMNS):
        assert any(runs_of(changed.scan([*columns, "id"])))
    for condition in ("_row_last_updated_at_version > 2", "later > 5", "_rowid <> _rowaddr", "_rowid IS NOT NULL"):
        assert any(runs_of(changed.scan(["id"], condition)))
    scan = changed.scan(["id"]).with_nulls(1, "nothing")
    assert any(runs_of(scan))


def test_row_ids_in_short_runs_are_left_to_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is found out once."""
    content = pa.table({"id": np.arange(NUM_ROWS)})
    lance.write_dataset(content, tmp_path / "t", enable_stable_row_ids=True)
    for third in (0, 1):
        lance.dataset(tmp_path / "t").delete(f"id % 3 = {third} AND id % 7 <> 1")
    lance.dataset(tmp_path / "t").optimize.compact_files()
    table = lance_sql.open(tmp_path / "t")
    counted: list[int] = []
    runs = RowIds.runs

    def count(ids: RowIds) -> Any:
        counted.append(ids.num_rows)
        return runs(ids)

    monkeypatch.setattr(RowIds, "runs", count)
    scan = table.scan(["_rowid"])
    assert runs_of(scan) == [False] * len(runs_of(scan))
    assert counted == [table.count_rows()]
    expected = read_by_python(scan)
    assert scan.to_reader().read_all().equals(expected)
    ids = [number for number in range(NUM_ROWS) if number % 3 == 2 or number % 7 == 1]
    assert expected["_rowid"].to_pylist() == ids
    # addresses are one run
    assert any(runs_of(table.scan(["_rowaddr"])))


@pytest.fixture
def short_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of a thousand rows, though nobody asked for these."""
    monkeypatch.setattr(batches, "BATCH_ROWS", 1000)
    monkeypatch.setattr(batches, "BATCH_BYTES", 1)


@pytest.mark.parametrize("condition", FILTERS)
@pytest.mark.usefixtures("short_batches")
def test_batches_of_which_few_rows_pass_are_read_together(table: Dataset, condition: str | None) -> None:
    for columns in (["id"], ["mode", "price", "tags"], ["letter", "text", "place"]):
        for types in ({}, compact_types(table.snapshot)):
            scan = table.scan(columns, condition).with_types(types)
            found = pa.RecordBatchReader.from_stream(scan).read_all()
            assert plain(found).equals(plain(read_by_python(scan)))


@pytest.mark.usefixtures("short_batches")
def test_so_many_rows_pass_as_a_batch_may_have(table: Dataset) -> None:
    scan = table.scan(["id", "mode"], "id % 1000 < 1000 AND small < 3", batch_size=None)
    joined = list(table.scan(["id", "mode"], "small < 3").to_reader())
    many = list(table.scan(["id", "mode"], "small < 40").to_reader())
    asked = list(table.scan(["id", "mode"], "small < 3", batch_size=1000).to_reader())
    assert len(joined) * 4 < len(many)
    assert len(asked) > len(joined) * 4
    assert pa.Table.from_batches(joined) == pa.Table.from_batches(asked) == scan.to_table()


@pytest.mark.usefixtures("short_batches")
@pytest.mark.parametrize("has_deletions", [False, True])
def test_batches_of_other_dictionaries_are_not_read_together(
    has_deletions: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page has a dictionary of its own, and few of its rows pass."""
    for name in ("PAGE_BYTES", "_LEAST_PAGE_BYTES"):
        monkeypatch.setattr(writer, name, 40_000)
    monkeypatch.setattr(writer, "_LEAST_ROWS", 100)
    num_rows = 100_000
    rng = np.random.default_rng(2)
    content = pa.table(
        {
            "i": rng.integers(0, 200, num_rows),
            "s": [f"{n % 7} of the rows from {n // 3000} on, with a text that is long enough" for n in range(num_rows)],
        }
    )
    table = lance_sql.write(content, tmp_path / "t", file_version="2.2")
    if has_deletions:
        table = table.delete("i % 5 = 4")
    types = {"s": pa.dictionary(pa.int32(), pa.string())}
    for condition in ("i = 3", "i < 6"):
        scan = table.scan(["i", "s"], condition).with_types(types)
        (run, *_) = batches.runs(scan.read_plan, scan.plan.fragments(), batches.Cutting(None, keeps_all=True))
        delivered = output.output(scan.read_plan, run.fragment, run.rows)
        assert isinstance(delivered, output.Output)
        assert len(delivered.borders) > 5
        for _ in range(2):
            found = pa.RecordBatchReader.from_stream(scan).read_all()
            assert plain(found).equals(plain(read_by_python(scan)))


@pytest.mark.parametrize("keeps_all", [False, True])
def test_all_rows_pass_behind_many_of_which_none_did(keeps_all: bool, tmp_path: Path) -> None:
    """Lists of booleans take a few bytes in the file, and many as rows."""
    num_rows, few = 6 * 64 * 1024, 4 * 64 * 1024
    flags = np.zeros(num_rows, np.int64)
    flags[few:] = 1
    lists = pa.ListArray.from_arrays(
        np.arange(num_rows + 1, dtype=np.int32) * 64, pa.array(np.zeros(num_rows * 64, bool))
    )
    lance.write_dataset(
        pa.table({"k": flags, "t": lists, "n": np.arange(num_rows)}), tmp_path / "t", data_storage_version="2.2"
    )
    table = lance_sql.open(tmp_path / "t")
    scan = table.scan(["n", "t"], "k = 1")
    runs = batches.runs(scan.read_plan, scan.plan.fragments(), batches.Cutting(None, keeps_all))
    assert {run.most_joined for run in runs} == {0}
    assert scan.to_reader(keeps_all=keeps_all).read_all()["n"].to_pylist() == list(range(few, num_rows))
    narrow = table.scan(["n"], "k = 1")
    runs = batches.runs(narrow.read_plan, narrow.plan.fragments(), batches.Cutting(None, keeps_all))
    assert {run.most_joined for run in runs} == {batches.MAX_JOINED_ROWS}
    assert narrow.to_reader(keeps_all=keeps_all).read_all()["n"].to_pylist() == list(range(few, num_rows))


def test_dictionaries_of_several_fragments_stay_apart(table: Dataset) -> None:
    scan = table.scan(["mode"]).with_types(compact_types(table.snapshot))
    assert pa.types.is_dictionary(scan.schema.field("mode").type)
    for batch in pa.RecordBatchReader.from_stream(scan):
        assert len(batch["mode"].dictionary) == 4
    assert scan.to_table()["mode"].cast(pa.string()).equals(table.scan(["mode"]).to_table()["mode"])


def damaged(tmp_path: Path) -> Dataset:
    """A table of which a chunk in the middle says that it has more bytes than it has."""
    uri = tmp_path / "damaged.lance"
    lance.write_dataset(pa.table({"id": np.random.default_rng(0).integers(0, 2**40, 400_000)}), uri)
    (path,) = (uri / "data").iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 20_000] = b"\xff" * 20_000
    path.write_bytes(content)
    return lance_sql.open(uri)


def test_damage_is_named_to_python_and_to_engines(tmp_path: Path) -> None:
    table = damaged(tmp_path)
    assert all(runs_of(table.scan()))
    with pytest.raises(CorruptFile, match=r"column 'id', page \d"):
        table.to_table()
    with pytest.raises(CorruptFile, match=r"column 'id', page \d"):
        table.scan().to_reader().read_all()
    with pytest.raises(OSError, match=r"CorruptFile: .*column 'id', page \d"):
        pa.RecordBatchReader.from_stream(table).read_all()
    connection = lance_sql.connect()
    with pytest.raises(duckdb.Error, match=r"column 'id', page \d"):
        connection.execute(f"SELECT sum(id) FROM lance_scan('{table.uri}')").fetchall()
    assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_null_where_the_schema_has_none_is_damage(tmp_path: Path) -> None:
    uri = tmp_path / "t.lance"
    numbers = np.random.default_rng(1).integers(0, 1000, 60_000)
    lance.write_dataset(pa.table({"id": pa.array(numbers, mask=numbers < 10)}), uri)
    scan = lance_sql.open(uri).scan()
    (column,) = scan.columns
    strict = Scan(scan.snapshot, (replace(column, arrow=column.arrow.with_nullable(False)),), None, None, None)
    assert all(runs_of(strict))
    with pytest.raises(CorruptFile, match=r"column 'id'.*NULL in a column that has none"):
        strict.to_table()


def test_streams_that_nobody_reads_to_the_end(table: Dataset) -> None:
    for num_batches in (0, 1, 2, 5):
        reader = pa.RecordBatchReader.from_stream(table.scan(["id", "text"], batch_size=5000))
        for _ in range(num_batches):
            reader.read_next_batch()
        del reader
        capsule = table.scan(["id"]).__arrow_c_stream__()
        del capsule
        iterator = iter(table.scan(["id", "text"], batch_size=5000).to_reader())
        for _ in range(num_batches):
            next(iterator)
        del iterator
    gc.collect()
    assert table.count_rows("small < 40") == read_by_python(table.scan(["id"], "small < 40")).num_rows


def test_many_streams_at_once(table: Dataset) -> None:
    expected = table.scan(["id", "price"], "small < 40").to_table()
    results: list[bool] = []

    def read() -> None:
        for _ in range(5):
            found = pa.RecordBatchReader.from_stream(table.scan(["id", "price"], "small < 40", batch_size=7000))
            results.append(found.read_all().equals(expected))

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 30


FORK = """
import os, sys
import pyarrow as pa, lance_sql

table = lance_sql.open(sys.argv[1])
expected = table.count_rows("small < 40")
reader = pa.RecordBatchReader.from_stream(table.scan(["id", "text"], batch_size=5000))
reader.read_next_batch()
child = os.fork()
if child == 0:
    code = 1
    try:
        if table.count_rows("small < 40") == expected:
            reader.read_next_batch()
    except OSError as error:
        code = 0 if "before the process was forked" in str(error) else 2
    finally:
        os._exit(code)
assert os.waitpid(child, 0)[1] == 0
assert sum(batch.num_rows for batch in reader) > 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_reads_streams_of_its_own(table: Dataset) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORK, table.uri]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


DAEMONS = """
import sys, threading, time
import lance_sql

table = lance_sql.open(sys.argv[1])
ids = table.to_table(["_rowid"])["_rowid"].to_pylist()

def read(first):
    while True:
        table.take(ids[first::997])

for first in range(3):
    threading.Thread(target=read, args=(first,), daemon=True).start()
time.sleep(0.3)
"""


def test_a_process_ends_while_daemon_threads_read(table: Dataset) -> None:
    command = [sys.executable, "-c", DAEMONS, table.uri]
    done = [subprocess.run(command, capture_output=True, text=True, timeout=60) for _ in range(3)]
    assert [(each.returncode, each.stderr) for each in done] == [(0, "")] * 3


@pytest.mark.parametrize("ends", [[], [3], [5, 3], [10, 11], [0, 10], [-1, 10]])
def test_batches_that_are_not_those_of_the_rows_are_refused(ends: list[int]) -> None:
    with pytest.raises(ValueError, match="batch"):
        _kernels.FragmentRows(
            [], [], [], [], [], np.array([[0, 10]]), np.array(ends, np.int64), lambda *_: pytest.fail("called"), 0
        )


class UnsayableError(Exception):
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def failing(table: Dataset, error: Exception) -> tuple[_kernels.BatchStream, int]:
    """A stream that fails behind the batches of one run, and how many these are."""
    scan = table.scan(["id"])
    run = next(batches.runs(scan.read_plan, scan.plan.fragments(), batches.Cutting(30_000)))

    def parts() -> Iterator[Any]:
        prepared = runs.prepared(scan.read_plan, run)
        assert prepared is not None
        yield prepared.rows
        raise error

    return _kernels.BatchStream(parts(), scan.schema, most_ahead=100, eager=True), len(run.ends)


def test_an_error_comes_behind_the_batches_before_it(table: Dataset) -> None:
    stream, num_batches = failing(table, ValueError("the next part"))
    assert num_batches > 1
    for _ in range(num_batches):
        next(stream)
    with pytest.raises(ValueError, match="the next part"):
        next(stream)
    with pytest.raises(RuntimeError, match="has failed before"):
        next(stream)


@pytest.mark.parametrize(
    ("error", "text"), [(OSError("/data/\udcff.lance"), r"OSError: /data/\\udcff"), (UnsayableError(), "no text")]
)
def test_errors_of_any_text_reach_engines(table: Dataset, error: Exception, text: str) -> None:
    stream, _ = failing(table, error)
    with pytest.raises(OSError, match=text):
        pa.RecordBatchReader.from_stream(stream).read_all()


def test_the_first_error_is_repeated(table: Dataset) -> None:
    stream, num_batches = failing(table, ValueError("the next part"))
    reader = pa.RecordBatchReader.from_stream(stream)
    for _ in range(num_batches):
        reader.read_next_batch()
    for _ in range(2):
        with pytest.raises(OSError, match="ValueError: the next part"):
            reader.read_next_batch()


def test_rows_with_gaps_teach_whole_zones(tmp_path: Path) -> None:
    uri = tmp_path / "gaps.lance"
    numbers = np.arange(300_000)
    lance.write_dataset(pa.table({"id": numbers, "word": [f"word {number:06d}" for number in numbers]}), uri)
    lance.dataset(uri).delete("id % 20 <> 0")
    table = lance_sql.open(uri)
    assert table.scan(["id"], "word < 'word 0'").to_table().num_rows == 0
    # rows behind the last one that is left are not looked at
    assert "36 of 37 zones learned" in table.scan(["id"], "word < 'word 0'").explain()
