"""The shell: input, completion and history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

import lance_sql
from lance_sql.cli import shell
from lance_sql.cli.completion import SqlCompleter


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lance_sql.write({"id": [1, 2], "customer": ["Ada", "Borgo"]}, "orders.lance")
    (tmp_path / "folder").mkdir()
    (tmp_path / "others.csv").write_text("a\n1\n")
    made = lance_sql.connect()
    yield made
    made.close()


def typed(connection: Any, text: str) -> None:
    with create_pipe_input() as keys:
        keys.send_text(text)
        shell.run(shell.session(connection, keys, DummyOutput()), shell.Shell(connection))


def test_statements_are_run_and_timed(connection: Any, capsys: pytest.CaptureFixture[str]) -> None:
    typed(connection, "SELECT count(*) AS n\rFROM 'orders.lance';\rSELECT 1 AS a; SELECT 2 AS b;\r\x04")
    out, err = capsys.readouterr()
    assert out == "n\n-\n2\na\n-\n1\nb\n-\n2\n"
    assert err.count(" s\n") == 2


def test_a_mistake_is_a_line_and_not_the_end(connection: Any, capsys: pytest.CaptureFixture[str]) -> None:
    typed(connection, "FROM 'order.lance';\rSELECT nothing;\r.rows many\r.what\rSELECT 'still; here' AS x;\r.quit\r")
    out, err = capsys.readouterr()
    assert "No Lance table at 'order.lance'" in err
    assert "nothing" in err
    assert ".rows takes a number" in err
    assert ".what is not a command" in err
    assert "Traceback" not in err
    assert "still; here" in out


def test_output_and_rows_are_chosen(connection: Any, capsys: pytest.CaptureFixture[str]) -> None:
    typed(connection, ".output csv\rFROM range(3);\r.output table\r.rows 1\rFROM range(3);\r.help\r\x04")
    out, _ = capsys.readouterr()
    assert "range\n0\n1\n2\n" in out
    assert "... 2 more rows" in out
    assert "Statements end with a semicolon" in out


def test_a_connection_keeps_what_was_made(connection: Any, capsys: pytest.CaptureFixture[str]) -> None:
    typed(connection, "CREATE TABLE t AS FROM 'orders.lance';\rSELECT sum(id) AS s FROM t;\r\x04")
    assert "s\n-\n3\n" in capsys.readouterr().out


def test_the_shell_remembers_its_history(connection: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed(connection, "SELECT 42 AS answer;\r\x04")
    path = tmp_path / "state" / "lance-sql" / "history"
    assert "SELECT 42 AS answer;" in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    typed(connection, "\x1b[A\r\x04")
    assert capsys.readouterr().out.count("42") == 2


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", True),
        (".help", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 'a;", False),
        ("SELECT 1 +;", True),
        ("SELECT 1; SELECT 2", False),
    ],
)
def test_a_statement_ends_with_a_semicolon(connection: Any, text: str, whole: bool) -> None:
    assert shell.is_whole(text, connection) == whole


def completions(connection: Any, text: str) -> list[str]:
    found = SqlCompleter(connection).get_completions(Document(text), CompleteEvent())
    return [each.text for each in found]


def test_paths_are_completed_in_quotes(connection: Any) -> None:
    assert completions(connection, "FROM 'o") == ["orders.lance'", "others.csv'"]
    assert completions(connection, "FROM 'fo") == ["folder/"]
    assert completions(connection, "FROM 'no/such/") == []


def test_a_quote_that_is_there_is_not_doubled(connection: Any) -> None:
    document = Document("FROM 'o' LIMIT 1", cursor_position=len("FROM 'o"))
    found = [each.text for each in SqlCompleter(connection).get_completions(document, CompleteEvent())]
    assert found == ["orders.lance", "others.csv"]


def test_verbs_of_the_command_line_are_commands(connection: Any, capsys: pytest.CaptureFixture[str]) -> None:
    typed(
        connection,
        ".history orders.lance -o csv\rversions 'orders.lance' -o csv\r.diff orders.lance 1 9\r.history 'open\r"
        ".verify orders.lance\r.update orders.lance customer=x\rSELECT 7 AS still;\r\x04",
    )
    out, err = capsys.readouterr()
    assert out.count("version,") == 2
    assert "Version 9 does not exist in orders.lance" in err
    assert "Text needs quotes" in err
    assert "No closing quotation" in err
    assert "no damage found" in out
    assert "still" in out


def test_words_that_begin_statements_are_statements(connection: Any) -> None:
    for word in ("update", "delete", "merge", "describe", "restore"):
        assert not shell.is_whole(f"{word} 'orders.lance'", connection), word
        assert shell.is_whole(f".{word} 'orders.lance'", connection), word
    assert shell.is_whole("history 'orders.lance'", connection)


def test_verbs_and_their_tables_are_completed(connection: Any) -> None:
    completer = SqlCompleter(connection, shell.verbs())

    def found(text: str) -> list[str]:
        return [each.text for each in completer.get_completions(Document(text), CompleteEvent())]

    assert found(".row-") == [".row-history"]
    assert found(".history or") == ["orders.lance"]
    assert found(".schema or") == ["orders.lance"]


def test_columns_of_named_tables_are_completed(connection: Any) -> None:
    document = Document("SELECT cu FROM 'orders.lance'", cursor_position=len("SELECT cu"))
    found = [each.text for each in SqlCompleter(connection).get_completions(document, CompleteEvent())]
    assert found[0] == "customer"
    assert completions(connection, "FROM lance_scan('orders.lance') WHERE _row_cr") == ["_row_created_at_version"]
    assert completions(connection, "FROM 'none.lance' WHERE customerx") == []


def test_functions_words_and_commands_are_completed(connection: Any) -> None:
    assert "lance_scan" in completions(connection, "FROM lance_s")
    assert "regexp_matches" in completions(connection, "SELECT regexp_m")
    assert completions(connection, "sel")[0] == "SELECT"
    assert completions(connection, ".ou") == [".output"]


def test_hostile_tables_do_not_stop_completion(connection: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.lance" / "_versions").mkdir(parents=True)
    (tmp_path / "bad.lance" / "_versions" / "1.manifest").write_bytes(b"\xff" * 50)
    assert completions(connection, "FROM 'bad.lance' WHERE ids") == []
