"""Rows of other libraries, and rows in parts, for every verb. Numbers of pandas go back into their table exactly."""

from __future__ import annotations

import csv
import dataclasses
import re
import sqlite3
from collections import deque, namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.writes.statements import parts
from tests.writes.statements.test_read_once import VERBS

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64())])
ROWS = pa.table({"id": range(6), "v": [10] * 6}, SCHEMA)
PARTS = [ROWS.slice(0, 2), ROWS.slice(2)]


def of_pylance(folder: Path) -> Any:
    lance = pytest.importorskip("lance")
    return lance.write_dataset(ROWS, folder / "other.lance")


def of_delta(folder: Path) -> Any:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(folder / "delta", ROWS)
    return deltalake.DeltaTable(folder / "delta")


def chunks(folder: Path) -> Any:
    ROWS.to_pandas().to_csv(folder / "x.csv", index=False)
    return pandas.read_csv(folder / "x.csv", chunksize=2)


class Scan:
    """A scan of pyiceberg."""

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        return ROWS.to_reader()


KINDS: dict[str, Callable[[Path], Any]] = {
    "pylance dataset": of_pylance,
    "pylance scanner": lambda folder: of_pylance(folder).scanner(),
    "pylance fragment": lambda folder: of_pylance(folder).get_fragments()[0],
    "delta table": of_delta,
    "delta dataset": lambda folder: of_delta(folder).to_pyarrow_dataset(),
    "arrow dataset": lambda folder: pads.dataset(ROWS),
    "arrow fragment": lambda folder: next(iter(pads.dataset(ROWS).get_fragments())),
    "iceberg scan": lambda folder: Scan(),
    "task": lambda folder: lance_sql.write(ROWS, folder / "task.lance").scan().tasks(1)[0],
    "chunks of pandas": chunks,
    "lazy polars": lambda folder: polars.from_arrow(ROWS).lazy(),
    "frames of polars": lambda folder: map(polars.from_arrow, PARTS),
    "tables": lambda folder: iter(PARTS),
    "batches and tables": lambda folder: [*PARTS[0].to_batches(), PARTS[1]],
    "dicts": lambda folder: iter(ROWS.to_pylist()),
    "tuple of dicts": lambda folder: tuple(ROWS.to_pylist()),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_takes_every_kind(tmp_path: Path, verb: str, kind: str) -> None:
    table = lance_sql.write({"id": [-1], "v": [0]}, tmp_path / "t.lance", schema=SCHEMA)
    VERBS[verb](table, KINDS[kind](tmp_path))
    if verb == "job":
        return
    written = lance_sql.open(f"{table.uri}.new" if verb == "create" else table.uri).to_table().sort_by("id")
    assert written.filter(pa.compute.field("id") >= 0).cast(SCHEMA).equals(ROWS)


# ---------------------------------------------------------------------------------------------------------------------
# numbers of pandas

FROM_A_TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3]),
        "int32": pa.array([5, None, -7], pa.int32()),
        "uint8": pa.array([None, 255, 0], pa.uint8()),
        "int64": pa.array([2**53, None, -(2**53)], pa.int64()),
        "bool": pa.array([True, None, False]),
        "float": pa.array([0.1, None, 2.5], pa.float32()),
        "struct": pa.array(
            [{"x": 5, "y": "a"}, {"x": None, "y": None}, None], pa.struct([("x", pa.int16()), ("y", pa.string())])
        ),
        "list": pa.array([[1, None], [], None], pa.list_(pa.int8())),
        "structs": pa.array([[{"x": 1}, {"x": None}], None, []], pa.list_(pa.struct([("x", pa.int32())]))),
        "map": pa.array([[("k", 1)], [("j", None)], None], pa.map_(pa.string(), pa.int32())),
        "vector": pa.array([[1, 2], [3, 4], [0.5, 8]], pa.list_(pa.float32(), 2)),
        "date": pa.array([1, None, 3], pa.date32()),
        "text": pa.array(["a", None, "c"]),
    }
)


@pytest.mark.parametrize("verb", ["append", "job", "merge", "apply", "parts"])
@pytest.mark.parametrize("name", FROM_A_TABLE.column_names[1:])
def test_a_frame_goes_back_into_its_table(tmp_path: Path, verb: str, name: str) -> None:
    rows = FROM_A_TABLE.select(["id", name])
    table = lance_sql.write(rows, tmp_path / "t.lance")
    frame = table.to_pandas()
    if verb in ("append", "parts"):
        lance_sql.write([frame[:1], frame[1:]] if verb == "parts" else frame, table.uri, mode="append")
    elif verb == "job":
        job = lance_sql.begin_write(table.schema, table.uri, mode="append")
        job.commit(job.write_fragments(frame))
    elif verb == "merge":
        table.merge(frame, "id")
    else:
        lance_sql.apply_changes(table.uri, frame, "id")
    twice = verb in ("append", "job", "parts")
    expected = pa.concat_tables([rows, rows]) if twice else rows
    found = lance_sql.open(table.uri).to_table()
    assert found.sort_by("id").to_pylist() == expected.sort_by("id").to_pylist()


@pytest.mark.parametrize(
    ("type", "value", "message"),
    [
        (pa.int32(), 1.5, "Column 'v' is double, and does not fit int32: Float value 1.5"),
        (
            pa.map_(pa.string(), pa.int64()),
            [("k", 2.0**60)],
            "Column 'v' of the frame does not fit map<.* may be another integer",
        ),
        (pa.int8(), 300.5, "Column 'v' is double, and does not fit int8"),
        (pa.int8(), 300, "Column 'v' is int64, and does not fit int8"),
        (pa.uint8(), -1, "Column 'v' is int64, and does not fit uint8"),
        (
            pa.int64(),
            2.0**53 + 2,
            "Column 'v' is double, and does not fit int64: 9007199254740994 may be another integer",
        ),
        (pa.struct([("x", pa.int64())]), {"x": 2.0**60}, "Column 'v' .* may be another integer"),
        (pa.list_(pa.int8()), [1.5], "Column 'v' is list"),
        (pa.int32(), "7", "v: (large_)?string where int32 is expected"),
    ],
)
@pytest.mark.parametrize("verb", ["append", "job", "merge", "apply"])
def test_a_number_that_is_not_exact_is_refused(
    tmp_path: Path, type: pa.DataType, value: Any, message: str, verb: str
) -> None:
    table = lance_sql.write(pa.table({"id": [1], "v": pa.nulls(1, type)}), tmp_path / "t.lance")
    frame = pandas.DataFrame({"id": [2, 3], "v": [value, None if isinstance(value, (dict, list)) else value]})
    if verb == "apply" and isinstance(value, str):
        pytest.skip("apply_changes has a message of its own for other types")
    run = VERBS | {
        "append": lambda table, data: lance_sql.write(data, table.uri, mode="append"),
        "job": lambda table, data: lance_sql.begin_write(table.schema, table.uri, mode="append").write_fragments(data),
    }
    with pytest.raises(InvalidArgument, match=message) as raised:
        run[verb](table, frame)
    assert len(str(raised.value).splitlines()) == 1
    assert lance_sql.open(table.uri).count_rows() == 1


def test_integers_are_narrowed_like_those_of_dicts(tmp_path: Path) -> None:
    table = lance_sql.write(pa.table({"num": pa.array([1], pa.int32())}), tmp_path / "t.lance")
    lance_sql.write(pandas.DataFrame({"num": [2]}), table.uri, mode="append")
    lance_sql.write([{"num": 3}], table.uri, mode="append")
    assert lance_sql.open(table.uri).to_table()["num"].to_pylist() == [1, 2, 3]


# ---------------------------------------------------------------------------------------------------------------------
# parts


def test_dicts_are_read_as_they_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_ROWS", 3)
    rows = [{"a": i, **({"b": str(i)} if i % 2 else {})} for i in range(1, 11)]
    written = lance_sql.write(iter(rows), tmp_path / "t.lance").to_table()
    assert written.to_pylist() == [{"a": row["a"], "b": row.get("b")} for row in rows]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([pa.table({"a": [1]}), pa.table({"b": [1]})], "A part of the rows has other columns than the first one: 'a'"),
        (
            [pa.table({"a": [1]}), pa.table({"a": ["x"]})],
            "Column 'a' is string in a part of the rows, and int64 before",
        ),
        ([pa.table({"a": [1]}), pa.table({"a": [1.5]})], "Column 'a' is double, and does not fit int64"),
        (
            [pa.table({"a": [None]}), pa.table({"a": ["x"]})],
            "Column 'a' is string in a part of the rows, and only NULL",
        ),
        ([pa.table({"a": [1]}), {"b": 1}], "column 'b', which is not in the schema"),
        ([{"a": 1}, pa.table({"a": ["x"]})], "Column 'a' is string in a part"),
        ([[{"a": 1}], [1]], "Part 0 of the rows is a list"),
        ([5], "Part 0 of the rows is a int"),
        (["a"], "Part 0 of the rows is a str"),
        ([{"a": 1}, (1, 2)], "Part 1 of the rows is a tuple"),
        (object(), "Cannot read rows from 'object': pass an Arrow table, stream, dataset or scanner"),
        ("t.parquet", "Cannot read rows from 'str': open it first, as with pyarrow.dataset.dataset"),
        (Path("t.parquet"), "open it first"),
        (polars.DataFrame({"big": [1]}, schema={"big": polars.Int128}), "Column 'big' is Int128, which Arrow does not"),
        (polars.DataFrame({"o": [{1}]}, schema={"o": polars.Object}), "Column 'o' is Object, which Arrow does not"),
        (polars.LazyFrame({"o": [{1}]}, schema={"o": polars.Object}), "Column 'o' is Object, which Arrow does not"),
        ([polars.DataFrame({"o": [{1}]}, schema={"o": polars.Object})], "Column 'o' is Object, which Arrow does not"),
    ],
)
def test_mistakes(tmp_path: Path, given: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message) as raised:
        lance_sql.write(given, tmp_path / "t.lance")
    assert len(str(raised.value).splitlines()) == 1
    assert not (tmp_path / "t.lance").exists()


def test_members_of_polars_may_be_called_like_types(tmp_path: Path) -> None:
    rows = polars.DataFrame({"s": [{"Object": 1, "Int128": 'a"b'}]})
    assert lance_sql.write(rows, tmp_path / "t.lance").to_table().to_pylist() == rows.to_dicts()


Point = namedtuple("Point", "a b")


@dataclasses.dataclass
class Record:
    a: int = 1


def sqlite_rows(factory: Any = None) -> Any:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = factory
    return connection.execute("SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, 'y'")


ZIP = re.escape("name the columns, as in [dict(zip(['a', 'b'], row)) for row in rows]")
COLUMN = re.escape("pass a dict of columns, as in {'a': values}")
FIELDS = re.escape("as in {name: rows[name] for name in rows.dtype.names}")
ONE = "is a {}, not a list of values: pass a list, as in {{'a': \\[..\\]}}"
STRUCTURED = np.array([(1, 2.5), (2, 3.5)], [("a", "i4"), ("b", "f8")])
PLAIN: dict[str, tuple[Callable[[], Any], str]] = {
    "tuples": (lambda: [(1, 2)], ZIP),
    "tuple of tuples": (lambda: ((1, 2), (3, 4)), ZIP),
    "lists": (lambda: [[1, 2]], ZIP),
    "generator of tuples": (lambda: ((number, 2) for number in range(3)), ZIP),
    "zip": (lambda: zip([1], [2], strict=True), ZIP),
    "reader of csv": (lambda: csv.reader(["a,b", "1,2"]), ZIP),
    "cursor of sqlite3": (sqlite_rows, ZIP),
    "rows of sqlite3": (lambda: sqlite_rows(sqlite3.Row), re.escape("pass [dict(row) for row in rows]")),
    "named tuples": (lambda: [Point(1, 2)], re.escape("pass [row._asdict() for row in rows]")),
    "dataclasses": (lambda: [Record()], re.escape("pass [dataclasses.asdict(row) for row in rows]")),
    "series": (lambda: [pandas.Series({"a": 1})], re.escape("pass [row.to_dict() for row in rows]")),
    "itertuples": (
        lambda: pandas.DataFrame({"a": [1]}).itertuples(),
        re.escape("pass [row._asdict() for row in rows]"),
    ),
    "numbers": (lambda: [1, 2], COLUMN),
    "range": (lambda: range(3), COLUMN),
    "set": (lambda: {1, 2}, COLUMN),
    "text": (lambda: ["a", "b"], COLUMN),
    "array": (lambda: np.arange(3), COLUMN),
    "number of NumPy": (lambda: np.array(3), COLUMN),
    "matrix": (lambda: np.eye(2), re.escape("as in {'a': values[:, 0]}")),
    "array of Arrow": (lambda: pa.array([1]), COLUMN),
    "chunked array": (lambda: pa.chunked_array([[1]]), COLUMN),
    "structured array": (lambda: STRUCTURED, FIELDS),
    "rows of a structured array": (lambda: list(STRUCTURED), FIELDS),
    "series of pandas": (lambda: pandas.Series([1]), re.escape("pass a frame, as in series.to_frame('a')")),
    "series of Polars": (lambda: polars.Series([1]), re.escape("pass a frame, as in series.to_frame('a')")),
    "a connection": (lambda: lance_sql.connect().execute("SELECT 1"), re.escape("connection.sql(query)")),
    "dict of a number": (lambda: {"a": 1, "b": "x"}, ONE.format("int")),
    "dict of text": (lambda: {"a": "abc"}, ONE.format("str")),
    "dict of bytes": (lambda: {"a": b"abc"}, ONE.format("bytes")),
    "dict of None": (lambda: {"a": None}, ONE.format("NoneType")),
    "dict of a dict": (lambda: {"a": {"x": 1}}, ONE.format("dict")),
    "dict of a set": (lambda: {"a": {1, 2}}, ONE.format("set")),
    "columns of two lengths": (lambda: {"a": [1, 2], "b": [1]}, "Column 'a' has 2 values, and 'b' has 1: give"),
    "names that are numbers": (lambda: {1: [2]}, "The column name 1 is a int, not text: pass it in quotes"),
    "names of rows that are numbers": (lambda: [{1: 2}], "The column name 1 is a int, not text"),
}
TAKEN: dict[str, Callable[[], Any]] = {
    "dicts": lambda: [{"a": 1}, {"a": 2}],
    "generator of dicts": lambda: ({"a": number} for number in (1, 2)),
    "deque": lambda: deque([{"a": 1}, {"a": 2}]),
    "values of a dict": lambda: {1: {"a": 1}, 2: {"a": 2}}.values(),
    "what the message for tuples says": lambda: [dict(zip(["a"], row, strict=True)) for row in [(1,), (2,)]],
    "what the message for structured arrays says": lambda: {name: STRUCTURED[name] for name in ["a"]},
    "what the message for series says": lambda: pandas.Series([1, 2]).to_frame("a"),
    "range in a dict": lambda: {"a": range(1, 3)},
    "generator in a dict": lambda: {"a": iter([1, 2])},
    "keys of a dict": lambda: {"a": {1: 0, 2: 0}.keys()},
    "structs of Arrow": lambda: pa.array([{"a": 1}, {"a": 2}]),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_values_are_answered_with_what_to_write_instead(tmp_path: Path, kind: str) -> None:
    make, message = PLAIN[kind]
    with pytest.raises(InvalidArgument, match=message) as raised:
        lance_sql.write(make(), tmp_path / "t.lance")
    assert len(str(raised.value).splitlines()) == 1
    assert not (tmp_path / "t.lance").exists()


@pytest.mark.parametrize("kind", TAKEN)
def test_plain_rows_are_written(tmp_path: Path, kind: str) -> None:
    assert lance_sql.write(TAKEN[kind](), tmp_path / "t.lance").to_table()["a"].to_pylist() == [1, 2]


def test_parts_fit_the_first_one_exactly(tmp_path: Path) -> None:
    first = pa.table({"a": pa.array([1], pa.int64()), "b": ["x"]})
    others = [pa.table({"b": ["y"], "a": pa.array([2], pa.int8())}), pa.table({"a": [3.0], "b": [None]})]
    written = lance_sql.write(iter([first, *others]), tmp_path / "t.lance").to_table()
    assert written.to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": None}]


def test_a_first_part_without_rows_has_columns(tmp_path: Path) -> None:
    parts_of_it = iter([ROWS.slice(0, 0), *PARTS])
    assert lance_sql.write(parts_of_it, tmp_path / "t.lance").to_table().equals(ROWS)


# ---------------------------------------------------------------------------------------------------------------------
# appends that create


@pytest.mark.parametrize("way", ["write", "job"])
def test_an_append_creates_a_table_unless_it_may_not(tmp_path: Path, way: str) -> None:
    def append(**options: Any) -> lance_sql.Dataset:
        if way == "write":
            return lance_sql.write(ROWS, tmp_path / "t.lance", mode="append", **options)
        job = lance_sql.begin_write(SCHEMA, tmp_path / "t.lance", mode="append", **options)
        return job.commit(job.write_fragments(ROWS))

    with pytest.raises(lance_sql.TableNotFound):
        append(create=False)
    assert not (tmp_path / "t.lance").exists()
    assert append().version == 1
    assert append(create=False).count_rows() == 12
    assert [each.operation for each in lance_sql.open(tmp_path / "t.lance").history()] == ["create", "insert"]


@pytest.mark.parametrize("mode", ["overwrite", "create", "append"])
def test_a_missing_table_or_branch_may_be_refused(tmp_path: Path, mode: Any) -> None:
    error = InvalidArgument if mode == "create" else lance_sql.TableNotFound
    with pytest.raises(error):
        lance_sql.write(ROWS, tmp_path / "t.lance", mode=mode, create=False)
    if mode == "append":
        with pytest.raises(lance_sql.TableNotFound):
            lance_sql.write(ROWS, tmp_path / "t.lance", mode=mode, branch="b")


def test_appends_that_create_at_once_keep_all_rows(tmp_path: Path) -> None:
    """Each begins before the table exists."""
    jobs = [lance_sql.begin_write(SCHEMA, tmp_path / "t.lance", mode="append") for _ in range(3)]
    written = [job.write_fragments(ROWS) for job in jobs]
    versions = [job.commit(fragments).version for job, fragments in zip(jobs, written, strict=True)]
    assert versions == [1, 2, 3]
    table = lance_sql.open(tmp_path / "t.lance")
    assert table.count_rows() == 18
    assert [each.operation for each in table.history()] == ["create", "insert", "insert"]
    with pytest.raises(InvalidArgument, match="committed"):
        jobs[1].commit(written[1])
    with pytest.raises(InvalidArgument, match="committed"):
        jobs[0].commit(written[0])
    assert lance_sql.open(tmp_path / "t.lance").count_rows() == 18
    assert not lance_sql.audit(table.uri).faults


def test_appends_that_create_at_once_with_other_columns_conflict(tmp_path: Path) -> None:
    job = lance_sql.begin_write(SCHEMA, tmp_path / "t.lance", mode="append")
    fragments = job.write_fragments(ROWS)
    lance_sql.write({"other": [1]}, tmp_path / "t.lance")
    with pytest.raises(lance_sql.CommitConflict, match="created by another writer meanwhile"):
        job.commit(fragments)


def test_a_rival_of_a_write_that_creates(tmp_path: Path) -> None:
    def rows() -> Iterator[pa.RecordBatch]:
        yield from PARTS[0].to_batches()
        lance_sql.write(ROWS, tmp_path / "t.lance")
        yield from PARTS[1].to_batches()

    assert lance_sql.write(rows(), tmp_path / "t.lance", mode="append").count_rows() == 12


def test_an_insert_does_not_create(tmp_path: Path) -> None:
    with pytest.raises(lance_sql.TableNotFound):
        lance_sql.sql(f"INSERT INTO '{tmp_path}/t.lance' VALUES (1)")
