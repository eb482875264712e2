"""SQL that writes, through the command line: output, confirmation and effects."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import agreement, main
from lance_sql.cli.shell import Shell
from lance_sql.providers.duckdb.protocol import has_sources


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lance_sql.write({"id": [1, 2, 3]}, "t.lance")


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin)


def ids(version: int | None = None) -> list[int]:
    found: list[int] = lance_sql.open("t.lance", version=version).scan().to_table()["id"].to_pylist()
    return sorted(found)


def test_inserts_need_no_confirmation() -> None:
    result = run("INSERT INTO 't.lance' VALUES (4), (5)")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "t.lance is at version 2: inserted 2 rows\n"
    assert ids() == [1, 2, 3, 4, 5]


def test_removing_rows_needs_confirmation() -> None:
    result = run("DELETE FROM 't.lance' WHERE id > 1")
    assert result.exit_code == 2
    assert "No terminal to ask for confirmation: pass --yes to delete 2 rows in t.lance, or --dry-run" in result.stderr
    assert ids() == [1, 2, 3]
    result = run("DELETE FROM 't.lance' WHERE id > 1", "--yes")
    assert result.stderr == "t.lance is at version 2: deleted 2 rows\n"
    assert ids() == [1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DELETE FROM 't.lance' WHERE id > 1", "Would delete 2 rows in t.lance.\n"),
        ("UPDATE 't.lance' SET id = id + 1 WHERE true", "Would update 3 rows in t.lance.\n"),
        ("INSERT INTO 't.lance' VALUES (4)", "Would insert 1 row in t.lance.\n"),
        ("INSERT OVERWRITE 't.lance' VALUES (4)", "Would insert 1 row, delete 3 rows in t.lance.\n"),
        ("DELETE FROM 't.lance' WHERE id > 10", "Nothing to change in t.lance.\n"),
        (
            "MERGE INTO t.lance USING (VALUES (1), (9)) s(id) ON t.id = s.id WHEN MATCHED THEN DELETE"
            " WHEN NOT MATCHED THEN INSERT *",
            "Would insert 1 row, delete 1 row in t.lance.\n",
        ),
    ],
)
def test_dry_runs_describe_the_change(text: str, expected: str) -> None:
    result = run(text, "--dry-run")
    assert (result.exit_code, result.stderr) == (0, expected)
    assert lance_sql.open("t.lance").version == 1


@pytest.mark.parametrize("text", ["DELETE FROM 't.lance'", "UPDATE 't.lance' SET id = 0"])
def test_every_row_is_meant_on_purpose(text: str) -> None:
    result = run(text, "--yes")
    assert result.exit_code == 2
    assert "every row of t.lance: pass --all, or add WHERE true" in result.stderr
    assert ids() == [1, 2, 3]
    assert run(text, "--yes", "--all").exit_code == 0


def test_parser_errors_are_reported_once() -> None:
    result = run("SHOW CREATE SCHEMA 't.lance'")
    assert result.exit_code != 0
    assert "Falling back" not in result.stderr


def test_an_answer_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "_is_terminal", lambda: True)
    result = run("DELETE FROM 't.lance' WHERE id = 1", stdin="n\n")
    assert "Delete 1 row in t.lance?" in result.stderr
    assert ids() == [1, 2, 3]
    run("DELETE FROM 't.lance' WHERE id = 1", stdin="y\n")
    assert ids() == [2, 3]


def test_every_row_is_removed_on_purpose_only() -> None:
    result = run("DELETE FROM 't.lance'", "--yes")
    assert (result.exit_code, ids()) == (2, [1, 2, 3])
    assert "This removes every row of t.lance: pass --all, or add WHERE true" in result.stderr
    assert run("DELETE FROM 't.lance'", "--yes", "--all").exit_code == 0
    assert ids() == []


def test_nothing_is_run_when_a_later_statement_cannot_be_parsed() -> None:
    result = run("DELETE FROM 't.lance' WHERE id = 1; SELEC 1", "--yes")
    assert (result.exit_code, ids()) == (2, [1, 2, 3])


def test_statements_of_all_kinds_follow_each_other() -> None:
    text = """
        CREATE TEMP TABLE fresh AS SELECT 8 AS id;
        INSERT INTO 't.lance' SELECT id FROM fresh;  -- ours
        SELECT count(*) AS old FROM t.lance@1;
        SELECT max(id) AS "now;" FROM 't.lance';
        SELECT count(*) AS changed FROM 't.lance' CHANGES FROM VERSION 2
    """
    result = run(text, "-o", "csv")
    assert result.stdout == "old\n3\nnow;\n8\nchanged\n1\n"
    assert [entry.statement for entry in lance_sql.open("t.lance").history()] == [
        None,
        "INSERT INTO 't.lance' SELECT id FROM fresh",
    ]


def test_queries_with_clauses_of_spark_are_shown() -> None:
    run("INSERT INTO 't.lance' VALUES (4)")
    assert run("SELECT count(*) AS n FROM 't.lance' VERSION AS OF 1", "-o", "csv").stdout == "n\n3\n"
    assert run("FROM t.lance@1", "-o", "csv").stdout == "id\n1\n2\n3\n"


def test_tables_are_created_by_copies() -> None:
    assert run("COPY (SELECT 7 AS id) TO 'n.lance'").stderr == "n.lance is at version 1: inserted 1 row\n"
    result = run("COPY (SELECT 7 AS id) TO 'n.lance'")
    assert (result.exit_code, "already" in result.stderr) == (3, True)


def test_the_job_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_SQL_JOB", "load of the night")
    run("INSERT INTO 't.lance' VALUES (4)")
    shown = run("versions", "t.lance", "--limit", "1", "-o", "json").stdout
    assert '"job": "load of the night"' in shown
    assert "INSERT INTO 't.lance' VALUES (4)" in shown


def test_the_shell_reports_errors_and_continues(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(lance_sql.connect())
    assert shell.run("DELETE FROM 't.lance';")
    assert shell.run("DELETE FROM 't.lance' WHERE id = 1;")
    assert shell.run("INSERT INTO 't.lance' VALUES (9);")
    errors = capsys.readouterr().err
    assert "removes every row" in errors
    assert "No terminal to ask for confirmation" in errors
    assert ids() == [1, 2, 3, 9]


@pytest.mark.skipif(not has_sources(), reason="DuckDB 1.5 answers nothing to such statements")
@pytest.mark.parametrize(
    ("text", "says"), [("DELETE FROM own WHERE a = 1", "1 row deleted"), ("UPDATE own SET a = 3", "2 rows updated")]
)
def test_rows_of_tables_of_duckdb_are_counted(text: str, says: str) -> None:
    result = run(f"CREATE TABLE own AS SELECT unnest([1, 2]) AS a; {text}")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, says)


@pytest.mark.parametrize("output", ["json", "csv"])
def test_a_pivot_has_rows(output: str) -> None:
    lance_sql.write({"id": [1, 2], "k": ["a", "b"]}, "p.lance")
    pivot = "PIVOT 'p.lance' ON k USING count(*) GROUP BY id ORDER BY id"
    expected = (
        '[{"id": 1, "a": 1, "b": 0},\n {"id": 2, "a": 0, "b": 1}]\n' if output == "json" else "id,a,b\n1,1,0\n2,0,1\n"
    )
    assert run(pivot, "-o", output).stdout == expected
    several = run(f"SELECT 5 AS x; {pivot}; CREATE TABLE own AS {pivot}; SELECT sum(a) AS y FROM own", "-o", "csv")
    assert several.exit_code == 0
    assert several.stdout.startswith("x\n5\nid,a,b\n1,1,0\n2,0,1\n")
    assert several.stdout.endswith("y\n1\n")
