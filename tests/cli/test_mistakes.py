"""Frequent mistakes and their messages: each names the intended word, or what to write."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    (made / "plain.txt").write_text("x")
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
    ("INSERT INTO 'examples/order.lance' VALUES (1)", "Did you mean 'examples/orders.lance'? To create it: CREATE"),
    (f"DROP MATERIALIZED VIEW '{T}'", "is a table, not a materialized view: use DROP TABLE"),
    (f"REFRESH MATERIALIZED VIEW '{T}'", "is not a materialized view"),
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
    (f"FROM lance_scan('{T}', version := 'x')", "No tag or branch 'x' in orders.lance. Tags: audited"),
    (f"FROM lance_changes('{T}', since := 'gestern')", "'gestern' is neither a tag of orders.lance nor a time"),
    (f"FROM lance_changes('{T}', mode := 'nett')", "mode='nett' is not one of 'all', 'net', 'insert_only'"),
    (f"FROM lance_changes('{T}', 6, 5)", "The range ends before it begins"),
    (f"FROM lance_version('{T}')", 'Did you mean "lance_versions"?'),
    (f"INSERT INTO '{T}' VALUES (1, 'x')", "2 columns for 7 columns of examples/orders.lance: name them"),
    ("OPTIMIZE 'examples/order.lance'", "Did you mean 'examples/orders.lance'?"),
    (f"FROM '{T}' AT (TIMESTAMP => now())", "takes constants"),
    (f"FROM '{T}' AT (TIMESTAMP => 'gestern')", "is not a time such as"),
    ("INSTALL lance", "ATTACH 'lake' AS lake (TYPE lance) makes a schema of a folder"),
    ("ATTACH 'example' AS l (TYPE lance)", "No folder 'example'"),
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
    (("frob", T), "No verb 'frob'. Pass SQL as one argument, in quotes."),
    (("SELECT", "1"), "No verb 'SELECT': lance-sql \"SELECT ..\"."),
    (("vacuum", T), "No verb 'vacuum': lance-sql cleanup TABLE for old versions, lance-sql compact TABLE"),
    (("optimize", T), "lance-sql compact TABLE, or lance-sql maintain TABLE"),
    (("log", T), "No verb 'log': lance-sql history TABLE."),
    (("commits", T), "lance-sql history TABLE"),
    (("rollback", T, "3"), "lance-sql restore TABLE VERSION"),
    (("revert", T, "3"), "lance-sql restore TABLE VERSION"),
    (("undo", T), "lance-sql restore TABLE VERSION"),
    (("checkout", T, "3"), "lance-sql restore TABLE 41"),
    (("show", T), "lance-sql head TABLE for rows"),
    (("cat", T), "lance-sql head TABLE"),
    (("tail", T), "ORDER BY _rowid DESC LIMIT 10"),
    (("count", T), "SELECT count(*) FROM 'TABLE'"),
    (("info", T), "lance-sql describe TABLE"),
    (("inspect", T), "lance-sql describe TABLE"),
    (("status", T), "lance-sql describe TABLE"),
    (("stats", T), "lance-sql layout TABLE"),
    (("columns", T), "lance-sql schema TABLE"),
    (("import", T, "rows.parquet"), "lance-sql write TABLE SOURCE"),
    (("load", T, "rows.parquet"), "lance-sql write TABLE SOURCE"),
    (("create", T), "lance-sql write TABLE SOURCE"),
    (("insert", T, "rows.parquet"), "lance-sql write TABLE SOURCE --mode append"),
    (("append", T, "rows.parquet"), "lance-sql write TABLE SOURCE --mode append"),
    (("upsert", T, "rows.parquet"), "lance-sql merge TABLE SOURCE --on COLUMNS"),
    (("truncate", T), "lance-sql delete TABLE --all"),
    (("drop", T), "DROP TABLE 'TABLE'"),
    (("rm", T), "DROP TABLE 'TABLE'"),
    (("rename", T, "x.lance"), "RENAME TO 'NEW'"),
    (("export", T, "x.parquet"), "COPY (FROM 'TABLE') TO 'x.parquet'"),
    (("clone", T, "x.lance"), "lance-sql branch TABLE NAME"),
    (("tags", T), "lance-sql tag TABLE"),
    (("branches", T), "lance-sql branch TABLE"),
    (("indices", T), "lance-sql index list TABLE"),
    (("reindex", T), "lance-sql index optimize TABLE"),
    (("fsck", T), "lance-sql verify TABLE"),
    (("validate", T), "lance-sql check TABLE for rules"),
    (("gc", T), "lance-sql cleanup TABLE"),
    (("expire", T), "lance-sql cleanup TABLE"),
    (("watch", T), "lance-sql changes TABLE --follow"),
    (("sql", "FROM x"), 'lance-sql "SELECT .."'),
    (("ls",), "lance-sql describe TABLE"),
    (("delete", T, "id = 1"), '--where "id = 1".'),
    (("update", T, "status='x'", "--yes"), "Select rows: --where SQL, or --all."),
    (("update", T, "status='x'", "--where", "", "--yes"), "The filter is empty: "),
    (("head", T, "--where", "status=paid"), "Text needs quotes: status = 'paid'"),
    (("head", T, "--where", "status in (paid, open)"), "Text needs quotes: status IN ('paid', 'open')"),
    (("delete", T, "--where", "status = paid", "--yes"), "Text needs quotes: status = 'paid'"),
    (("row-history", T, "--id", "5"), '--where "id = 5"'),
    (("changes", T, "--type", "delete"), "--where \"_change_type = 'delete'\""),
    (("changes", T, "--job", "nope"), "is of the job 'nope'"),
    (("history", T, "--job", "nope"), "is of the job 'nope'"),
    (("row-history", T, "--job", "nope"), "is of the job 'nope'"),
    (("diff", T, "--job", "nope"), "is of the job 'nope'"),
    (("changes", T, "--max-rows", "5"), "No such option '--max-rows'. Use --limit."),
    (("diff", T, "--max-rows", "5"), "Use --limit."),
    (("diff", T, "--since", "yesterday"), "The other version is an argument: diff TABLE yesterday"),
    (("diff", T, "--where", "id = 1"), "changes TABLE --where .. filters"),
    (("history", T, "--version", "3"), "A version follows the table: TABLE@41"),
    (("head", T, "--tag", "audited"), "A tag follows the table: TABLE@TAG"),
    (("head", T, "--as-of", "yesterday"), "A time follows the table: TABLE@yesterday"),
    (("head", T, "--json"), "Use --output json"),
    (("head", T, "--format", "csv"), "Use --output"),
    (("head", T, "--nothing"), "It has --rows, --columns, --where, --branch, --output"),
    (("head", T, "--select", "id"), "Use --columns."),
    (("head", T, "--filter", "id = 1"), "Use --where."),
    (("merge", T, "rows.parquet", "--key", "id"), "Use --on."),
    (("write", T, "rows.parquet", "--append"), "Use --mode append."),
    (("write", T, "rows.parquet", "--overwrite"), "Use --mode overwrite."),
    (("write", T, "rows.parquet", "--force"), "Use --yes."),
    (("write", T, "rows.parquet", "--mode", "apend"), "'apend' is not one of 'create', 'append', 'overwrite'"),
    (("cleanup", T, "--retain", "3"), "Use --keep."),
    (("cleanup", T, "--retention", "3d"), "Use --older-than."),
    (("compact", T, "--target-size", "3"), "Use --target-rows."),
    (("restore", T), "Name a version: "),
    (("restore", T, "--version", "3"), "The version is an argument: restore TABLE 41"),
    (("tag", T, "3", "fresh"), "NAME comes before VERSION: lance-sql tag examples/orders.lance fresh 3."),
    (("tag", T, "3"), "A tag needs a name: lance-sql tag examples/orders.lance NAME 3."),
    (("tag", T, "yesterday"), "it reads as a version or a time; choose another name, such as 'v-yesterday'"),
    (("branch", T, "2026-11-21"), "it reads as a version or a time; choose another name"),
    (("stage", T, "7d"), "it reads as a version or a time; choose another name"),
    (("publish", T, "nothing"), "No branch 'nothing' in orders.lance. It has no branches"),
    (("publish", T, "--branch", "load"), "The branch is an argument: publish TABLE BRANCH"),
    (("head", f"{T}@lastweek"), "No tag or branch 'lastweek' in orders.lance. Tags: audited"),
    (("head", f"{T}@audted"), "Did you mean 'audited'?"),
    (
        ("write", "plain.txt", "SELECT 1 AS id"),
        "Cannot write a table to 'plain.txt': plain.txt is a file; choose another",
    ),
    (("write", "plain.txt/x.lance", "SELECT 1 AS id"), "plain.txt is a file; choose another path"),
    (("write", "/dev/null/x.lance", "SELECT 1 AS id"), "/dev/null is a file; choose another path"),
    (("refresh", T), "is not a materialized view: create one with materialize"),
    (("materialize", "v.lance", f"SELECT * FROM '{T}'"), "(the query comes first, then the table)"),
    (("update", T, "status='paid'", "--job", "nightly"), "environment: LANCE_SQL_JOB=nightly lance-sql .."),
    (("head", T, "2"), "Got unexpected extra argument (2): --rows 2."),
    (("history", T, "2"), "Got unexpected extra argument (2): --limit 2."),
    (("rules", T, "--add", "amount > 0"), 'rules TABLE NAME "amount > 0"'),
    (("check", T, "--rule", "amount > 0"), 'lance-sql rules TABLE NAME "amount > 0" sets a rule'),
    (("materialize", T), "Missing argument 'TABLE': main materialize [OPTIONS] QUERY TABLE"),
    (
        ("materialize", f"SELECT amont FROM '{T}'", "v.lance"),
        "reads the column 'amont', which orders.lance does not have",
    ),
    (("diff", T, "rows.parquet"), "To write its rows to a table: lance-sql write new.lance rows.parquet"),
    (("salvage", T), "Missing argument 'TARGET'"),
    (("changes", T, "--cursor", "nope"), "To create it: lance-sql cursors TABLE nope --start earliest"),
    (("describe",), "Missing argument 'TABLE': main describe [OPTIONS] TABLE"),
    (("SELECT 'caf\udce9'",), "The SQL is not UTF-8."),
    (("help", "nothing"), "No verb 'nothing'"),
    (("help", "histroy"), "Did you mean 'history'?"),
    pytest.param(("delete", T), "Select rows: --where SQL, or --all.", marks=pytest.mark.quick),
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
    (("head", T, "--limit", "3"), "No such option '--limit'. Use --rows."),
    (("search", T, "x", "--limit", "3"), "No such option '--limit'. Use -k."),
    (("search", T, "x", "--filter", "id > 3"), "No such option '--filter'. Use --where."),
    (("index", "create", T, "id", "btree", "--yes"), "No such option '--yes'. This verb does not ask, leave it out."),
    (("index", "nothing"), "No such command 'nothing': use create, drop, list, optimize."),
    (("merge", T, "SELECT 1 AS id"), "pass key columns (on=['id'], --on id)"),
    (("rules", T, "r", "amount >"), "Cannot read the filter 'amount >'"),
    (("check", T, "nothing"), "It has none: rules.set (lance-sql rules) adds one"),
    (("head", T, "--where", "nothing > 3"), "Columns: id, customer"),
    (("history", "s4://bucket/t.lance"), "use s3://, gs://, az:// or another protocol of fsspec"),
]


# a call on a table, and a part of what is said of it
OURS: Any = lance_sql
CALLS: list[tuple[Callable[[Any], object], str]] = [
    (lambda o: o.count(), "use count_rows()"),
    (lambda o: o.show(), "use head(10)"),
    (lambda o: o.df(), "use to_pandas()"),
    (lambda o: len(o), "count_rows() counts the rows"),
    (lambda o: o.num_rows, "use count_rows()"),
    (lambda o: o.columns, "use schema.names"),
    (lambda o: o.shape, "use count_rows() and schema.names"),
    (lambda o: o.fetchall(), "use to_table().to_pylist()"),
    (lambda o: o.collect(), "use to_table()"),
    (lambda o: o.select(["id"]), "use scan([..])"),
    (lambda o: o.where("id = 1"), "use scan(filter=..)"),
    (lambda o: o.limit(3), "use scan(limit=..)"),
    (lambda o: o.tail(), "ORDER BY _rowid DESC"),
    (lambda o: o.sql("SELECT 1"), "use lance_sql.sql("),
    (lambda o: o.checkout_version(3), "use at(version)"),
    (lambda o: o.checkout(3), "use at(version)"),
    (lambda o: o.as_of("1d"), "use at(time)"),
    (lambda o: o.vacuum(), "use maintenance.cleanup() for old versions, maintenance.compact() for"),
    (lambda o: o.optimize(), "use maintenance.compact() and indices.optimize(), or maintenance.maintain()"),
    (lambda o: o.log(), "use history()"),
    (lambda o: o.rollback(3), "use restore(version)"),
    (lambda o: o.insert({"id": [1]}), "use append(rows)"),
    (lambda o: o.create_tag("x"), "use tags.create(name, version)"),
    (lambda o: o.cursor("x"), "use cursors.open(name)"),
    (lambda o: o.tags(), "tags is no method: call tags.create, tags.delete, tags.list or tags.move"),
    (lambda o: o.upsert({"id": [1]}), "use merge(rows, on=..)"),
    (lambda o: o.merge_insert("id"), "use merge(rows, on=..)"),
    (lambda o: o.diff(3), "use lance_sql.diff(dataset, other)"),
    (lambda o: o.verify(), "use lance_sql.verify(dataset.uri)"),
    (lambda o: o.tag("x"), "use tags.create(name)"),
    (lambda o: o.list_indices(), "use indices.list()"),
    (lambda o: o.create_scalar_index("id", "BTREE"), "use indices.create(column, 'btree')"),
    (lambda o: o.cleanup_old_versions(), "use maintenance.cleanup(older_than=..)"),
    (lambda o: o.hed(), "Did you mean 'head'?"),
    (lambda o: o.scan().count(), "use count_rows()"),
    (lambda o: o.changes().df(), "use to_pandas()"),
    (lambda _: OURS.write_dataset({"id": [1]}, "x.lance"), "use lance_sql.write(rows, path)"),
    (lambda _: OURS.read_table("x.lance"), "use lance_sql.open(path).to_table()"),
    (lambda _: OURS.query("SELECT 1"), "use lance_sql.sql(text)"),
    (lambda _: OURS.opne("x.lance"), "Did you mean 'open'?"),
    (lambda _: OURS.open("x.lance", verison=3), "Did you mean 'version'?"),
    (lambda o: o.scan(where="id = 1"), "Did you mean 'filter'?"),
    (lambda o: o.delete(filter="id = 1"), "Did you mean 'where'?"),
    (lambda o: o.maintenance.compact(target_rows_per_fragment=5), "Did you mean 'target_rows'?"),
    (lambda o: o.maintenance.cleanup(keep=3), "Did you mean 'retain_versions'?"),
    (lambda o: o.changes(from_version=3), "Did you mean 'since'?"),
    (lambda o: o.merge({"id": [1]}, key="id"), "Did you mean 'on'?"),
    (lambda o: o.to_table(limit=3), "Use scan(.., limit=..).to_table()"),
    (lambda _: OURS.open(None), "pass text, such as 'orders.lance', or a Path"),
    (lambda _: OURS.open(5), "pass text, such as 'orders.lance', or a Path"),
    (lambda _: OURS.write("r.lance", {"id": [1]}), "Rows come first, then the path: lance_sql.write(rows, "),
    (lambda _: OURS.write({"id": [1]}, "plain.txt"), "plain.txt is a file; choose another path"),
    (lambda _: OURS.sql("SELECT 1", engine=5), "pass one of 'duckdb', 'datafusion', 'spark', 'sail', and a"),
    (lambda o: o.delete(""), "'true' deletes all rows"),
    (lambda o: o.delete(None), "where='true' deletes all rows"),
    (lambda o: o.update({"status": "'x'"}), "where='true' updates all rows"),
    (lambda o: o.update({"amont": "1"}, "id = 1"), "Closest: 'amount'"),
    (lambda o: o.scan(filter="status = paid"), "Text needs quotes: status = 'paid'"),
    (lambda o: o.scan(["amont"]), "Closest: 'amount'"),
    (lambda o: o.tags.create("3"), "choose another name, such as 'v-3'"),
    (lambda o: o.branches.create("yesterday"), "choose another name, such as 'v-yesterday'"),
    (lambda o: o.branches.publish("nothing"), "No branch 'nothing' in orders.lance. It has no branches"),
    (lambda o: OURS.diff(o, job="nope"), "is of the job 'nope'"),
    (lambda _: OURS.open(f"{T}@lastweek"), "A time is written as yesterday, 7d or 2026-11-21"),
    (lambda _: OURS.materialize(f"SELECT amont FROM '{T}'", "v.lance"), "Did you mean 'amount'?"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), CALLS, ids=[message for _, message in CALLS])
def test_calls_that_people_guess_are_answered(call: Callable[[Any], object], message: str) -> None:
    with pytest.raises((lance_sql.LanceError, AttributeError, TypeError)) as raised:
        call(lance_sql.open(T))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_variable_in_a_statement_gets_a_note() -> None:
    orders = lance_sql.open(T)
    with pytest.raises(duckdb.CatalogException) as raised:
        lance_sql.sql("SELECT count(*) FROM orders")
    [note] = raised.value.__notes__
    assert "FROM 'orders.lance'" in note
    assert "lance_sql.connect().sql(..), which sees variables" in note
    assert lance_sql.connect().sql("SELECT count(*) FROM orders").fetchall() == [(orders.count_rows(),)]


def test_a_group_lists_the_indices_of_a_table() -> None:
    assert run("index", T).output == run("index", "list", T).output


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
