"""Statements from the argument, from stdin, and several; tables fitted to a terminal; words that are nearly verbs."""

from __future__ import annotations

import io
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

import lance_sql
from lance_sql.cli import main, progress
from lance_sql.cli.formats import write
from lance_sql.values.text_table import fit_columns


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lance_sql.write({"id": [1, 2, 3]}, "t.lance")
    return tmp_path


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin)


def test_sql_comes_from_stdin(folder: Path) -> None:
    assert run(stdin="SELECT count(*) AS n FROM 't.lance'").stdout == "n\n-\n3\n"
    assert run("query", "-o", "json", stdin="SELECT 1 AS a;").stdout == '[{"a": 1}]\n'
    assert "Look:" in run(stdin="").stdout


def test_several_statements_are_shown_in_turn(folder: Path) -> None:
    result = run("CREATE TABLE x AS FROM 't.lance'; SELECT max(id) AS m FROM x; SELECT 7 AS seven")
    assert result.stdout == "m\n-\n3\nseven\n-----\n    7\n"


def test_nothing_is_run_of_what_cannot_be_parsed(folder: Path) -> None:
    result = run("COPY (SELECT 1) TO 'out.csv'; SELEC 1")
    assert (result.exit_code, (folder / "out.csv").exists()) == (2, False)


def test_arrow_holds_one_table(folder: Path) -> None:
    result = run("SELECT 1; SELECT 2", "-o", "arrow")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the results of 2 statements" in result.stderr


def test_rows_are_capped_and_counted(folder: Path) -> None:
    assert run("FROM range(5)", "--max-rows", "2").stdout == "range\n-----\n    0\n    1\n... 3 more rows\n"
    assert run("FROM range(50)").stdout.count("\n") == 52


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("histroy", "Did you mean 'history'?"),
        ("VERIFY", "Did you mean 'verify'?"),
        ("discribe", "Did you mean 'describe'?"),
        ("t.lance", "lance-sql describe t.lance"),
        ("no.lance", "Add a verb for no.lance"),
    ],
)
def test_misspelt_verbs_are_mistakes(folder: Path, word: str, hint: str) -> None:
    result = run(word)
    assert (result.exit_code, hint in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize("arguments", [["-f", "latin.sql"], ["query", "-f", "latin.sql"]])
def test_a_file_that_is_not_utf_8_is_named(folder: Path, arguments: list[str]) -> None:
    Path("latin.sql").write_bytes("SELECT 'é'".encode("latin-1"))
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: The SQL is not UTF-8: latin.sql, byte 8.")


def test_one_word_may_be_sql(folder: Path) -> None:
    assert run("CHECKPOINT").exit_code == 0


def shown(table: pa.Table, width: int, max_rows: int | None = None) -> list[str]:
    stream = io.StringIO()
    write(table.to_reader(), "table", stream, boxes=True, width=width, max_rows=max_rows)
    return stream.getvalue().splitlines()


def test_columns_are_narrowed_then_left_out() -> None:
    table = pa.table({"id": [1], "text": ["x" * 100], "other": ["y" * 30]})
    lines = shown(table, 40)
    assert {len(line) for line in lines[:-1]} == {40}
    assert "…" in lines[3]
    many = pa.table({f"column {number}": [number] for number in range(30)})
    lines = shown(many, 60)
    assert max(map(len, lines)) <= 60
    assert "column 0" in lines[1]
    assert "column …" in lines[1] or "column 29" in lines[1]
    assert "of 30 columns left out)" in lines[-1]


def test_rows_on_a_terminal_are_capped_with_a_count() -> None:
    lines = shown(pa.table({"n": range(1000)}), 80, max_rows=3)
    assert lines[-1] == "1,000 rows (3 shown)"
    endless = (pa.record_batch({"n": range(400_000)}) for _ in iter(int, 1))
    reader = pa.RecordBatchReader.from_batches(pa.schema([("n", pa.int64())]), endless)
    stream = io.StringIO()
    write(reader, "table", stream, boxes=True, width=80, max_rows=2)
    assert stream.getvalue().splitlines()[-1] == "More than 1,200,000 rows (2 shown)"


@example([0, 0, 0, 0, 0], 20)
@example([0, 0, 0, 5], 20)
@given(st.lists(st.integers(0, 200), min_size=1, max_size=40), st.integers(20, 300))
def test_a_table_fits(widths: list[int], room: int) -> None:
    columns, chosen = fit_columns(widths, room)
    assert len(columns) == len(chosen) >= 1
    assert columns == sorted(set(columns))
    taken = 1 + sum(width + 3 for width in chosen) + (4 if len(columns) < len(widths) else 0)
    assert taken <= max(room, 10)
    assert all(width <= max(widths[column], 1) for column, width in zip(columns, chosen, strict=True))
    wanted = [max(width, 1) for width in widths]
    if sum(wanted) + 3 * len(widths) + 1 <= room:
        assert columns == list(range(len(widths)))
        assert chosen == wanted


def test_progress_shows_time_and_rows() -> None:
    connection = duckdb.connect()
    watch = progress.Watch(connection, hidden=False)
    assert watch.line().startswith("running for 0 s")
    watch._hidden = False
    reader = pa.table({"n": range(10)}).to_reader(max_chunksize=5)
    assert watch.count(reader).read_all().num_rows == 10
    assert "10 rows" in watch.line()
    hidden = progress.Watch(connection, hidden=True)
    hidden.start()
    assert hidden._thread is None
    hidden.stop()
