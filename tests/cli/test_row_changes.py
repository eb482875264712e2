"""The verbs that change tables: effects, output, errors, and --dry-run."""

from __future__ import annotations

import itertools
import json
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


def test_unwritable_input_is_refused(table: str) -> None:
    result = run("write", table, "SELECT 1 AS id")
    assert result.exit_code == 3
    assert "Table 'data.lance' exists already, at version 2" in result.stderr
    assert run("write", table, "SELECT 'x' AS id", "--mode", "append").exit_code == 2
    assert run("write", table, "nothing.parquet", "--mode", "append").exit_code == 3
    assert run("write", f"{table}@1", "SELECT 1 AS id", "--mode", "append").exit_code == 2
    assert version(table) == 2


def test_a_place_that_cannot_be_written(folder: Path) -> None:
    (folder / "file").write_text("")
    result = run("write", "file/new.lance", "SELECT 1 AS id")
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: Cannot write a table to 'file/new.lance': file is a file; choose another path\n",
    )


def test_deleting(table: str) -> None:
    dry = run("delete", table, "--where", "id < 3", "--dry-run")
    assert (dry.exit_code, dry.stderr) == (0, "Would delete 3 of 12 rows of data.lance version 2.\n")
    assert version(table) == 2
    done = run("delete", table, "-w", "id < 3", "--yes")
    assert done.stderr == "Delete 3 of 12 rows of data.lance version 2.\ndata.lance is at version 3\n"
    assert lance_sql.open(table).count_rows() == 9
    assert run("delete", table, "-w", "idd < 3", "--yes").exit_code == 2


def test_a_terminal_asks_for_confirmation(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lance_sql.cli.agreement._is_terminal", lambda: True)
    refused = CliRunner().invoke(main, ["delete", table, "--all"], input="n\n")
    assert "Delete 12 of 12 rows of data.lance version 2? [y/N]" in refused.stderr
    assert (refused.exit_code, refused.stderr.splitlines()[-1]) == (0, "Nothing was changed.")
    assert version(table) == 2
    assert CliRunner().invoke(main, ["delete", table, "--all"], input="").exit_code == 130
    assert version(table) == 2
    CliRunner().invoke(main, ["delete", table, "--where", "id < 5"], input="y\n")
    assert version(table) == 3
    run("delete", table, "--all", "--yes")
    assert version(table) == 4
    run("delete", table, "--all", "--yes")
    assert version(table) == 4


@pytest.mark.parametrize("answer", [None, "y\n", "n\n"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["delete", "data.lance", "--all"],
        ["delete", "data.lance", "--where", "id < 5"],
        ["update", "data.lance", "id=0", "--all"],
        ["restore", "data.lance@1"],
        ["cleanup", "data.lance", "--keep", "1"],
        ["write", "data.lance", "SELECT 1 AS id", "--mode", "overwrite"],
        ["tag", "data.lance", "first", "--delete"],
        ["tag", "data.lance", "first", "--move"],
    ],
)
def test_a_pipe_does_not_ask_for_confirmation(table: str, arguments: list[str], answer: str | None) -> None:
    run("tag", "data.lance@2", "first")
    lance_sql.open(table).config.update({"a": "b"})
    result = CliRunner().invoke(main, arguments, input=answer)
    assert result.exit_code == 2
    assert "No terminal to ask for confirmation: pass --yes to" in result.stderr
    assert [info.version for info in lance_sql.open(table).versions()] == [1, 2, 3]
    assert lance_sql.open(table).tags.list()["first"].version == 2
    assert run(*arguments, "--yes").exit_code == 0


def test_all_rows_have_to_be_meant(table: str) -> None:
    selections: list[list[str]] = [[], ["--yes"], ["--dry-run"], ["--all", "--where", "true", "--yes"]]
    for verb, arguments in itertools.product(("delete", "update"), selections):
        result = run(verb, table, *(["name='x'"] if verb == "update" else []), *arguments)
        assert (result.exit_code, version(table)) == (2, 2)
        assert "Select rows: --where SQL, or --all" in result.stderr


def test_a_new_table_is_not_overwritten(folder: Path) -> None:
    assert run("write", "new.lance", "SELECT 1 AS id", "--mode", "overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("nome='x'", "nome"),
        ("id='x'", "x"),
        ("id=idd + 1", "idd"),
        ("id=9223372036854775807 + id", "verflow"),
        ("id=", "not of the form"),
        ("id=sum(id)", "id"),
    ],
)
def test_a_dry_run_finds_what_the_run_would(table: str, assignment: str, message: str) -> None:
    found = [run("update", table, assignment, "--all", *how) for how in (["--dry-run"], ["--yes"])]
    assert [result.exit_code for result in found] == [2, 2], found[0].output
    assert all(message in result.stderr for result in found)
    assert version(table) == 2


def test_updating(table: str) -> None:
    done = run("update", table, "name=upper(name)", "id=id + 100", "-w", "id >= 10", "--yes")
    assert done.stderr.startswith("Set name, id in 2 of 12 rows of data.lance version 2.\n")
    assert lance_sql.open(table).scan(filter="id > 100").to_table().to_pylist() == [
        {"id": 110, "name": "N10"},
        {"id": 111, "name": None},
    ]
    assert run("update", table, "name").exit_code == 2
    assert run("update", table, "nome='x'").exit_code == 2


def test_compacting(table: str) -> None:
    dry = run("compact", table, "--dry-run")
    assert dry.stderr == "Would rewrite 2 fragments with 12 rows.\n"
    assert version(table) == 2
    assert run("compact", table).stderr.endswith("data.lance is at version 4: 1 fragment\n")
    assert run("compact", table).stderr == "Nothing to compact.\n"


def test_restoring(table: str) -> None:
    dry = run("restore", f"{table}@1", "-n")
    expected = "Would return from version 2 (12 rows) to version 1 (10 rows); no version is removed.\n"
    assert dry.stderr == expected
    assert run("restore", f"{table}@1", "--yes").stderr.endswith("data.lance is at version 3\n")
    assert lance_sql.open(table).count_rows() == 10
    assert run("restore", table).exit_code == 2
    assert run("restore", f"{table}@9").exit_code == 3


def test_tags(table: str) -> None:
    assert run("tag", f"{table}@1", "first").stderr == "Tag 'first' is at version 1.\n"
    assert run("tag", table).stdout == "first\t1\n"
    assert run("tag", table, "first").exit_code == 2
    assert run("tag", table, "first", "--move", "--yes").stderr == (
        "Move the tag 'first' of version 1 to version 2.\nTag 'first' is at version 2.\n"
    )
    assert run("tag", table, "first", "--delete", "--yes").exit_code == 0
    assert run("tag", table, "first", "--delete", "--yes").exit_code == 3
    assert run("tag", table).stdout == ""


def test_cleaning_up(table: str) -> None:
    run("update", table, "name='x'", "--all", "--yes")
    run("tag", f"{table}@1", "first")
    assert run("cleanup", table).stderr == "Nothing to remove.\n"
    dry = run("cleanup", table, "--keep", "1", "--dry-run")
    assert dry.stdout.splitlines()[0] == "version 2"
    assert dry.stderr == "Would remove 1 version and 2 files that no other needs.\n"
    assert run("cleanup", table, "--older-than", "12h").stderr == "Nothing to remove.\n"
    assert run("cleanup", table, "--older-than", "soon").exit_code == 2
    assert run("cleanup", table, "--keep", "1", "--yes").stderr.endswith("Removed 1 version and 2 files.\n")
    assert [info.version for info in lance_sql.open(table).versions()] == [1, 3]
    assert lance.dataset(table, version=1).count_rows() == 10


def test_an_empty_filter_deletes_nothing(table: str) -> None:
    """As of a shell variable that is not set."""
    for change in (["delete", table], ["update", table, "name='x'"]):
        result = run(*change, "--where", "", "--yes")
        assert (result.exit_code, version(table)) == (2, 2)
        assert "The filter is empty" in result.output


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


def test_a_load_is_staged_and_published(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    table = lance_sql.write({"id": [1, 2]}, path)
    assert "begins with version 1" in run("stage", path, "load").stderr
    lance_sql.write({"id": [3]}, path, branch="load", mode="append")
    assert "Would publish load version 2: 1 inserted" in run("publish", path, "load", "--dry-run").stderr
    result = run("publish", path, "load", "--yes")
    assert (result.exit_code, lance_sql.open(path).count_rows()) == (0, 3)
    again = run("publish", path, "load", "--yes")
    assert (again.exit_code, again.stderr) == (0, "load version 2 was published already as version 2: nothing to do.\n")
    run("stage", path, "load")
    lance_sql.open(path, branch="load").update({"id": "7"}, "id = 1")
    table.latest().delete("id = 1")
    result = run("publish", path, "load", "--yes", "--output", "json")
    assert result.exit_code == 1
    assert {row["side"] for row in json.loads(result.stdout)} == {"branch", "other"}
    assert "Nothing was published" in result.stderr
    run("rules", path, "small", "id < 7")
    result = run("publish", path, "load", "--yes")
    assert (result.exit_code, "FAIL small: id < 7" in result.stderr) == (1, True)


VERBS = [
    ["delete", "data.lance@load", "--where", "id = 0", "--yes"],
    ["update", "data.lance@load", "name='x'", "--where", "id = 1", "--yes"],
    ["write", "data.lance@load", "SELECT 50::BIGINT AS id, 'x' AS name", "--mode", "append"],
    ["write", "data.lance@load", "SELECT 50::BIGINT AS id, 'x' AS name", "--mode", "overwrite", "--yes"],
    ["merge", "data.lance@load", "SELECT 50::BIGINT AS id, 'x' AS name", "--on", "id", "--yes"],
    ["merge", "data.lance@load", "SELECT 50::BIGINT AS id, 'x' AS name", "--on", "id", "--dry-run"],
    ["apply", "data.lance@load", "SELECT 50::BIGINT AS id, 'x' AS name", "--keys", "id", "--yes"],
    ["compact", "data.lance@load"],
    ["cleanup", "data.lance@load", "--keep", "1", "--max-lag", "0m", "--yes"],
    ["restore", "data.lance@load", "3", "--yes"],
    ["index", "create", "data.lance@load", "id", "btree"],
    ["stage", "data.lance@load", "inside"],
]


@pytest.mark.parametrize("arguments", VERBS, ids=lambda arguments: " ".join(arguments[:3:2]))
def test_a_branch_is_named_behind_the_path(table: str, arguments: list[str]) -> None:
    main_rows = lance_sql.open(table).to_table()
    lance_sql.open(table).branches.create("load")
    for number in (20, 21):
        lance_sql.write({"id": [number], "name": ["y"]}, table, mode="append", branch="load")
    before = lance_sql.open(table, branch="load")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    after = lance_sql.open(table, branch="load")
    assert lance_sql.open(table).to_table() == main_rows
    assert version(table) == 2
    changed = "--dry-run" not in arguments and arguments[0] not in ("stage", "cleanup")
    assert (after.version > before.version) == changed
    assert not changed or f"data.lance branch 'load' is at version {after.version}" in result.stderr
    if arguments[0] == "cleanup":
        assert [each.version for each in after.versions()] == [4]
    if arguments[0] == "restore":
        assert after.count_rows() == 13
    if arguments[0] == "stage":
        assert lance_sql.open(table).branches.list()["inside"].branch == "load"


def test_names_that_are_not_branches_are_refused(table: str) -> None:
    lance_sql.open(table).tags.create("audited")
    for name in ("1", "audited", "nothing"):
        result = run("compact", f"{table}@{name}")
        assert result.exit_code == 2
        assert f"data.lance without @{name}, or a branch, data.lance@BRANCH" in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_file_of_only_a_header_fits_the_table(folder: Path, suffix: str) -> None:
    lance_sql.write({"id": [1], "s": ["a"]}, "t.lance")
    (folder / f"head.{suffix}").write_text("id,s\n" if suffix == "csv" else "id\ts\n")
    assert run("write", "t.lance", f"head.{suffix}", "--mode", "append").exit_code == 0
    assert run("merge", "t.lance", f"head.{suffix}", "--on", "id", "--yes").exit_code == 0
    assert lance_sql.open("t.lance").to_table().to_pylist() == [{"id": 1, "s": "a"}]


@pytest.mark.parametrize("name", ["none.csv", "none.json"])
@pytest.mark.parametrize("mode", ["append", "overwrite", "create"])
def test_an_empty_file_is_refused(folder: Path, name: str, mode: str) -> None:
    table = "new.lance" if mode == "create" else "t.lance"
    lance_sql.write({"id": [1]}, "t.lance")
    (folder / name).touch()
    result = run("write", table, name, "--mode", mode, *(["--yes"] if mode == "overwrite" else []))
    assert (result.exit_code, f"{name!r} is empty" in result.stderr) == (2, True)
    assert not (folder / "new.lance").exists()


def test_types_that_duckdb_exports_otherwise_are_refused(folder: Path) -> None:
    assert run("write", "t.lance", "SELECT '101'::BIT AS b").exit_code == 3
    assert run("write", "t.lance", "SELECT 5::UHUGEINT AS b").exit_code == 3


@pytest.mark.parametrize("mode", ["create", "append"])
def test_a_csv_that_ends_inside_a_quoted_value_is_refused(folder: Path, mode: str) -> None:
    rows = "".join(f'{number},"value {number}"\n' for number in range(3000))
    (folder / "whole.csv").write_text(f'"id","v"\n{rows}')
    (folder / "cut.csv").write_text(f'"id","v"\n{rows}3390,"v')
    assert run("write", "whole.lance", str(folder / "whole.csv")).exit_code == 0
    target = "new.lance" if mode == "create" else "whole.lance"
    result = run("write", target, str(folder / "cut.csv"), "--mode", mode)
    assert result.exit_code == 2
    assert "quoted value without an end" in result.output + result.stderr
    assert lance_sql.open("whole.lance").count_rows() == 3000


def test_names_with_quotes_of_a_whole_csv_are_kept(folder: Path) -> None:
    (folder / "quotes.csv").write_text('"""id""","v"\n1,"a, b"\n')
    assert run("write", "new.lance", "quotes.csv").exit_code == 0
    assert lance_sql.open("new.lance").to_table().to_pylist() == [{'"id"': 1, "v": "a, b"}]
