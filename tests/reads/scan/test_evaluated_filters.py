"""Filters with parts that no test of encoded values answers: the kernels read the batches, and have these parts
evaluated for the rows that pass the others."""

from __future__ import annotations

import subprocess
import sys

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan import batches
from lance_sql.reads.scan.compact_types import compact_types
from lance_sql.reads.scan.predicates import Predicate, evaluate_in_order
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.stream import evaluation, runs

pytestmark = pytest.mark.usefixtures("maps_files")

NUM_ROWS = 80_000
CONDITIONS = (
    "upper(text) = 'ROW 77'",
    "upper(text) <> 'ROW 77'",
    "length(text) > 100",
    "small < 3 AND length(text) = 8",
    "small < 3 AND length(text) = 8 AND id % 2 = 0 AND some IS NULL",
    "small < 3 OR length(text) = 8",
    "NOT (small >= 3 AND length(text) = 8)",
    "text LIKE '%77%'",
    "text LIKE '%77%' AND small < 50",
    "mode LIKE '%I%' AND length(mode) = 4",
    "some * 2 > 100000",
    "NOT (some * 2 > 100000)",
    "(some * 2 > 100000) IS NULL",
    "some + small > id",
    "point.x + small > 70000",
    "place.name LIKE '%3' AND place.at.x * 2 > place.at.y - 1",
    "_rowid % 7 = 3 AND length(text) > 7 AND small < 90",
    "_rowaddr + small > 45000 AND length(mode) = 3",
    "array_contains(tags, 3) OR length(text) < 7",
)


def rows(num_rows: int, start: int) -> pa.Table:
    rng = np.random.default_rng(start)
    numbers = np.arange(start, start + num_rows)
    point = pa.StructArray.from_arrays([pa.array(numbers), pa.array(numbers * 2)], ["x", "y"])
    words = pa.array([f"place {number}" for number in rng.integers(0, 50, num_rows)], mask=rng.random(num_rows) < 0.1)
    return pa.table(
        {
            "id": numbers,
            "small": rng.integers(0, 100, num_rows),
            # each file has a dictionary of its own
            "mode": np.array(["AIR", "SHIP", "RAIL", f"in {start}"])[rng.integers(0, 4, num_rows)],
            "text": [f"row {number}" for number in numbers.tolist()],
            "some": pa.array(numbers, mask=numbers % 3 == 0),
            "tags": pa.array([[number % 5] * (number % 3) for number in numbers.tolist()]),
            "point": point,
            "place": pa.StructArray.from_arrays([words, point], ["name", "at"]),
        }
    )


@pytest.fixture(scope="module", params=["2.0", "2.2"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Two long fragments, one with deletions, and a short one; a column that was added later."""
    uri = tmp_path_factory.mktemp("evaluated") / "t.lance"
    for number, size in enumerate((NUM_ROWS, NUM_ROWS, 500)):
        lance.write_dataset(rows(size, number * NUM_ROWS), uri, mode="append", data_storage_version=request.param)
    lance.dataset(uri).delete("id % 7 = 3 AND id < 50000")
    return lance_sql.open(uri)


def read_by_python(scan: Scan) -> pa.Table:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "why_none", lambda *_: "for a test")
        return scan.to_table()


@pytest.mark.parametrize("condition", CONDITIONS)
def test_streams_have_the_rows_that_python_reads(table: Dataset, condition: str) -> None:
    for columns in (["id"], ["text", "id", "mode"], ["place", "tags", "text", "point", "small", "_rowid"], []):
        scan = table.scan(columns, condition)
        expected = read_by_python(scan)
        for found in (scan.to_table(), scan.to_reader().read_all(), pa.RecordBatchReader.from_stream(scan).read_all()):
            found.validate(full=True)
            assert found.equals(expected)
        assert scan.count_rows() == len(expected)
    compact = table.scan(["mode", "text", "id"], condition).with_types(compact_types(table.snapshot))
    assert compact.to_table().equals(read_by_python(compact))
    assert table.scan(["text"], condition, batch_size=7000).to_table().num_rows == len(expected)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_kernels_read_the_runs(table: Dataset, condition: str) -> None:
    scan = table.scan(["id", "text"], condition)
    found = list(batches.runs(scan.read_plan, scan.plan.fragments(), batches.Cutting(None)))
    prepared = [runs.prepared(scan.read_plan, run) is not None for run in found]
    # a list in a filter of a file 2.0, and members of structs of which one is a column of its own, are Python's
    if "array_contains" not in condition and "place" not in condition:
        assert prepared == [not run.is_short for run in found]


class Counted:
    """Counts the rows of which a part of a filter is evaluated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.num_rows = 0
        evaluate = evaluate_in_order

        def count(predicate: Predicate, batch: pa.RecordBatch) -> pa.BooleanArray:
            self.num_rows += batch.num_rows
            return evaluate(predicate, batch)

        monkeypatch.setattr(evaluation, "evaluate_in_order", count)


def test_rows_that_fail_a_test_are_not_evaluated(table: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    long = f"id < {2 * NUM_ROWS} AND small < 3"
    found = table.scan(["id"], f"{long} AND length(text) > 7").to_table()
    assert 0 < len(found) < counted.num_rows == table.scan([], long).count_rows()


@pytest.mark.parametrize(("condition", "most"), [("length(text) > 3", 1), ("length(text) > 3 AND small < 50", 0.6)])
def test_a_limit_decodes_one_batch_that_has_its_rows(
    table: Dataset, monkeypatch: pytest.MonkeyPatch, condition: str, most: float
) -> None:
    counted = Counted(monkeypatch)
    assert table.scan(None, condition, limit=10).to_table().num_rows == 10
    assert counted.num_rows <= most * batches.FIRST_BATCH_ROWS


def test_a_limit_decodes_ahead_what_its_rows_probably_take(table: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    # one row in ten, as the first batch shows
    assert table.scan(["id"], "id % 10 = 0 AND length(text) > 3", limit=9000).to_table().num_rows == 9000
    assert counted.num_rows <= 9000 + 2 * batches.BATCH_ROWS // 10


OVERFLOW = "id * 9000000000000000 > 5"


@pytest.mark.parametrize("columns", [["id"], ["text"], []])
def test_a_part_fails_only_for_rows_that_pass_the_parts_before_it(table: Dataset, columns: list[str]) -> None:
    # a test of encoded values comes first, wherever it is
    for condition in (
        f"id < 1000 AND {OVERFLOW}",
        f"{OVERFLOW} AND id < 1000",
        f"length(text) < 6 AND {OVERFLOW}",
        f"small < 50 AND length(text) < 6 AND {OVERFLOW}",
    ):
        scan = table.scan(columns, condition)
        assert scan.to_table().equals(read_by_python(scan))
        assert scan.count_rows() > 0
    for condition in (OVERFLOW, f"small < 50 AND {OVERFLOW}", f"{OVERFLOW} AND length(text) < 6"):
        with pytest.raises(InvalidArgument, match="cannot be evaluated: overflow"):
            table.scan(columns, condition).to_table()
        with pytest.raises(OSError, match=r"InvalidArgument: .* cannot be evaluated: overflow"):
            pa.RecordBatchReader.from_stream(table.scan(columns, condition)).read_all()


def test_rows_before_an_error_come_first(table: Dataset) -> None:
    reader = table.scan(["id"], f"small >= 0 AND {OVERFLOW}", batch_size=500).to_reader()
    # of the first row it is false
    assert reader.read_next_batch().num_rows == 499
    with pytest.raises(InvalidArgument):
        reader.read_next_batch()


def test_streams_that_nobody_reads_to_the_end(table: Dataset) -> None:
    for count in range(30):
        reader = table.scan(["id", "text"], "length(text) > 3", batch_size=3000).to_reader()
        for _ in range(count % 4):
            reader.read_next_batch()
        del reader
        stream = pa.RecordBatchReader.from_stream(table.scan(["id"], "length(text) > 3", batch_size=3000))
        if count % 3:
            stream.read_next_batch()
        del stream


WITH_THE_LOCK = """
import ctypes, sys
import lance_sql

class Stream(ctypes.Structure):
    _fields_ = [("get_schema", ctypes.c_void_p), ("get_next", ctypes.c_void_p)]

class Array(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64),
        ("others", ctypes.c_int64 * 7),
        ("release", ctypes.c_void_p),
        ("own", ctypes.c_void_p),
    ]

address = ctypes.pythonapi.PyCapsule_GetPointer
address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
capsule = lance_sql.open(sys.argv[1]).scan(["id"], sys.argv[2], batch_size=2000).__arrow_c_stream__()
stream = address(capsule, b"arrow_array_stream")
# of this kind: called with the interpreter's lock
call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
array, count = Array(), 0
while call(Stream.from_address(stream).get_next)(stream, ctypes.addressof(array)) == 0 and array.release:
    count += array.length
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(array.release)(ctypes.addressof(array))
print(count)
"""


def test_a_consumer_that_holds_the_lock(table: Dataset) -> None:
    condition = "length(text) > 3"
    command = [sys.executable, "-c", WITH_THE_LOCK, table.uri, condition]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"{table.count_rows(condition)}\n", "")


def test_a_process_ends_while_a_filter_is_evaluated(table: Dataset) -> None:
    code = f"""
import contextlib, threading, lance_sql
table = lance_sql.open({table.uri!r})
begun = threading.Event()
def read():
    # a stream fails when Python ends
    with contextlib.suppress(Exception):
        while True:
            for batch in table.scan(["id"], "upper(text) <> 'X'", batch_size=2000).to_reader():
                begun.set()
for _ in range(3):
    threading.Thread(target=read, daemon=True).start()
begun.wait()
reader = table.scan(["id"], "upper(text) <> 'X'", batch_size=2000).to_reader()
reader.read_next_batch()
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
        # docs/services.md: Python ends a thread inside of pyarrow's reader, whose destructors then run without the lock
        is_of_pyarrow = any(text in done.stderr for text in (b"PyGILState_Release", b"without an active exception"))
        if sys.version_info >= (3, 14) or not is_of_pyarrow:
            assert (done.returncode, done.stderr) == (0, b"")
