"""Sources that can be read once are refused after they were read; all others are read anew."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.writes.statements import read_once
from lance_sql.writes.statements.source import to_reader

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64())])
ROWS = pa.table({"id": range(6), "v": [10] * 6}, SCHEMA)


def batches(fails: bool) -> Iterator[pa.RecordBatch]:
    for number, batch in enumerate(ROWS.to_batches(max_chunksize=2)):
        if fails and number == 1:
            raise OSError("network")
        yield batch


def values(fails: bool) -> Iterator[int]:
    for value in range(6):
        if fails and value == 3:
            raise OSError("network")
        yield value


class GoesOn:
    """An iterator that fails once, and gives the other batches when it is asked again."""

    def __init__(self, fails: bool) -> None:
        self._left = ROWS.to_batches(max_chunksize=2)
        self._fails = fails

    def __iter__(self) -> GoesOn:
        return self

    def __next__(self) -> pa.RecordBatch:
        if self._fails and len(self._left) == 2:
            self._fails = False
            raise OSError("network")
        if not self._left:
            raise StopIteration
        return self._left.pop(0)


class Wrapper:
    """A stream of Arrow from what can be read once."""

    def __init__(self, inside: Any) -> None:
        self._inside = inside

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if not isinstance(self._inside, pa.RecordBatchReader):
            return pa.RecordBatchReader.from_batches(SCHEMA, self._inside).__arrow_c_stream__(requested_schema)
        return self._inside.__arrow_c_stream__(requested_schema)


class Batches:
    """Batches by an `__iter__` that returns the same generator each time."""

    def __init__(self, inside: Iterator[pa.RecordBatch]) -> None:
        self._inside = inside

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._inside


def arro3(fails: bool) -> Any:
    module = pytest.importorskip("arro3.core")
    return module.RecordBatchReader.from_stream(pa.RecordBatchReader.from_batches(SCHEMA, batches(fails)))


def folder(table: lance_sql.Dataset) -> Any:
    place = f"{table.uri}.parquet"
    pads.write_dataset(ROWS, place, format="parquet", existing_data_behavior="overwrite_or_ignore")
    return pads.dataset(place)


ONCE: dict[str, Callable[[bool], Any]] = {
    "reader": lambda fails: pa.RecordBatchReader.from_batches(SCHEMA, batches(fails)),
    "reader that goes on": lambda fails: pa.RecordBatchReader.from_batches(SCHEMA, GoesOn(fails)),
    "generator": batches,
    "iterator": GoesOn,
    "map": lambda fails: map(pa.RecordBatch.from_struct_array, map(pa.RecordBatch.to_struct_array, batches(fails))),
    "arro3": arro3,
    "wrapped reader": lambda fails: Wrapper(pa.RecordBatchReader.from_batches(SCHEMA, batches(fails))),
    "wrapped generator": lambda fails: Wrapper(batches(fails)),
    "iterable": lambda fails: Batches(batches(fails)),
    "tables": lambda fails: (pa.table(batch) for batch in batches(fails)),
    "dicts": lambda fails: (row for batch in batches(fails) for row in batch.to_pylist()),
    "frames": lambda fails: (batch.to_pandas() for batch in batches(fails)),
    "scanner": lambda fails: pads.Scanner.from_batches(batches(fails), schema=SCHEMA),
    "columns": lambda fails: {"id": values(fails), "v": [10] * 6},
    "all columns": lambda fails: {"id": values(fails), "v": (10 for _ in range(6))},
}
AGAIN: dict[str, Callable[[lance_sql.Dataset], Any]] = {
    "table": lambda table: ROWS,
    "batches": lambda table: ROWS.to_batches(),
    "dict": lambda table: ROWS.to_pydict(),
    "list of dicts": lambda table: ROWS.to_pylist(),
    "dataset": lambda table: table,
    "scan": lambda table: table.scan(),
    "answer": lambda table: lance_sql.sql(f"FROM '{table.uri}'", "duckdb"),
    "changes": lambda table: table.changes().scan(["id", "v"]),
    "pandas": lambda table: ROWS.to_pandas(),
    "list of tables": lambda table: [ROWS.slice(0, 2), ROWS.slice(2)],
    "list of frames": lambda table: [ROWS.slice(0, 2).to_pandas(), ROWS.slice(2).to_pandas()],
    "arrow dataset": lambda table: pads.dataset(ROWS),
    "arrow scanner": lambda table: pads.dataset(ROWS).scanner(),
    "folder": folder,
    "polars": lambda table: pytest.importorskip("polars").from_arrow(ROWS),
    "relation": lambda table: pytest.importorskip("duckdb").sql("SELECT range AS id, 10::BIGINT AS v FROM range(6)"),
}
VERBS: dict[str, Callable[[lance_sql.Dataset, Any], Any]] = {
    "create": lambda table, data: lance_sql.write(data, f"{table.uri}.new", schema=SCHEMA),
    "append": lambda table, data: lance_sql.write(data, table.uri, mode="append", schema=SCHEMA),
    "overwrite": lambda table, data: lance_sql.write(data, table.uri, mode="overwrite", schema=SCHEMA),
    "job": lambda table, data: lance_sql.begin_write(SCHEMA, table.uri, mode="append").write_fragments(data),
    "merge": lambda table, data: table.merge(data, "id"),
    "apply": lambda table, data: lance_sql.apply_changes(table.uri, data, "id"),
}
REFUSED = "of rows was read before, wholly or until it failed, and cannot start again: pass a new one"


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    return lance_sql.write({"id": range(4), "v": range(4)}, tmp_path / "t.lance", schema=SCHEMA)


def state(table: lance_sql.Dataset) -> tuple[int, set[Path]]:
    folder = Path(table.uri)
    return lance_sql.open(folder).version, {each for each in folder.parent.rglob("*") if each.is_file()}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", ONCE)
@pytest.mark.parametrize("fails", [True, False], ids=["failed", "read"])
def test_a_source_that_was_read_is_refused(table: lance_sql.Dataset, verb: str, kind: str, fails: bool) -> None:
    source = ONCE[kind](fails)
    if fails:
        with pytest.raises((OSError, InvalidArgument)):
            VERBS[verb](table, source)
    else:
        VERBS[verb](table, source)
    before = state(table)
    for again in VERBS if kind == "reader" else [verb, "overwrite"]:
        # a create that succeeded says that the table exists
        if again != "create" or fails or verb != "create":
            with pytest.raises(InvalidArgument, match=REFUSED) as raised:
                VERBS[again](table, source)
            assert "\n" not in str(raised.value)
    assert state(table) == before
    # a new source of the kind is taken
    if fails:
        VERBS[verb](table, ONCE[kind](False))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", AGAIN)
def test_a_source_that_starts_again_is_read_anew(table: lance_sql.Dataset, verb: str, kind: str) -> None:
    source = AGAIN[kind](table)
    num_rows = to_reader(source).read_all().num_rows
    for _ in range(2):
        VERBS["overwrite"](table, source)
        assert lance_sql.open(table.uri).count_rows() == num_rows
    VERBS[verb](table, source)


def test_a_source_that_no_row_was_read_of_is_taken_later(table: lance_sql.Dataset) -> None:
    reader = ONCE["reader"](False)
    with pytest.raises(lance_sql.TableExists):
        lance_sql.write(reader, table.uri)
    with pytest.raises(lance_sql.LanceError):
        lance_sql.write(reader, table.uri, mode="append", file_version="0.0")
    assert lance_sql.write(reader, table.uri, mode="append").count_rows() == 10


def test_a_generator_that_was_read_elsewhere_is_refused(table: lance_sql.Dataset) -> None:
    rows = batches(False)
    list(rows)
    with pytest.raises(InvalidArgument, match=REFUSED):
        lance_sql.write(rows, table.uri, mode="overwrite", schema=SCHEMA)


def test_a_relation_that_was_half_read_is_written_whole(table: lance_sql.Dataset) -> None:
    relation = AGAIN["relation"](table).filter("true")
    if not hasattr(relation, "fetchone"):
        pytest.skip("relations of this DuckDB keep no result")
    relation.fetchone()
    for _ in range(2):
        assert VERBS["overwrite"](table, relation).count_rows() == 6


def test_one_job_takes_a_source_once(table: lance_sql.Dataset) -> None:
    job = lance_sql.begin_write(SCHEMA, table.uri, mode="append")
    reader = ONCE["reader"](False)
    parts = job.write_fragments(reader)
    with pytest.raises(InvalidArgument, match=REFUSED):
        job.write_fragments(reader)
    assert job.commit(parts).count_rows() == 10


@pytest.mark.parametrize("kind", ONCE)
def test_sources_are_not_kept(table: lance_sql.Dataset, kind: str) -> None:
    source = ONCE[kind](False)
    VERBS["append"](table, source)
    gone = None
    if kind not in ("map", "arro3", "columns", "all columns"):
        gone = weakref.ref(source)
    del source
    gc.collect()
    assert gone is None or gone() is None
    to_reader(map(str, []), SCHEMA)
    assert not read_once._weakly
    assert not read_once._held
