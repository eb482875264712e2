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


def test_modes(connection: Any, capsys: pytest.CaptureFixture[str]) -> None:
    typed(
        connection,
        ".mode line\rSELECT 1 AS id, NULL AS long_name UNION ALL SELECT 2, 'a\tb' ORDER BY id;\r"
        ".mode box\rSELECT 7 AS n;\r.mode json\rSELECT 7 AS n;\r.mode csv\rSELECT 7 AS n;\r.mode wide\r\x04",
    )
    out, err = capsys.readouterr()
    lines = "       id = 1\nlong_name = NULL\n\n       id = 2\nlong_name = "
    assert out.startswith(lines)
    assert "│     7 │" in out
    assert out.endswith('[{"n": 7}]\nn\n7\n')
    assert ".mode takes one of table, box, line, json, csv, markdown" in err


def test_the_time_is_hidden(connection: Any, capsys: pytest.CaptureFixture[str]) -> None:
    typed(connection, ".timer off\rSELECT 1;\r.timer on\rSELECT 2;\r.timer\r\x04")
    _, err = capsys.readouterr()
    assert err.count(" s\n") == 1
    assert ".timer takes on or off" in err


@pytest.mark.parametrize("name", ["out.csv", "my out.csv", "'my out.csv'"])
def test_one_result_goes_to_a_file(connection: Any, capsys: pytest.CaptureFixture[str], name: str) -> None:
    file = Path(name.strip("'"))
    file.write_text("before")
    typed(connection, f".mode csv\r.once {name}\rSELECT nothing;\r\x04")
    assert file.read_text() == "before"
    typed(connection, f".mode csv\r.rows 1\r.once {name}\rSELECT nothing;\rFROM range(60);\rSELECT 5 AS n;\r\x04")
    assert file.read_text() == "range\n" + "".join(f"{i}\n" for i in range(60))
    out, err = capsys.readouterr()
    assert out == "n\n5\n"
    assert f"Wrote {file}" in err
    assert [each.name for each in Path().iterdir() if each.name.endswith(".new")] == []


def test_a_file_is_read(connection: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.sql").write_text(
        ".mode csv\nSELECT count(*) AS n\nFROM 'orders.lance'; -- done\n\nSELECT 'x;' AS s;\n.read b.sql\n"
    )
    Path("b.sql").write_text("SELECT 3 AS last")
    Path("loop.sql").write_text(".read loop.sql\n")
    Path("end.sql").write_text("SELECT 4 AS four;\n.quit\nSELECT 5 AS five;\n")
    typed(
        connection,
        ".read a.sql\r.read loop.sql\r.read nosuch.sql\r.read\r.once no/such.csv\rSELECT 1;\r.read end.sql\r",
    )
    out, err = capsys.readouterr()
    assert out == "n\n2\ns\nx;\nlast\n3\nfour\n4\n"
    assert "'loop.sql' is read by itself" in err
    assert "'nosuch.sql' cannot be read: No such file" in err
    assert ".read takes a file" in err
    assert "'no/such.csv' cannot be written" in err
    assert "Traceback" not in err


def test_tables_are_listed_alike(connection: Any, capsys: pytest.CaptureFixture[str]) -> None:
    typed(connection, "CREATE TABLE own (a int);\r.tables\r\x04")
    listed = capsys.readouterr().out
    assert "orders" in listed
    assert "own" in listed
    typed(connection, "show  Tables;\r\x04")
    assert capsys.readouterr().out == listed
