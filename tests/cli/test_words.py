"""Words that users try in the command line and the shell: plans, errors, help, notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main, screen
from lance_sql.cli.shell import Shell, is_whole


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lance_sql.write({"id": [1, 2, 3], "status": ["open", "paid", "<b>"]}, "t.lance")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_a_plan_is_shown_as_it_is_drawn() -> None:
    result = run("EXPLAIN SELECT id FROM 't.lance' VERSION AS OF 1")
    assert "\\n" not in result.stdout
    assert "explain_key" not in result.stdout
    assert any(line.startswith(("╭", "┌")) for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "FROM orders",
            "Table with name orders does not exist! A Lance table is a path in quotes, such as FROM 'orders.lance'",
        ),
        ("FROM 't.lance' WHERE status = shipped", "Text has single quotes: 'shipped'"),
        (
            "SELECT id FORM 't.lance'",
            "syntax error at or near \"'t.lance'\"\n  SELECT id FORM 't.lance'\n                 ^"
            + ("^^^^^^^^" if duckdb.__version__ >= "2" else "\n"),
        ),
    ],
)
def test_errors_of_duckdb_have_a_place_and_a_suggestion(text: str, message: str) -> None:
    result = run(text)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "pg_" not in result.stderr
    assert len(result.stderr.splitlines()) in (1, 3)


def test_help_is_a_word_and_groups_verbs() -> None:
    help = run("help").stdout
    assert help == run("--help").stdout
    titles = [line for line in help.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles[-5:] == ["Look:", "Changes:", "Write:", "Maintain:", "Repair:"] or "More:" in titles
    assert all(f"  {name} " in help for name in main.commands)
    assert not [line for line in help.splitlines() if line.startswith("  ") and line.endswith("...")]
    assert run("help", "compact").stdout == run("compact", "--help").stdout


def test_history_shows_seconds_and_what_changed_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "width", lambda: 80)
    lines = run("history", "t.lance").stdout.splitlines()
    assert lines[0].split()[:6] == ["version", "timestamp", "operation", "inserted", "updated", "deleted"]
    assert "." not in lines[2].split()[1]


def test_the_shell_takes_words_of_other_shells(capsys: pytest.CaptureFixture[str]) -> None:
    connection = lance_sql.connect()
    shell = Shell(connection)
    for typed in ("help", ".mode csv", ".schema t.lance", ".tables", ".schema"):
        assert is_whole(typed, connection)
        assert shell.run(typed)
    out, err = capsys.readouterr()
    assert "Statements end with a semicolon" in out
    assert "id,BIGINT" in out
    assert f"t,{Path.cwd()}/t.lance" in out
    assert ".schema takes a table" in err
    assert not any(shell.run(typed) for typed in ("quit", "exit", "quit;", ".quit"))


def test_rows_of_a_statement_are_shown_in_a_notebook() -> None:
    rows: Any = lance_sql.sql("SELECT * FROM 't.lance' ORDER BY id")
    shown = rows._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "open" in shown
    assert "The first" not in shown
    many: Any = lance_sql.sql("SELECT * FROM range(1000)")
    assert "The first 20 rows" in many._repr_html_()
    assert "19</td>" in many._repr_html_()
    assert "20</td>" not in many._repr_html_()
    done: Any = lance_sql.sql("INSERT INTO 't.lance' VALUES (4, 'x')")
    assert "insert" in done._repr_html_()
