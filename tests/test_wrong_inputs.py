"""Wrong input and its one-line message, in each interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from datafusion import SessionContext

import lance_sql
from lance_sql.cli import main
from lance_sql.errors import LanceError


@dataclass(frozen=True)
class Wrong:
    """A mistake.

    says: what is said everywhere
    python: a call; cli: arguments of `lance-sql`; sql: a query in DuckDB, by `lance-sql`; datafusion: a query there
    """

    name: str
    says: str
    python: Callable[[], Any] | None = None
    cli: tuple[str, ...] = ()
    sql: str = ""
    datafusion: str = ""


def orders() -> lance_sql.Dataset:
    return lance_sql.open("orders.lance")


def plain() -> lance_sql.Dataset:
    return lance_sql.open("plain.lance")


WRONG = [
    Wrong(
        "a name with a letter missing",
        "Did you mean 'orders.lance'?",
        lambda: lance_sql.open("ordrs.lance"),
        ("head", "ordrs.lance"),
        "FROM 'ordrs.lance'",
        "SELECT * FROM lance_scan('ordrs.lance')",
    ),
    Wrong(
        "a file that is no table",
        "No Lance table at 'notes.txt' (it is a file)",
        lambda: lance_sql.open("notes.txt"),
        ("describe", "notes.txt"),
        "FROM lance_scan('notes.txt')",
        "SELECT * FROM lance_scan('notes.txt')",
    ),
    Wrong(
        "a folder that is no table",
        "No Lance table at 'empty' (no _versions directory)",
        lambda: lance_sql.open("empty"),
        ("versions", "empty"),
        "FROM lance_scan('empty')",
        "SELECT * FROM lance_scan('empty')",
    ),
    Wrong(
        "a version that is yet to come",
        "Version 99 does not exist in orders.lance: versions 1 to 3 are available",
        lambda: lance_sql.open("orders.lance", version=99),
        ("head", "orders.lance@99"),
        "FROM lance_scan('orders.lance', version := 99)",
        "SELECT * FROM lance_scan('orders.lance', 99)",
    ),
    Wrong(
        "version 0",
        "Version 0 does not exist in orders.lance: versions 1 to 3 are available",
        lambda: lance_sql.open("orders.lance", version=0),
        ("restore", "orders.lance@0", "--yes"),
        "FROM 'orders.lance@0'",
        "SELECT * FROM lance_scan('orders.lance', 0)",
    ),
    Wrong(
        "a tag with a letter missing",
        "No tag 'audted' in orders.lance. Did you mean 'audited'?",
        lambda: lance_sql.open("orders.lance", tag="audted"),
        ("head", "orders.lance@audted"),
        "FROM lance_scan('orders.lance', tag := 'audted')",
        "SELECT * FROM lance_scan('orders.lance', 'audted')",
    ),
    Wrong(
        "a branch that there is not",
        "No branch 'dev' in orders.lance. It has no branches",
        lambda: lance_sql.open("orders.lance", branch="dev"),
        ("verify", "orders.lance", "--branch", "dev"),
        "FROM lance_scan('orders.lance', branch := 'dev')",
    ),
    Wrong(
        "a time in words",
        "'gestern' is not a time such as '20",
        lambda: lance_sql.open("orders.lance", as_of="gestern"),
        (),
        "FROM lance_scan('orders.lance', as_of := 'gestern')",
        "SELECT * FROM lance_scan('orders.lance', NULL, 'gestern')",
    ),
    Wrong(
        "a time before the table",
        "orders.lance did not exist at 1999-01-01T00:00:00+00:00: version 1 was committed later",
        lambda: lance_sql.open("orders.lance", as_of="1999-01-01"),
        (),
        "FROM lance_scan('orders.lance', as_of := '1999-01-01')",
        "SELECT * FROM lance_scan('orders.lance', NULL, '1999-01-01')",
    ),
    Wrong(
        "a version and a tag",
        "Pass one of version, tag and as_of, not version and tag",
        lambda: lance_sql.open("orders.lance", version=1, tag="audited"),
        (),
        "FROM lance_scan('orders.lance', version := 1, tag := 'audited')",
    ),
    Wrong(
        "a column with a letter missing",
        "No column 'nme' in orders.lance version 3. Closest: 'name'",
        lambda: orders().scan(["nme"]),
        ("head", "orders.lance", "--columns", "nme"),
    ),
    Wrong("the same in SQL", "nme", sql="SELECT nme FROM 'orders.lance'", datafusion="SELECT nme FROM orders"),
    Wrong(
        "a filter on a column with a letter missing",
        "No column 'nme' in orders.lance version 3. Closest: 'name'",
        lambda: orders().count_rows("nme = 'x'"),
        ("delete", "orders.lance", "--where", "nme = 'x'", "--yes"),
        "FROM lance_scan('orders.lance', filter := 'nme = 1')",
    ),
    Wrong(
        "half a filter",
        "Cannot read the filter 'id = ': something is missing at column 4",
        lambda: orders().count_rows("id = "),
        ("changes", "orders.lance", "--where", "id = "),
        "FROM lance_scan('orders.lance', filter := 'id = ')",
    ),
    Wrong(
        "an empty filter",
        "The filter is empty",
        lambda: orders().delete(""),
        ("delete", "orders.lance", "--where", "", "--yes"),
    ),
    Wrong(
        "a filter of two types",
        "Cannot compare column 'id' (int64) with 'seven'",
        lambda: orders().count_rows("id = 'seven'"),
        ("explain", "orders.lance", "id = 'seven'"),
        "FROM lance_scan('orders.lance', filter := 'id = ''seven''')",
    ),
    Wrong(
        "a function that filters do not have",
        "Function 'soundex' is not supported in a filter: SOUNDEX(name)",
        lambda: orders().count_rows("soundex(name) = 'x'"),
        ("explain", "orders.lance", "soundex(name) = 'x'"),
    ),
    Wrong("columns as one text", "pass a list of names", lambda: orders().scan("id,name")),
    Wrong("a negative limit", "limit=-1 must be at least 0", lambda: orders().scan(limit=-1)),
    Wrong("a row that is gone", "has no rows with the row ids 99", lambda: orders().take([99])),
    Wrong(
        "deleting without saying what",
        "Select rows: --where SQL, or --all. See 'lance-sql delete --help'.",
        cli=("delete", "orders.lance"),
    ),
    Wrong(
        "deleting where nobody can be asked",
        "No terminal to ask for confirmation: pass --yes to delete 1 of 9 rows of orders.lance version 3,"
        " or --dry-run.",
        cli=("delete", "orders.lance", "--where", "id = 1"),
    ),
    Wrong(
        "setting a column that there is not",
        "No column 'nme' in orders.lance version 3. Closest: 'name'",
        lambda: orders().update({"nme": "'x'"}, "true"),
        ("update", "orders.lance", "nme='x'", "--where", "id = 1", "--yes"),
    ),
    Wrong(
        "a value that does not fit",
        "column 'id' does not fit its type int64",
        lambda: orders().update({"id": "'a'"}, "id = 1"),
        ("update", "orders.lance", "id='a'", "--where", "id = 1", "--yes"),
    ),
    Wrong(
        "half an expression",
        "'id +' is not an SQL expression: something is missing at column 4",
        lambda: orders().update({"id": "id +"}, "id = 1"),
        ("update", "orders.lance", "id=id +", "--where", "id = 1", "--yes"),
    ),
    Wrong(
        "a merge with a column that there is not",
        "nme: no such column, did you mean 'name'?",
        lambda: orders().merge({"id": [1], "nme": ["x"]}, on="id"),
        ("merge", "orders.lance", "SELECT 1 AS id, 'x' AS nme", "--on", "id", "--yes"),
    ),
    Wrong(
        "a merge without its key",
        "The source has no key column 'id'; its columns: name",
        lambda: orders().merge({"name": ["x"]}, on="id"),
        ("merge", "orders.lance", "SELECT 'x' AS name", "--on", "id", "--yes"),
    ),
    Wrong(
        "a merge that is not clear",
        "Two rows of the source match one row of orders.lance: {'id': 1}",
        lambda: orders().merge({"id": [1, 1], "name": ["x", "y"]}, on="id"),
        ("merge", "orders.lance", "SELECT 1 AS id, unnest(['x', 'y']) AS name", "--on", "id", "--yes"),
    ),
    Wrong(
        "a table that is there already",
        "Table 'orders.lance' exists already, at version 3: pass mode='append' or mode=",
        lambda: lance_sql.write({"id": [1]}, "orders.lance"),
        ("write", "orders.lance", "SELECT 1 AS id"),
    ),
    Wrong(
        "rows of another type",
        "Column 'id', row 0: 'a' does not fit int64",
        lambda: lance_sql.write({"id": ["a"]}, "orders.lance", mode="append"),
    ),
    Wrong(
        "rows with another column",
        "The rows do not fit orders.lance: other: no such column",
        lambda: lance_sql.write({"id": [1], "other": [1]}, "orders.lance", mode="append"),
        ("write", "orders.lance", "SELECT 1 AS id, 1 AS other", "--mode", "append"),
    ),
    Wrong(
        "rows with system columns",
        "The column name '_rowid' is reserved: leave the column out, as lance_table(...)",
        lambda: lance_sql.write({"id": [1], "_rowid": [3]}, "new.lance"),
        ("write", "new.lance", "SELECT id, _rowid FROM lance_scan('orders.lance')"),
    ),
    Wrong("no rows at all", "Cannot read rows from 'int': pass an Arrow table", lambda: lance_sql.write(42, "n.lance")),
    Wrong("a mode with a letter missing", "mode='apend' is not one of", lambda: lance_sql.write({}, "n", mode="apend")),  # type: ignore[arg-type]  # wrong on purpose
    Wrong(
        "a file version that is not written",
        "Data files of version '3.0' cannot be written: pass 2.0, 2.1, 2.2",
        lambda: lance_sql.write({"id": [1]}, "new.lance", file_version="3.0"),
    ),
    Wrong(
        "a mode of the feed",
        "mode='nett' is not one of 'all', 'net', 'insert_only'",
        lambda: orders().changes(mode="nett"),  # type: ignore[arg-type]  # wrong on purpose
        (),
        "FROM lance_changes('orders.lance', 1, mode := 'nett')",
        "SELECT * FROM lance_changes('orders.lance', 1, 3, NULL, 'nett')",
    ),
    Wrong(
        "changes of a table that does not record them",
        "plain.lance was created without stable row ids",
        lambda: plain().changes(1),
        ("changes", "plain.lance"),
        "FROM lance_changes('plain.lance', 1)",
        "SELECT * FROM lance_changes('plain.lance', 1)",
    ),
    Wrong(
        "row history of a table that has none",
        "enable stable row ids from now on with maintenance.enable_stable_row_ids()",
        lambda: plain().scan(["_row_created_at_version"]),
        ("head", "plain.lance", "--columns", "_row_created_at_version"),
    ),
    Wrong(
        "a tag that there is",
        "Tag 'audited' exists already: choose another name, or move it with move_tag (--move)",
        lambda: orders().tags.create("audited"),
        ("tag", "orders.lance", "audited"),
    ),
    Wrong(
        "removing a tag that there is not",
        "No tag 'nope' in orders.lance. Tags: audited",
        lambda: orders().tags.delete("nope"),
        ("tag", "orders.lance", "nope", "--delete", "--yes"),
    ),
    Wrong(
        "a name that no tag can have",
        "'a b' cannot be the name of a tag: use letters, digits",
        lambda: orders().tags.create("a b"),
        ("tag", "orders.lance", "a b"),
    ),
    Wrong(
        "an index of a kind that there is not",
        "zonemap, btree, bitmap, bloomfilter",
        lambda: orders().indices.create("id", "hash"),
    ),
    Wrong(
        "an index that there is not",
        "orders.lance has no index 'nope'; it has none",
        lambda: orders().indices.drop("nope"),
    ),
    Wrong("a name that is taken", "have the same name", lambda: orders().rename_columns({"id": "name"})),
    Wrong("no column left", "orders.lance would have no column left", lambda: orders().drop_columns(["id", "name"])),
    Wrong(
        "an age in words",
        "'soon' is not an age such as 30d, 12h or 90m",
        lambda: orders().maintenance.cleanup(older_than="soon"),
        ("cleanup", "orders.lance", "--older-than", "soon"),
    ),
    Wrong(
        "tables whose rows nobody knows to be the same",
        "pass the columns that identify a row, such as key=['id'] (--key id)",
        lambda: lance_sql.diff("orders.lance@1", "plain.lance"),
        ("diff", "orders.lance@1", "plain.lance"),
    ),
    Wrong(
        "a verb with two letters swapped",
        "Did you mean 'history'? See 'lance-sql --help'.",
        cli=("histroy", "orders.lance"),
    ),
    Wrong("a path and no verb", "Add a verb for orders.lance: lance-sql describe orders.lance", cli=("orders.lance",)),
    Wrong(
        "a tag that is a number",
        "No tag '3' in orders.lance. Tags: audited",
        sql="FROM lance_scan('orders.lance', tag := 3)",
    ),
    Wrong(
        "a version that is a name",
        "No tag 'audted' in orders.lance. Did you mean 'audited'?",
        sql="FROM lance_versions('orders.lance', version := 'audted')",
    ),
    Wrong(
        "a path that is a number",
        "A table path must be a string, not 3",
        sql="FROM lance_scan(3)",
    ),
    Wrong(
        "a key that is a number",
        "key=3 is not a column name: pass a name, or a list of names",
        lambda: orders().changes(key=3),  # type: ignore[arg-type]  # wrong on purpose
        (),
        "FROM lance_changes('orders.lance', key := 3)",
    ),
    Wrong(
        "no table",
        "Missing argument 'TABLE': lance-sql head [OPTIONS] TABLE. See 'lance-sql head --help'.",
        cli=("head",),
    ),
    Wrong("an option with a letter missing", "No such option '--limt'", cli=("head", "orders.lance", "--limt", "3")),
    Wrong("a format that there is not", "'xml' is not one of 'table', 'json'", cli=("SELECT 1", "--output", "xml")),
    Wrong("SQL with a letter missing", 'syntax error at or near "SELEC"', sql="SELEC 1"),
    Wrong(
        "an argument with letters swapped",
        "Did you mean 'version'?",
        sql="FROM lance_scan('orders.lance', versoin := 1)",
    ),
    Wrong(
        "a store that there is not",
        "Protocol not known: ftpp",
        lambda: lance_sql.open("ftpp://x/y.lance"),
        ("head", "ftpp://x/y.lance"),
    ),
    Wrong(
        "an option of a store with a letter missing",
        "'acess_key_id'",
        lambda: lance_sql.open("s3://bucket/x.lance", storage_options={"acess_key_id": "x"}),
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    table = lance_sql.write(
        {"id": range(10), "name": [f"row {number}" for number in range(10)]}, folder / "orders.lance"
    )
    table.update({"name": "'x'"}, "id < 3").tags.create("audited")
    table.latest().delete("id = 9")
    lance_sql.write({"id": [1, 2]}, folder / "plain.lance", stable_row_ids=False)
    (folder / "notes.txt").write_text("no table")
    (folder / "empty").mkdir()
    return folder


@pytest.fixture(autouse=True)
def nothing_happens(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*.manifest"))
    yield
    assert sorted(folder.rglob("*.manifest")) == before


def given(surface: str) -> pytest.MarkDecorator:
    cases = [wrong for wrong in WRONG if getattr(wrong, surface)]
    return pytest.mark.parametrize("wrong", cases, ids=lambda wrong: wrong.name)


def test_there_are_forty_and_each_is_tried_somewhere() -> None:
    assert len({wrong.name for wrong in WRONG}) == len(WRONG) >= 40
    assert all(wrong.python or wrong.cli or wrong.sql for wrong in WRONG)


@given("python")
def test_in_python(wrong: Wrong) -> None:
    assert wrong.python is not None
    with pytest.raises(LanceError) as raised:
        wrong.python()
    assert wrong.says in str(raised.value)
    assert "\n" not in str(raised.value)


def check_line(arguments: tuple[str, ...], says: str) -> None:
    result = CliRunner().invoke(main, list(arguments), prog_name="lance-sql")
    assert result.exit_code in (2, 3), result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    if len(lines) > 2 and not lines[-1].strip(" ^"):
        # the statement, and where in it
        *lines, _, _ = lines
    # a verb with --yes says before it what it is about to do
    *announced, line = lines
    assert len(announced) <= ("--yes" in arguments)
    assert line.startswith("Error: ")
    assert says in line
    assert click.unstyle(line) == line


@given("cli")
def test_on_the_command_line(wrong: Wrong) -> None:
    check_line(wrong.cli, wrong.says)


@given("sql")
def test_in_sql(wrong: Wrong) -> None:
    check_line((wrong.sql,), wrong.says)


@given("datafusion")
def test_in_datafusion(wrong: Wrong) -> None:
    context = lance_sql.register(SessionContext())
    lance_sql.register(context, "orders", "orders.lance")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - the type is DataFusion's
        context.sql(wrong.datafusion).collect()
    assert wrong.says in str(raised.value)
