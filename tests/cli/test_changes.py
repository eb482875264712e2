"""The verbs that change tables: what they do, say, refuse, and leave alone with --dry-run."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table() -> str:
    """`data.lance`: two versions of ten and twelve rows."""
    lance_sql.write({"id": range(10), "name": [f"n{i}" for i in range(10)]}, "data.lance")
    lance_sql.write({"id": [10, 11], "name": ["n10", None]}, "data.lance", mode="append")
    return "data.lance"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def version(path: str) -> int:
    return lance_sql.open(path).version


def test_writing_a_query(folder: Path) -> None:
    result = run("write", "new.lance", "SELECT range AS id FROM range(5)", "--file-version", "2.1")
    assert (result.exit_code, result.stderr) == (0, "new.lance is at version 1: 5 rows\n")
    assert result.stdout == ""
    assert lance.dataset(str(folder / "new.lance")).count_rows() == 5
    assert lance_sql.open("new.lance").snapshot.manifest.data_format == "2.1"


def test_writing_a_file(table: str) -> None:
    pyarrow.parquet.write_table(pa.table({"id": [12], "name": ["n12"]}), "it's new.parquet")
    assert run("write", table, "it's new.parquet", "--mode", "append").stderr == "data.lance is at version 3: 13 rows\n"
    assert run("write", "copy.lance", table).exit_code == 0
    assert lance_sql.open("copy.lance").count_rows() == 13


def test_what_cannot_be_written(table: str) -> None:
    result = run("write", table, "SELECT 1 AS id")
    assert result.exit_code == 3
    assert "There is a table at 'data.lance' already, version 2" in result.stderr
    assert run("write", table, "SELECT 'x' AS id", "--mode", "append").exit_code == 2
    assert run("write", table, "nothing.parquet", "--mode", "append").exit_code == 3
    assert run("write", f"{table}@1", "SELECT 1 AS id", "--mode", "append").exit_code == 2
    assert version(table) == 2


def test_a_place_that_cannot_be_written(folder: Path) -> None:
    (folder / "file").write_text("")
    result = run("write", "file/new.lance", "SELECT 1 AS id")
    assert (result.exit_code, result.stderr.startswith("Error: ")) == (3, True)


def test_deleting(table: str) -> None:
    dry = run("delete", table, "--where", "id < 3", "--dry-run")
    assert (dry.exit_code, dry.stderr) == (0, "Would delete 3 of 12 rows of data.lance version 2.\n")
    assert version(table) == 2
    done = run("delete", table, "-w", "id < 3")
    assert done.stderr == "Delete 3 of 12 rows of data.lance version 2.\ndata.lance is at version 3\n"
    assert lance_sql.open(table).count_rows() == 9
    assert run("delete", table, "-w", "idd < 3").exit_code == 2


def test_a_terminal_is_asked(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lance_sql.cli.changes._is_asked", lambda yes: not yes)
    refused = CliRunner().invoke(main, ["delete", table], input="n\n")
    assert "Delete 12 of 12 rows of data.lance version 2? [y/N]" in refused.stderr
    assert version(table) == 2
    CliRunner().invoke(main, ["delete", table], input="y\n")
    assert version(table) == 3
    run("delete", table, "--yes")
    assert version(table) == 4


def test_updating(table: str) -> None:
    done = run("update", table, "name=upper(name)", "id=id + 100", "-w", "id >= 10")
    assert done.stderr.startswith("Set name, id in 2 of 12 rows of data.lance version 2.\n")
    assert lance_sql.open(table).scan(filter="id > 100").to_table().to_pylist() == [
        {"id": 110, "name": "N10"},
        {"id": 111, "name": None},
    ]
    assert run("update", table, "name").exit_code == 2
    assert run("update", table, "nome='x'").exit_code == 2


def test_compacting(table: str) -> None:
    dry = run("compact", table, "--dry-run")
    assert dry.stderr == "Rewrite 2 fragments with 12 rows.\n"
    assert version(table) == 2
    assert run("compact", table).stderr.endswith("data.lance is at version 4: 1 fragment\n")
    assert run("compact", table).stderr == "Nothing to compact.\n"


def test_restoring(table: str) -> None:
    dry = run("restore", f"{table}@1", "-n")
    expected = "Would return from version 2 (12 rows) to version 1 (10 rows); no version is removed.\n"
    assert dry.stderr == expected
    assert run("restore", f"{table}@1").stderr.endswith("data.lance is at version 3\n")
    assert lance_sql.open(table).count_rows() == 10
    assert run("restore", table).exit_code == 2
    assert run("restore", f"{table}@9").exit_code == 3


def test_tags(table: str) -> None:
    assert run("tag", f"{table}@1", "first").stderr == "'first' names version 1.\n"
    assert run("tag", table).stdout == "first\t1\n"
    assert run("tag", table, "first").exit_code == 2
    assert run("tag", table, "first", "--move").stderr == "'first' names version 2.\n"
    assert run("tag", table, "first", "--delete").exit_code == 0
    assert run("tag", table, "first", "--delete").exit_code == 3
    assert run("tag", table).stdout == ""


def test_cleaning_up(table: str) -> None:
    run("update", table, "name='x'")
    run("tag", f"{table}@1", "first")
    assert run("cleanup", table).stderr == "Nothing to remove.\n"
    dry = run("cleanup", table, "--keep", "1", "--dry-run")
    assert dry.stdout.splitlines()[0] == "version 2"
    assert dry.stderr == "Would remove 1 version and 2 files that no other needs.\n"
    assert run("cleanup", table, "--older-than", "12h").stderr == "Nothing to remove.\n"
    assert run("cleanup", table, "--older-than", "soon").exit_code == 2
    assert run("cleanup", table, "--keep", "1").stderr.endswith("Removed 1 version and 2 files.\n")
    assert [info.version for info in lance_sql.open(table).versions()] == [1, 3]
    assert lance.dataset(table, version=1).count_rows() == 10


def test_an_empty_filter_deletes_nothing(table: str) -> None:
    """As of a shell variable that is not set."""
    result = run("delete", table, "--where", "", "--yes")
    assert (result.exit_code, version(table)) == (2, 2)
    assert "filter ''" in result.output


def test_columns_are_set_once(table: str) -> None:
    result = run("update", table, "name='a'", "name='b'", "--yes")
    assert (result.exit_code, version(table)) == (2, 2)
    assert "'name' is set twice" in result.output


@pytest.mark.parametrize("source", ["missing.parquet", "missing*.csv", "missing.lance"])
def test_a_source_that_is_not_there(folder: Path, source: str) -> None:
    result = run("write", "new.lance", source)
    assert result.exit_code == 3
    assert "No " in result.output
    assert source in result.output
    assert not (folder / "new.lance").exists()
