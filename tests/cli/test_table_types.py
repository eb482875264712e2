"""Rows of CSV and JSON files for a table that has some: columns take its types, if no value changes by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click.testing
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.cli.main import main

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("amount", pa.float64()),
        ("price", pa.decimal128(10, 2)),
        ("code", pa.string()),
        ("at", pa.timestamp("us")),
        ("ratio", pa.float32()),
    ]
)
FIRST = [{"id": 1, "amount": 0.5, "price": None, "code": "x", "at": None, "ratio": None}]
TEXT = "id,amount,price,code,at,ratio\n2,30,7,007,2026-11-29,0.25\n"
JSON = {"id": 2, "amount": 30, "price": 7, "code": "007", "at": "2026-11-29", "ratio": 0.25}
DOORS: dict[str, tuple[str, ...]] = {
    "append": ("write", "--mode", "append"),
    "merge": ("merge", "--on", "id"),
    "apply": ("apply", "--keys", "id"),
}


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def run(door: str, table: Path, source: Path) -> click.testing.Result:
    verb, *options = DOORS[door]
    yes = ["--yes"] if verb != "write" else []
    return click.testing.CliRunner().invoke(main, [verb, str(table), str(source), *options, *yes, "--quiet"])


def made(folder: Path, kind: str, content: Any) -> Path:
    """A file, or a folder with one."""
    is_folder, suffix = kind.startswith("folder of "), kind.split()[-1]
    path = folder / "rows" / f"x.{suffix}" if is_folder else folder / f"rows.{suffix}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if suffix == "csv" else json.dumps(content) + "\n")
    return path.parent if is_folder else path


@pytest.mark.parametrize(
    ("door", "kind"),
    [
        *((door, kind) for door in DOORS for kind in ("csv", "jsonl")),
        ("append", "folder of csv"),
        ("append", "folder of jsonl"),
    ],
)
def test_values_have_the_types_of_the_table(tmp_path: Path, door: str, kind: str) -> None:
    table = lance_sql.write(pa.Table.from_pylist(FIRST, SCHEMA), tmp_path / "t.lance")
    result = run(door, tmp_path / "t.lance", made(tmp_path, kind, TEXT if "csv" in kind else JSON))
    assert result.exit_code == 0, result.output
    found = lance_sql.open(table.uri).to_table()
    assert found.schema.equals(SCHEMA)
    row = found.filter(pa.compute.field("id") == 2).to_pylist()
    assert [str(value) for value in row[0].values()] == ["2", "30.0", "7.00", "007", "2026-11-29 00:00:00", "0.25"]


@pytest.mark.parametrize(
    "door", ["append", *(pytest.param(door, marks=pytest.mark.slow) for door in ("merge", "apply"))]
)
@pytest.mark.parametrize(("column", "value"), [("id", 1.5), ("id", 2**40), ("price", 0.125), ("amount", "many")])
def test_values_that_would_change_are_refused(tmp_path: Path, door: str, column: str, value: Any) -> None:
    lance_sql.write(pa.Table.from_pylist(FIRST, SCHEMA), tmp_path / "t.lance")
    row = {**JSON, column: value}
    text = ",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n"
    for kind, content in (("csv", text), ("jsonl", row)):
        result = run(door, tmp_path / "t.lance", made(tmp_path, kind, content))
        assert result.exit_code != 0
        assert result.output.strip().splitlines()[-1].startswith("Error: ")
        assert lance_sql.open(tmp_path / "t.lance").version == 1


def test_a_path_without_anything_at_it(tmp_path: Path) -> None:
    lance_sql.write(FIRST, tmp_path / "t.lance", schema=SCHEMA)
    for door in DOORS:
        result = run(door, tmp_path / "t.lance", tmp_path / "nothing")
        assert result.exit_code == 3
        assert f"No file or folder {tmp_path / 'nothing'}: check the path, or pass a query" in result.output
