"""Frequent mistakes and their messages: each names the intended word, or what to write."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main
from tests.documents import ROOT

T = "examples/orders.lance"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    shutil.copytree(ROOT / "examples" / "orders.lance", made / T)
    (made / "rows.parquet").touch()
    return made


@pytest.fixture(autouse=True)
def _in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


# a statement, and a part of what is said of it
STATEMENTS = [
    ("FROM 'examples/order.lance'", "(no such folder). Did you mean 'examples/orders.lance'?"),
    ("FROM 'example/orders.lance'", "Did you mean 'examples/orders.lance'?"),
    ("FROM 'examples/kunden.lance'", "(no such folder). Tables there: examples/orders.lance"),
    ("FROM 'rows.parqet'", "No file 'rows.parqet'. Did you mean 'rows.parquet'?"),
    ("FROM 'nothing.orc'", "No file 'nothing.orc': check the path and its suffix"),
    ("INSERT INTO 'new.lance' VALUES (1)", "To create it: CREATE TABLE 'new.lance' AS SELECT .."),
    (f"CREATE TABLE '{T}' AS SELECT 1 AS id", "use CREATE OR REPLACE TABLE, INSERT INTO, or another path"),
    (f"UPDATE '{T}' SET status = shipped WHERE id = 1", "Text has single quotes: 'shipped'"),
    (f"UPDATE '{T}' SET nothing = 1 WHERE id = 1", "No column 'nothing' in orders.lance version 9. Columns: id"),
    ("FROM orders", "A Lance table is a path in quotes, such as FROM 'orders.lance'"),
    (f"FROM {T}", f"A table is a path in quotes: '{T}'"),
    (f"FROM lance_versions({T})", f"A table is a path in quotes: '{T}'"),
    (f"FROM '{T}@99'", "Version 99 does not exist in orders.lance: versions 1 to 9 are available"),
    (f"FROM '{T}@0'", "Version 0 does not exist in orders.lance: versions 1 to 9 are available"),
    (f"FROM lance_scan('{T}', version := -20)", "versions 1 to 9 are available"),
    (f"FROM '{T}@audted'", "No tag 'audted' in orders.lance. Did you mean 'audited'?"),
    (f"FROM lance_scan('{T}', tag := 'audted')", "Did you mean 'audited'?"),
    (f"SELECT amont FROM '{T}'", "Did you mean 'amount'?"),
    (f"FROM '{T}' WHERE status = shipped", "Text has single quotes: 'shipped'"),
    (f"FROM '{T}' WHERE status = \"paid\"", "Text has single quotes: 'paid'"),
    ("nothing", "No verb 'nothing', and not SQL: 'lance-sql --help' lists the verbs"),
    (f"SELECT TOP 5 * FROM '{T}'", "TOP 5 is LIMIT 5 at the end of the query"),
    (f"SELECT TOP 5 * FROM '{T}'", f"  SELECT TOP 5 * FROM '{T}'\n             ^"),
    (f"SELECT status, count(*) FROM '{T}'", 'column "status" must appear in the GROUP BY clause'),
    (f"SELECT sum(status) FROM '{T}'", "No function matches the given name and argument types 'sum(VARCHAR)'"),
    (f"FROM lance_scan('{T}', verison := 3)", "No argument 'verison'. Did you mean 'version'?"),
    (f"FROM lance_scan('{T}', version := 'x')", "No tag 'x' in orders.lance. Tags: audited"),
    (f"FROM lance_changes('{T}', since := 'gestern')", "'gestern' is neither a tag of orders.lance nor a time"),
    (f"FROM lance_changes('{T}', mode := 'nett')", "mode='nett' is not one of 'all', 'net', 'insert_only'"),
    (f"FROM lance_changes('{T}', 6, 5)", "The range ends before it begins"),
    (f"FROM lance_version('{T}')", 'Did you mean "lance_versions"?'),
    (f"INSERT INTO '{T}' VALUES (1, 'x')", "2 columns for 7 columns of examples/orders.lance: name them"),
    ("OPTIMIZE 'examples/order.lance'", "Did you mean 'examples/orders.lance'?"),
    (f"FROM '{T}' AT (TIMESTAMP => now())", "takes constants"),
    (f"FROM '{T}' AT (TIMESTAMP => 'gestern')", "is not a time such as"),
    ("ATTACH 'examples' AS l (TYPE lance)", "a folder of them is a catalog with lance_sql.connect(catalog='lake')"),
    (f"COPY '{T}' TO 'x.lance' (FORMAT lanc)", "add (FORMAT lance)"),
    (f"CREATE INDEX ON '{T}' (id) USING btre", "btree"),
    (f"DELETE FROM '{T}'", "removes every row of examples/orders.lance: pass --all, or add WHERE true"),
    (f"UPDATE '{T}' SET status = 'x'", "changes every row of examples/orders.lance: pass --all, or add WHERE true"),
]  # fmt: skip

# what DuckDB 1.5 says in other words
STATEMENTS_OF_2_0 = [
    (f"FORM '{T}'", f"syntax error at or near \"FORM\"\n  FORM '{T}'\n  ^^^^"),
    (f"SELECT (1 FROM '{T}'", f"  SELECT (1 FROM '{T}'\n            ^^^^"),
    (f"FROM '{T}", "a quote that begins a text or a path has none that ends it"),
    (
        f"SELECT id\nFROM '{T}'\nWHERE amount > 'abc'",
        'Could not convert string "abc" to DECIMAL(10,2)\n  WHERE amount > \'abc\'\n                 ^^^^^',
    ),
    (f"FROM '{T}' WHERE created > '2026-13-01'", "out of range: \"2026-13-01\"\n  FROM"),
    (f"SELECT id FROM '{T}' a JOIN '{T}' b ON a.id = b.id", "(use: 'a.id' or 'b.id')"),
]  # fmt: skip

VERBS = [
    (("head", T, "--where", "amont > 3"), "No column 'amont' in orders.lance version 9. Closest: 'amount'"),
    (("versons", T), "No verb 'versons'. Did you mean 'versions'?"),
    (("log", T), "No verb 'log'. Pass SQL as one argument, in quotes."),
    (("SELECT", "1"), "No verb 'SELECT'. Pass SQL as one argument, in quotes."),
    (("SELECT 'caf\udce9'",), "The SQL is not UTF-8."),
    (("help", "nothing"), "No verb 'nothing'"),
    (("help", "histroy"), "Did you mean 'history'?"),
    (("delete", T), "Select rows: --where SQL, or --all."),
    (("update", T, "status=paid"), "Text needs quotes: \"'paid'\""),
    (
        ("merge", T, "SELECT 12345 AS id, 2.5 AS amount", "--on", "id"),
        "{'id': 12345} would be inserted: add the columns, or pass when_not_matched='ignore'"
        " (--when-not-matched ignore)",
    ),
    (("changes", T, "--htm", "x"), "Did you mean '--html'?"),
    (("history", T, "--html", "/nowhere/x.html"), "No folder '/nowhere' for the page '/nowhere/x.html'"),
    (("changes", T, "6", "5"), "The range ends before it begins: start is 6, end is 5 of orders.lance"),
    (("restore", T, "99", "--yes"), "versions 1 to 9 are available"),
    (("index", "create", T, "idd", "btree"), "No column 'idd' in orders.lance version 9. Closest: 'id'"),
    (("cleanup", T, "--older-than", "long"), "'long' is not an age such as 30d, 12h or 90m."),
    (("diff", T, "5", "99"), "Version 99 does not exist in orders.lance"),
    (("write", T, "SELECT 1 AS id"), "pass mode='append' or mode='overwrite' (--mode)"),
    (("write", T, "SELECT 1 AS nothing", "--mode", "append"), "Leave these columns out, or add them to the table"),
    (("write", "rows.parquet", "new.lance"), "TABLE comes first, then SOURCE: lance-sql write new.lance rows.parquet."),
    (("write", "rows.parquet"), "Missing argument 'SOURCE': main write [OPTIONS] TABLE SOURCE."),
    (("history", "rows.parquet"), "(it is a file). To write its rows to a table: lance-sql write new.lance"),
    (("cursors", T, "drop", "x", "y"), "Got unexpected extra arguments (x y): main cursors [OPTIONS] TABLE"),
    (("tag", T, "new", "99"), "versions 1 to 9 are available"),
    (("tag", T, "audited", "4", "--delete"), "Leave the version out"),
    (("changes", T, "--from", "5"), "Versions of a range are arguments, as in changes TABLE 5 6"),
    (("update", T, "--set", "amount=1"), "New values are arguments: update TABLE"),
    (("head", T, "--limit", "3"), "No such option '--limit': use '--rows'."),
    (("search", T, "x", "--limit", "3"), "No such option '--limit': use '-k'."),
    (("search", T, "x", "--where", "id > 3"), "No such option '--where': use '--filter'."),
    (("index", "create", T, "id", "btree", "--yes"), "No such option '--yes': this verb does not ask, leave it out."),
    (("index", T), "No such command 'examples/orders.lance': use create, drop, list, update."),
    (("merge", T, "SELECT 1 AS id"), "pass key columns (on=['id'], --on id)"),
    (("rules", T, "r", "amount >"), "Cannot read the filter 'amount >'"),
    (("check", T, "nothing"), "It has none: set_rule (lance-sql rules) adds one"),
    (("head", T, "--where", "nothing > 3"), "Columns: id, customer"),
    (("history", "s4://bucket/t.lance"), "use s3://, gs://, az:// or another protocol of fsspec"),
]


@pytest.mark.parametrize(
    ("statement", "message"), STATEMENTS if duckdb.__version__ < "2" else [*STATEMENTS, *STATEMENTS_OF_2_0]
)
def test_misspelt_statements_get_a_suggestion(statement: str, message: str) -> None:
    result = run("query", statement, "--yes")
    assert message in result.stderr
    assert result.exit_code in (2, 3)
    said, *excerpt = result.stderr.splitlines()
    assert said.startswith("Error: ")
    assert len(excerpt) in (0, 2)
    for raw in ("pg_", "LINE ", "Traceback", "Python exception", "\\n", "Candidate functions"):
        assert raw not in result.stderr


@pytest.mark.parametrize(("arguments", "message"), VERBS)
def test_misspelt_verbs_get_a_suggestion(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert message in result.stderr
    assert result.exit_code in (2, 3)
    assert len(result.stderr.splitlines()) == 1


def test_a_tag_takes_a_version() -> None:
    result = run("tag", T, "fourth", "4")
    assert (result.exit_code, lance_sql.open(T, tag="fourth").version) == (0, 4)
    assert run("tag", T, "fourth", "5", "--move", "--yes").exit_code == 0
    assert lance_sql.open(T, tag="fourth").version == 5
    assert run("tag", T, "fourth", "--delete", "--yes").exit_code == 0


def test_errors_far_to_the_right_are_visible() -> None:
    result = run("query", "SELECT " + " + ".join(["1"] * 200) + " + * 5 FROM range(3)")
    _, line, mark = result.stderr.splitlines()
    assert len(line) <= 102
    assert line[mark.index("^") :].startswith("5 FROM range")


def test_rows_of_known_keys_need_no_other_columns() -> None:
    table = lance_sql.open(T)
    changed = table.merge({"id": [1], "amount": [5]}, on="id")
    assert changed.to_table(filter="id = 1")["amount"].to_pylist() == [5]
    assert (
        changed.to_table(filter="id = 1")["customer"].to_pylist()
        == table.to_table(filter="id = 1")["customer"].to_pylist()
    )
