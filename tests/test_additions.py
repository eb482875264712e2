"""A layout, a kind of index and an engine that are added by the steps of docs/architecture.md, and the files in which
every encoding is.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from google.protobuf import any_pb2

import lance_sql
from lance_sql import _kernels
from lance_sql.format.encodings import wire_v2_1 as encoding_messages
from lance_sql.format.encodings.tree import ByteStreamSplit, Flat, Fsst, InlineBitpacking, Rle, Variable
from lance_sql.format.file.metadata_v2 import parse_layout
from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.index_files import order, writing
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.format.layouts import wire_v2_1 as layout_messages
from lance_sql.format.layouts.tree import Blob, ConstantLayout, FullZip, MiniBlock
from lance_sql.providers import adapter
from lance_sql.reads.scan.predicates import passing
from lance_sql.reads.scan.pruning import index_search
from lance_sql.reads.scan.pruning.covered import Covered
from lance_sql.reads.scan.pruning.index_search import Question
from lance_sql.reads.scan.pruning.known_rows import KnownRows
from lance_sql.reads.scan.system_columns import ROW_ADDRESS
from lance_sql.table import index_kinds
from lance_sql.table.index_kinds import IndexKind
from lance_sql.values.arrays import U64
from lance_sql.writes.statements import index_building
from lance_sql.writes.statements.index_building import BuiltKind, Destination
from tests.sqlite_engine import queries

ROOT = Path(__file__).parents[1]

NUM_ROWS = 20_000


def table() -> pa.Table:
    random = np.random.default_rng(7)
    values = random.integers(2**31, 2**32, NUM_ROWS)
    return pa.table({"id": range(NUM_ROWS), "v": values, "n": pa.array(values, mask=random.random(NUM_ROWS) < 0.1)})


def check(path: Path, expected: pa.Table) -> None:
    """All ways to the values: a table, a stream, some rows, a filter of SQL's and one that only Python evaluates."""
    dataset = lance_sql.open(path)
    assert dataset.to_table().equals(expected)
    assert pa.Table.from_batches(dataset.scan(["v"]).to_reader()).equals(expected.select(["v"]))
    places = [0, 1, 5_000, NUM_ROWS - 1]
    assert dataset.take(places).equals(expected.take(places))
    wanted = expected["v"][77].as_py()
    assert dataset.scan(["id"], f"v = {wanted}").to_table()["id"].to_pylist() == [77]
    few = dataset.scan(["n"], "id % 1000 = 3 AND n IS NOT NULL").to_table()["n"].to_pylist()
    assert few == [each for each in expected["n"].to_pylist()[3::1000] if each is not None]


def unknown(path: Path) -> Path:
    """A copy of a table, of which the process knows nothing yet."""
    return Path(shutil.copytree(path, path.with_name("copy")))


# An encoding: the files that the guide lists have every one of those that the kernels decode.

ENCODINGS = (ByteStreamSplit, Flat, Fsst, InlineBitpacking, Rle, Variable)
OTHER_CODECS = {"kOther"}
"""Codecs of no encoding."""


def guide(beginning: str) -> str:
    """The point of "Adding to it" that begins so."""
    text = (ROOT / "docs" / "architecture.md").read_text().split("## Adding to it")[1]
    return next(" ".join(point.split()) for point in text.split("\n- ") if point.startswith(beginning))


def files_of(beginning: str, count: int) -> dict[str, str]:
    """The texts of the files that a point of the guide names."""
    names = re.findall(r"`((?:kernels|lance_sql|format)/[\w/]+\.(?:h|cpp|pyi|py))`", guide(beginning))
    assert len(names) == count, names
    return {name: (ROOT / ("lance_sql" if name.startswith("format/") else "") / name).read_text() for name in names}


def test_an_encoding() -> None:
    files = files_of("An encoding", 7)
    codecs = {f"k{each.__name__}" for each in ENCODINGS}
    assert codecs | OTHER_CODECS == set(re.findall(r"^    (k\w+) = ", files["kernels/encodings/value_codec.h"], re.M))
    for name, text in files.items():
        for encoding in ENCODINGS:
            word = encoding.__name__ if name.endswith(".py") else f"k{encoding.__name__}"
            if not name.endswith("cells.h"):
                assert re.search(rf"\b{word}\b", text), f"{name} has no {word}"
    assert {each.type for each in encoding_messages.BY_TYPE.values()} >= set(ENCODINGS)


# A layout: the files that the guide lists have every one of those that the kernels open.

LAYOUTS = (Blob, ConstantLayout, FullZip, MiniBlock)


def test_a_layout() -> None:
    files = files_of("A layout", 6)
    for name, text in files.items():
        for layout in LAYOUTS:
            word = layout.__name__.removesuffix("Layout") + ("" if name.endswith(".py") else "Layout")
            if not name.endswith(("encode.py", "open_full_zip.cpp")):
                assert re.search(rf"\b{word}", text), f"{name} has no {word}"
    assert set(layout_messages.BY_TYPE) == set(LAYOUTS)


def test_a_layout_that_nobody_knows_is_refused() -> None:
    unknown = any_pb2.Any(type_url=layout_messages.TYPE_URL, value=bytes([9 << 3 | 2, 0])).SerializeToString()
    with pytest.raises(_kernels.UnsupportedDataError, match="layout"):
        _kernels.page_head(unknown, 1)
    with pytest.raises(lance_sql.UnsupportedFeature, match="layout"):
        parse_layout(unknown)


# A kind of index: the distinct values of the rows that it covers.

FILE = "values.lance"


@dataclass(frozen=True, slots=True)
class Distinct:
    """All values of a column, each once."""

    values: pa.Array

    @property
    def num_bytes(self) -> int:
        return int(self.values.nbytes)


def read_distinct(file: IndexFile) -> Distinct:
    return Distinct(pa.concat_arrays(list(file.parts("values"))))


def in_distinct(distinct: Distinct, covered: Covered, question: Question) -> KnownRows | None:
    if passing(question.predicate, question.path, distinct.values).any():
        return None
    return covered.addresses(np.empty(0, np.uint64))


def write_distinct(type: pa.DataType, rows: Iterable[tuple[pa.Array, U64]], to: Destination) -> tuple[WrittenFile, ...]:
    values = pa.concat_arrays([part.unique() for part, _ in rows]).unique()
    batch = pa.record_batch([values], schema=pa.schema([("values", type)]))
    path = f"{to.folder}/{FILE}"
    return (writing.write(to.store, path, batch.schema, [batch], file_version=to.file_version, notes={}),)


def test_a_kind_of_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = IndexKind(
        "DistinctIndexDetails",
        "distinct",
        max_version=0,
        last_with_row_ids=None,
        files=(FILE,),
        # a kind that stays is a member of `index_kinds.Opened`
        read=lambda open, _: cast("Any", read_distinct(open(FILE))),
    )
    built = BuiltKind(kind, ROW_ADDRESS, order.check, write_distinct)
    path = tmp_path / "t"
    lance_sql.write(table(), path, max_rows_per_file=5_000)
    with monkeypatch.context() as added:
        added.setitem(index_kinds.BY_DETAILS, kind.details, kind)
        added.setitem(index_search.SEARCHES, kind, in_distinct)
        added.setitem(index_building.BUILT, "distinct", built)
        dataset = lance_sql.open(path).indices.create("v", "distinct")
        assert [(each.name, each.kind) for each in dataset.indices.list()] == [("v_idx", "distinct")]
        wanted = table()["v"][77].as_py()
        assert dataset.scan(["id"], f"v = {wanted}").to_table()["id"].to_pylist() == [77]
        absent = next(each for each in range(2**31, 2**32) if each not in set(table()["v"].to_pylist()))
        scan = dataset.scan(["id"], f"v = {absent}")
        assert scan.to_table().num_rows == 0
        assert "v_idx (distinct): covers 4 of 4 fragments" in scan.explain()
        grown = lance_sql.write(table().slice(0, 10), path, mode="append")
        assert grown.count_rows(f"v = {wanted}") == 1
        assert [each.num_uncovered for each in grown.indices.optimize().indices.list()] == [0]
        assert lance_sql.verify(path, deep=True).is_healthy
    # whoever does not know the kind says so, and looks at rows
    scan = lance_sql.open(unknown(path)).scan(["id"], f"v = {wanted}")
    assert scan.to_table()["id"].to_pylist() == [77]
    assert "indices of kind DistinctIndexDetails are not used for filters" in scan.explain()


def test_every_kind_that_filters_has_a_search_and_every_record_is_asked_by_its_details() -> None:
    kinds = set(index_kinds.BY_DETAILS.values())
    assert set(index_search.SEARCHES) == {kind for kind in kinds if kind.filters}
    assert {built.kind for built in index_building.BUILT.values()} <= kinds
    assert all(built.versions[1] <= built.kind.max_version for built in index_building.BUILT.values())
    assert len({kind.name for kind in kinds}) == len(kinds)


# An engine: SQLite, in the four modules of a folder.


@pytest.fixture
def sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(adapter.FOLDERS, "sqlite", "tests.sqlite_engine")


@pytest.mark.usefixtures("sqlite")
def test_an_engine(tmp_path: Path) -> None:
    path, other = tmp_path / "t.lance", tmp_path / "u.lance"
    lance_sql.write(pa.table({"id": [1, 2, 3], "name": ["a", "b", None], "v": [1.5, 2.5, 3.5]}), path)
    lance_sql.write(pa.table({"id": [2, 3], "n": [20, 30]}), other)
    connection = queries.Connection(":memory:")
    connection.execute("CREATE TABLE own (id)")
    connection.execute("INSERT INTO own VALUES (3)")

    def run(text: str, *arguments: Any, **given: Any) -> list[Any]:
        found: list[Any] = lance_sql.sql(text, *arguments, **given).fetchall()
        return found

    assert run(f"SELECT name, v FROM '{path}' WHERE id >= ? ORDER BY id", [2], "sqlite") == [("b", 2.5), (None, 3.5)]
    # the dialect of another engine, and tables of the connection
    join = f"SELECT t.id, n FROM '{path}' t JOIN '{other}' USING (id) WHERE t.id IN (SELECT id FROM own)"
    assert run(join, connection=connection, dialect="duckdb") == [(3, 30)]
    assert run(f"SELECT count(*) FROM '{path}'", engine="sqlite") == [(3,)]
    run(f"INSERT INTO '{path}' SELECT id + 10, 'new', n FROM '{other}'", engine="sqlite")
    run(f"DELETE FROM '{path}' WHERE id = 1", engine="sqlite")
    assert lance_sql.open(path).to_table().to_pydict() == {
        "id": [2, 3, 12, 13],
        "name": ["b", None, "new", "new"],
        "v": [2.5, 3.5, 20.0, 30.0],
    }
    assert run(f"SELECT sum(id) FROM '{path}' VERSION AS OF 1", engine="sqlite") == [(6,)]
    changes = f"SELECT _change_type FROM lance_changes('{path}', 2, 3) ORDER BY 1"
    assert run(changes, engine="sqlite") == [("delete",), ("insert",), ("insert",)]
    lance_sql.register(connection, "copy", path)
    assert connection.execute("SELECT max(v) FROM copy").fetchall() == [(30.0,)]


@pytest.mark.usefixtures("sqlite")
def test_an_engine_reads_only_what_a_query_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lance_sql.write(table(), tmp_path / "t.lance")
    read: list[pa.Table] = []
    rows = queries.rows
    monkeypatch.setattr(queries, "rows", lambda source: read.append(rows(source)) or read[-1])  # type: ignore[func-returns-value]
    lance_sql.sql(f"SELECT n FROM '{tmp_path / 't.lance'}' WHERE id < 5", engine="sqlite").fetchall()
    assert [(each.column_names, each.num_rows) for each in read] == [(["id", "n"], 5)]


@pytest.mark.usefixtures("sqlite")
def test_an_engine_names_what_it_cannot_do(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(pa.table({"id": [1]}), path)
    for text, match in (
        (f"SELECT id FROM '{path}' QUALIFY row_number() OVER (ORDER BY id) = 1", "SQLite does not support QUALIFY"),
        (f"SELECT nosuch(id) FROM '{path}'", "SQLite .*no such function"),
        (f"MERGE INTO '{path}' t USING own s ON t.id = s.id WHEN MATCHED THEN DELETE", "engine='duckdb' does$"),
        (
            f"CREATE MATERIALIZED VIEW '{tmp_path / 'v.lance'}' AS SELECT 1 AS a",
            "SQLite cannot compute materialized views",
        ),
        (f"ATTACH '{tmp_path}' AS lake (TYPE lance)", "ATTACH is for "),
    ):
        with pytest.raises(lance_sql.UnsupportedFeature, match=match):
            lance_sql.sql(text, engine="sqlite", dialect="duckdb").fetchall()
    with pytest.raises(lance_sql.InvalidArgument, match="a SparkSession or an SQLite connection"):
        lance_sql.sql("SELECT 1", connection=object())
    with pytest.raises(lance_sql.InvalidArgument, match="Cannot attach a folder to a sqlite3"):
        lance_sql.attach(sqlite3.connect(":memory:"), tmp_path, as_="lake")
