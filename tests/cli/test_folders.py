"""`lance-sql write TABLE FOLDER`: all rows of a folder of another format or none, and no part is written twice."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click.testing
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from pyarrow import csv, parquet

import lance_sql
from lance_sql.cli import folders, moving
from lance_sql.cli.main import main

ROWS = pa.table({"id": range(60), "name": [f"n{i}" for i in range(60)], "day": [f"d{i % 3}" for i in range(60)]})


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def run(*arguments: object) -> click.testing.Result:
    return click.testing.CliRunner().invoke(main, [*map(str, arguments), "--quiet"])


def of_parquet(place: Path) -> None:
    pads.write_dataset(ROWS, place, format="parquet", partitioning=["day"], partitioning_flavor="hive")
    (place / "_SUCCESS").touch()


def of_csv(place: Path) -> None:
    for day in ("d0", "d1", "d2"):
        (place / f"day={day}").mkdir(parents=True)
        rows = ROWS.filter(pa.compute.field("day") == day).select(["id", "name"])
        csv.write_csv(rows, place / f"day={day}" / "x.csv")


def of_json(place: Path) -> None:
    place.mkdir()
    for number in range(3):
        lines = map(json.dumps, ROWS.slice(number * 20, 20).to_pylist())
        (place / f"{number}.jsonl").write_text("\n".join(lines) + "\n")


def of_delta(place: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(place, ROWS.slice(0, 40), partition_by=["day"])
    deltalake.write_deltalake(place, ROWS.slice(40), mode="append")
    deltalake.write_deltalake(place, ROWS.slice(0, 20), mode="append")
    deltalake.DeltaTable(place).delete("id < 20")
    deltalake.write_deltalake(place, ROWS.slice(0, 20), mode="append")


def of_iceberg(place: Path) -> None:
    sql = pytest.importorskip("pyiceberg.catalog.sql")
    catalog = sql.SqlCatalog("lake", uri=f"sqlite:///{place.parent}/lake.db", warehouse=f"file://{place.parent}/lake")
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.rows", schema=ROWS.schema, location=f"file://{place}")
    for rows in (ROWS.slice(0, 40), ROWS.slice(40), ROWS.slice(0, 20)):
        table.append(rows)
    table.delete("id < 20")
    table.append(ROWS.slice(0, 20))


IN_PARTS = {"parquet": of_parquet, "csv": of_csv, "json": of_json, "delta": of_delta}
KINDS = IN_PARTS | {"iceberg": of_iceberg}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["create", "append", "overwrite"])
def test_all_rows_are_written(tmp_path: Path, kind: str, mode: str) -> None:
    KINDS[kind](tmp_path / "rows")
    if mode != "create":
        lance_sql.write(ROWS.slice(0, 1), tmp_path / "t.lance")
    result = run("write", tmp_path / "t.lance", tmp_path / "rows", "--mode", mode, "--yes")
    assert result.exit_code == 0, result.output
    table = lance_sql.open(tmp_path / "t.lance")
    assert table.version == (1 if mode == "create" else 2)
    found = table.to_table().select(ROWS.column_names).sort_by("id").to_pylist()
    assert found == sorted(
        [*ROWS.to_pylist(), *(ROWS.slice(0, 1).to_pylist() if mode == "append" else [])], key=lambda row: row["id"]
    )
    assert not list((tmp_path / "state").rglob("*.journal"))


def test_columns_and_types_are_those_of_all_files(tmp_path: Path) -> None:
    place = tmp_path / "rows"
    (place / "year=2025").mkdir(parents=True)
    (place / "year=2026").mkdir()
    parquet.write_table(pa.table({"a": pa.array([1], pa.int32())}), place / "year=2025" / "1.parquet")
    parquet.write_table(pa.table({"b": ["x"], "a": pa.array([2**40])}), place / "year=2026" / "2.parquet")
    assert run("write", tmp_path / "t.lance", place).exit_code == 0
    written = lance_sql.open(tmp_path / "t.lance").to_table()
    assert written.sort_by("a").to_pylist() == [{"a": 1, "b": None, "year": 2025}, {"a": 2**40, "b": "x", "year": 2026}]
    assert not any(field.metadata for field in written.schema)


def test_types_of_text_are_those_of_all_files(tmp_path: Path) -> None:
    """A number that is one in its own file keeps its zeros if another file has text."""
    place = tmp_path / "rows"
    place.mkdir()
    (place / "1.csv").write_text("code,v\n007,1\n")
    (place / "2.csv").write_text("v,code,more\n2.5,x7,2026-01-02\n")
    folders_parts = 1  # one byte: each file is a part
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folders, "_BYTES_OF_A_PART", folders_parts)
        assert run("write", tmp_path / "t.lance", place).exit_code == 0
    rows = lance_sql.open(tmp_path / "t.lance").to_table().to_pylist()
    assert [(row["code"], row["v"], str(row["more"])) for row in rows] == [
        ("007", 1, "None"),
        ("x7", 2.5, "2026-01-02"),
    ]


def stopping(after: int) -> Iterator[Any]:
    """Ends the command as Ctrl-C does, after some parts."""
    with pytest.MonkeyPatch.context() as patch:
        write, calls = moving._written, 0

        def written(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > after:
                raise KeyboardInterrupt
            return write(*arguments)

        patch.setattr(moving, "_written", written)
        yield


def test_the_newest_version_of_iceberg_is_written_or_none(tmp_path: Path) -> None:
    """Times of metadata files change when a folder is copied, and copies name the files of the place before."""
    of_iceberg(tmp_path / "rows")
    metadata = tmp_path / "rows" / "metadata"
    *older, newest = sorted(metadata.glob("*.metadata.json"))
    for file in older:
        os.utime(file, (2**32, 2**32))
    assert run("write", tmp_path / "t.lance", tmp_path / "rows").exit_code == 0
    table = lance_sql.open(tmp_path / "t.lance")
    assert table.count_rows() == 60
    assert not any(field.metadata for field in table.schema)
    shutil.copytree(tmp_path / "rows", tmp_path / "copy")
    shutil.copy(newest, metadata / f"{newest.name[:6]}another.metadata.json")
    for source, message in (("copy", "is a copy of the Iceberg table at file:/"), ("rows", "may be the newest")):
        result = run("write", tmp_path / "no.lance", tmp_path / source)
        assert result.exit_code == 3
        assert message in result.output
        assert len(result.output.strip().splitlines()) == 1
        assert not (tmp_path / "no.lance").exists()


@pytest.mark.parametrize("kind", IN_PARTS)
def test_the_same_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    KINDS[kind](tmp_path / "rows")
    monkeypatch.setattr(folders, "_ROWS_OF_A_PART", 1)
    monkeypatch.setattr(folders, "_BYTES_OF_A_PART", 1)
    for _ in stopping(2):
        result = run("write", tmp_path / "t.lance", tmp_path / "rows")
        assert result.exit_code != 0
        assert "the same command goes on after them" in result.output
    with pytest.raises(lance_sql.TableNotFound):
        lance_sql.open(tmp_path / "t.lance")
    before = set((tmp_path / "t.lance" / "data").iterdir())
    assert len(before) == 2
    result = run("write", tmp_path / "t.lance", tmp_path / "rows")
    assert result.exit_code == 0, result.output
    assert "Going on after 2 of" in result.output
    assert before < set((tmp_path / "t.lance" / "data").iterdir())
    table = lance_sql.open(tmp_path / "t.lance")
    assert table.version == 1
    assert table.to_table().select(ROWS.column_names).sort_by("id").to_pylist() == ROWS.to_pylist()
    assert not list((tmp_path / "state").rglob("*.journal"))


@pytest.mark.parametrize("how", ["changed", "more", "options"])
def test_another_move_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    of_json(tmp_path / "rows")
    monkeypatch.setattr(folders, "_BYTES_OF_A_PART", 1)
    for _ in stopping(2):
        run("write", tmp_path / "t.lance", tmp_path / "rows")
    more = {"id": 60, "name": "n60", "day": "d0"}
    if how != "options":
        with open(tmp_path / "rows" / ("0.jsonl" if how == "changed" else "9.jsonl"), "a") as file:
            file.write(json.dumps(more) + "\n")
    result = run(
        "write", tmp_path / "t.lance", tmp_path / "rows", *(["--file-version", "2.1"] if how == "options" else [])
    )
    assert result.exit_code == 0, result.output
    assert "Going on" not in result.output
    table = lance_sql.open(tmp_path / "t.lance")
    assert table.count_rows() == (60 if how == "options" else 61)
    assert len(list((tmp_path / "t.lance" / "data").iterdir())) == len(table.snapshot.manifest.fragments)


def test_a_part_with_fewer_rows_than_its_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_parquet(tmp_path / "rows")
    read = folders._read_fragments
    monkeypatch.setattr(folders, "_read_fragments", lambda fragments, schema: read(fragments[1:], schema))
    result = run("write", tmp_path / "t.lance", tmp_path / "rows")
    assert result.exit_code == 3 or result.exit_code == 2
    assert "have 60 rows, and 40 were read" in result.output
    assert not (tmp_path / "t.lance").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["create", "append"])
def test_rows_that_changed_on_the_way_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, mode: str
) -> None:
    KINDS[kind](tmp_path / "rows")
    if mode == "append":
        lance_sql.write(ROWS, tmp_path / "t.lance")
    write = lance_sql.WriteJob.write_fragments

    def writing(job: lance_sql.WriteJob, data: pa.RecordBatchReader) -> Any:
        rows = data.read_all()
        place = rows.column_names.index("name")
        names = pa.compute.replace_substring(rows["name"], pattern="n7", replacement="n8")
        return write(job, rows.set_column(place, rows.schema.field("name"), names))

    monkeypatch.setattr(lance_sql.WriteJob, "write_fragments", writing)
    result = run("write", tmp_path / "t.lance", tmp_path / "rows", "--mode", mode)
    assert result.exit_code != 0
    assert "has other rows than the files of the folder, by their checksums" in result.output


def test_checksums_are_those_of_the_types_of_the_table(tmp_path: Path) -> None:
    """Narrow numbers, times and lists that the table widens, beside NULL and a part without rows."""
    wide = pa.schema({"i": pa.int64(), "f": pa.float64(), "t": pa.timestamp("us"), "l": pa.list_(pa.int64())})
    narrow = pa.schema({"i": pa.int8(), "f": pa.float32(), "t": pa.timestamp("ms"), "l": pa.list_(pa.int16())})
    rows = [{"i": 1, "f": 0.5, "t": 7, "l": [1, None]}, {"i": None, "f": -0.0, "t": None, "l": None}]
    lance_sql.write(pa.Table.from_pylist(rows[:1], wide), tmp_path / "t.lance")
    (tmp_path / "rows").mkdir()
    parquet.write_table(pa.Table.from_pylist(rows, narrow), tmp_path / "rows" / "1.parquet")
    parquet.write_table(narrow.empty_table(), tmp_path / "rows" / "2.parquet")
    result = run("write", tmp_path / "t.lance", tmp_path / "rows", "--mode", "append")
    assert result.exit_code == 0, result.output
    assert lance_sql.open(tmp_path / "t.lance").count_rows() == 3


@pytest.mark.parametrize("damage", ["missing", "cut", "page"])
@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_damaged_files_are_named_in_one_line(tmp_path: Path, kind: str, damage: str) -> None:
    KINDS[kind](tmp_path / "rows")
    files = list((tmp_path / "rows").rglob("*.parquet"))
    for file in files:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2] if damage == "cut" else content[:4] + b"\xff" * 60 + content[64:])
        if damage == "missing":
            file.unlink()
    result = run("write", tmp_path / "t.lance", tmp_path / "rows")
    assert result.exit_code in (2, 3)
    assert str(tmp_path / "rows") in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not (tmp_path / "t.lance").exists()


def test_damaged_metadata_of_iceberg(tmp_path: Path) -> None:
    of_iceberg(tmp_path / "rows")
    for file in (tmp_path / "rows" / "metadata").glob("*.metadata.json"):
        file.write_text("{}")
    result = run("write", tmp_path / "t.lance", tmp_path / "rows")
    assert result.exit_code == 3
    assert "rows cannot be read by pyiceberg" in result.output


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no files of Parquet, CSV or JSON"),
        ({"a.csv": "x\n1\n", "b.jsonl": '{"x": 1}\n'}, "has files of CSV and of JSON, such as"),
        ({"a.csv": "x\n1\n", "README.md": "x"}, "README.md is no file of Parquet, CSV or JSON: move it away"),
        ({"a.parquet": "no"}, "cannot be read together"),
        ({"metadata/v1.metadata.json": "{}"}, "is an Iceberg table, and its reader is not installed: pip install"),
    ],
)
def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], message: str) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.table", None)  # as if it were not installed
    (tmp_path / "rows").mkdir()
    for name, text in files.items():
        (tmp_path / "rows" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "rows" / name).write_text(text)
    result = run("write", tmp_path / "t.lance", tmp_path / "rows")
    assert result.exit_code != 0
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not (tmp_path / "t.lance").exists()
