"""The command line, run as users run it: stdout, stderr and the exit code."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import lance
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main
from lance_sql.cli.interrupts import interruptible


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """`data.lance` in the working directory: two versions, a tag, a deleted row."""
    monkeypatch.chdir(tmp_path)
    lance.write_dataset(pa.table({"id": [1, 2, 3], "name": ["a", None, "c|d"]}), "data.lance")
    dataset = lance.dataset("data.lance")
    dataset.tags.create("start", 1)
    dataset.delete("id = 1")
    return "data.lance"


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin)


def test_sql_needs_no_verb(table: str) -> None:
    result = run(f"SELECT id, name FROM '{table}' ORDER BY id")
    assert result.stdout == "id  name\n--  ----\n 2  NULL\n 3  c|d\n"
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("csv", "id,name\n2,\n3,c|d\n"),
        ("json", '[{"id": 2, "name": null},\n {"id": 3, "name": "c|d"}]\n'),
        ("markdown", "| id | name |\n| ---: | --- |\n| 2 |  |\n| 3 | c\\|d |\n"),
    ],
)
def test_output_has_formats(table: str, output: str, expected: str) -> None:
    result = run(f"SELECT id, name FROM '{table}' ORDER BY id", "--output", output)
    assert result.stdout == expected


def test_arrow_output_is_a_stream(table: str) -> None:
    result = run(f"SELECT id FROM lance_scan('{table}', version := 1) ORDER BY id", "-o", "arrow")
    assert pa.ipc.open_stream(result.stdout_bytes).read_all().to_pylist() == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_sql_comes_from_an_option_a_file_or_stdin(table: str, tmp_path: Path) -> None:
    (tmp_path / "count.sql").write_text(f"SELECT count(*) AS n FROM '{table}';\n")
    expected = "n\n2\n"
    assert run("-f", "count.sql", "-o", "csv").stdout == expected
    assert run("query", "-c", f"SELECT count(*) AS n FROM '{table}'", "-o", "csv").exit_code == 0
    assert run("-f", "-", "-o", "csv", stdin=f"SELECT count(*) AS n FROM '{table}'").exit_code == 0


def test_every_type_has_a_text() -> None:
    sql = (
        "SELECT TIMESTAMP '2020-01-02 03:04:05.5' AS t, DATE '2020-01-02' AS d, 1.50::DECIMAL(5, 2) AS m, "
        "[1, NULL] AS l, "
        "{'a': 'b'} AS s, 'nan'::DOUBLE AS f, '\\xAA'::BLOB AS b, true AS y"
    )
    assert json.loads(run(sql, "-o", "json").stdout) == [
        {
            "t": "2020-01-02 03:04:05.5",
            "d": "2020-01-02",
            "m": "1.50",
            "l": [1, None],
            "s": {"a": "b"},
            "f": "nan",
            "b": "\\xAA",
            "y": True,
        }
    ]


def test_schema_lists_columns_and_hidden_ones(table: str) -> None:
    rows = json.loads(run("schema", table, "-o", "json").stdout)
    assert [(row["column"], row["type"], row["hidden"]) for row in rows] == [
        ("id", "int64", False),
        ("name", "string", False),
        ("_rowid", "uint64", True),
        ("_rowaddr", "uint64", True),
    ]


def test_versions_lists_versions_and_their_tags(table: str) -> None:
    rows = json.loads(run("versions", table, "-o", "json").stdout)
    assert [(row["version"], row["fragments"], row["tags"]) for row in rows] == [(1, 1, "start"), (2, 1, None)]
    assert len(json.loads(run("versions", table, "--limit", "1", "-o", "json").stdout)) == 1


@pytest.mark.parametrize(("suffix", "kinds"), [("", ["data", "deletions"]), ("@1", ["data"]), ("@start", ["data"])])
def test_files_lists_the_files_of_a_version(table: str, suffix: str, kinds: list[str]) -> None:
    rows = json.loads(run("files", table + suffix, "-o", "json").stdout)
    assert [row["kind"] for row in rows] == kinds
    assert all((Path(table) / row["path"]).exists() for row in rows)


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (
            ["schema", "dat.lance"],
            3,
            "Error: No Lance table at 'dat.lance' (no such folder). Did you mean 'data.lance'?",
        ),
        (["FROM 'dat.lance'"], 3, "Error: No Lance table at 'dat.lance'"),
        (
            ["schema", "data.lance@9"],
            3,
            "Error: Version 9 does not exist in data.lance: versions 1 to 2 are available",
        ),
        (["SELECT idd FROM 'data.lance'"], 2, 'Referenced column "idd" not found'),
        (["SELECT 1 +"], 2, "syntax error"),
        (["query"], 2, "Pass the SQL once"),
        (["query", "SELECT 1", "-c", "SELECT 2"], 2, "Pass the SQL once"),
        ([" "], 2, "The SQL is empty"),
        (["schema"], 2, "Missing argument 'TABLE'"),
        (["SELECT 1", "--output", "xml"], 2, "'xml' is not one of"),
    ],
)
def test_failures_have_a_message_and_an_exit_code(
    table: str, arguments: list[str], exit_code: int, message: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == exit_code
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO 'x.LANCE/' (FORMAT parquet)",
        "SELECT 1; copy (FROM 'data.lance') TO 'x.lance' (FORMAT csv, HEADER)",
    ],
)
def test_copying_into_a_table_is_refused(table: str, sql: str, tmp_path: Path) -> None:
    result = run(sql)
    assert result.exit_code == 2
    assert "COPY .. TO x.lance would write another format" in result.stderr.replace("LANCE/", "lance")
    assert [path.name for path in tmp_path.iterdir()] == ["data.lance"]


def test_copying_elsewhere_works(table: str, tmp_path: Path) -> None:
    assert run("COPY (SELECT 'to x.lance' AS t FROM 'data.lance') TO 'copy.csv'").exit_code == 0
    assert (tmp_path / "copy.csv").read_text() == "t\nto x.lance\nto x.lance\n"
    assert run("CREATE TABLE t (t text); COPY t FROM 'copy.csv'; FROM t", "-o", "csv").stdout.count("to x.lance") == 2


def test_csv_tells_nothing_from_an_empty_text() -> None:
    sql = (
        "SELECT * FROM (VALUES (1, 'a', ''), (NULL, NULL, 'x,y'), (3, 'say \"hi\"', E'two\nlines')) AS t(n, \"a,b\", c)"
    )
    shown = run(sql, "-o", "csv").stdout_bytes.decode()
    assert shown == 'n,"a,b",c\n1,a,""\n,,"x,y"\n3,"say ""hi""","two\nlines"\n'
    assert list(csv.reader(io.StringIO(shown, newline="")))[3] == ["3", 'say "hi"', "two\nlines"]
    assert run("SELECT NULL AS a, '' AS b, [] AS c", "-o", "csv").stdout == 'a,b,c\n,"",[]\n'


@pytest.mark.parametrize("output", ["table", "csv", "json", "arrow"])
@pytest.mark.parametrize("sql", ["SELECT s FROM 'big.lance'", "SELECT max(s) FROM lance_scan('big.lance')"])
def test_damage_is_one_line(table: str, sql: str, output: str) -> None:
    lance_sql.write({"s": [f"row {number * 7919 % 1000003}" for number in range(50_000)]}, "big.lance")
    (path,) = Path("big.lance/data").iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 2] = b"\xff" * (len(content) // 2 - len(content) // 3)
    path.write_bytes(content)
    result = run(sql, "-o", output)
    assert result.exit_code == 3
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: big.lance version 1: data/{path.name}: column 's', page 0")
    assert "lance-sql verify --deep" in line
    for verb in (["delete", "big.lance", "-w", "s = 'x'", "--yes"], ["write", "b.lance", sql]):
        (line,) = run(*verb).stderr.splitlines()
        assert f"data/{path.name}: column 's', page 0" in line


def _wait_until_at_work(pid: int, *outputs: Path) -> None:
    """Returns once a query has output, or its process has computed for longer than the imports take."""
    while True:
        user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        if (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") > 2.5:
            return
        if any(path.is_dir() or (path.exists() and path.stat().st_size) for path in outputs):
            return
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="sees as Linux shows it how long a process computes")
@pytest.mark.parametrize(
    "arguments",
    [
        ["SELECT count(*) FROM range(1000000000) AS a, range(1000) AS b WHERE hash(a.range, b.range) = 7"],
        ["SELECT a.range FROM range(1000000000) AS a", "-o", "csv"],
        ["write", "new.lance", "SELECT a.range AS id FROM range(1000000000000) AS a"],
    ],
)
@pytest.mark.parametrize(
    ("sent", "expected"),
    [(signal.SIGINT, (130, "Error: interrupted\n")), (signal.SIGTERM, (143, "Error: terminated\n"))],
    ids=["SIGINT", "SIGTERM"],
)
def test_an_interrupt_is_one_line(
    table: str, arguments: list[str], sent: signal.Signals, expected: tuple[int, str], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "lance_sql.cli", *arguments]
    with open("out.txt", "wb") as out:
        running = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True)
        try:
            _wait_until_at_work(running.pid, Path("out.txt"), Path("new.lance"))
            running.send_signal(sent)
            _, shown = running.communicate(timeout=60)
        finally:
            running.kill()
    assert (running.returncode, shown) == expected
    assert not list(tmp_path.glob("new.lance/*/*"))


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_not_lost_in_a_callback(sent: signal.Signals) -> None:
    """The interpreter prints what a callback of a weak reference raises, and goes on."""
    program = f"""
import signal, sys, time, weakref
from lance_sql.cli.termination import Terminated, raise_on_termination, send_again_what_callbacks_lose

class Referred: pass

raise_on_termination()
send_again_what_callbacks_lose()
referred = Referred()
reference = weakref.ref(referred, lambda _: signal.raise_signal({int(sent)}))
try:
    del referred
    time.sleep(60)
except (KeyboardInterrupt, Terminated) as error:
    sys.stdout.write(type(error).__name__)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=True)
    raised = "KeyboardInterrupt" if sent == signal.SIGINT else "Terminated"
    assert (ended.stdout, ended.stderr) == (raised, "")


def test_an_interrupt_that_the_engine_made_an_error_of_its_own_is_one() -> None:
    def interrupted() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("Query interrupted")

    connection = duckdb.connect()
    with pytest.raises(KeyboardInterrupt), interruptible(connection):
        interrupted()
    with pytest.raises(RuntimeError, match="an error of its own"), interruptible(connection):
        raise RuntimeError("an error of its own")


def test_a_statement_without_rows_says_nothing() -> None:
    result = run("SET threads = 1")
    assert result.exit_code == 0


def test_every_verb_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(main.commands)


def test_queries_do_without_pandas(table: str) -> None:
    pytest.importorskip("pandas")
    command = [sys.executable, "-X", "importtime", "-m", "lance_sql.cli", f"SELECT count(*) FROM '{table}'"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "count_star()" in result.stdout
    assert "pyarrow.lib" in result.stderr
    assert "pandas.core" not in result.stderr


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", "é😀".encode()), ("utf-8", "é😀".encode()), ("latin-1", b"\xe9\\ud83d\\ude00")],
)
def test_every_character_is_written_in_every_locale(encoding: str, shown: bytes) -> None:
    command = [sys.executable, "-m", "lance_sql.cli", "SELECT 'é😀' AS a", "-o", "json"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    result = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert result.stdout.strip() == b'[{"a": "' + shown + b'"}]'
    assert json.loads(result.stdout.decode("utf-8" if encoding == "ascii" else encoding)) == [{"a": "é😀"}]


def of_children() -> float:
    """Seconds of processors that ended children took, which other tests at the same time do not add to."""
    taken = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken.ru_utime + taken.ru_stime


def test_help_comes_at_once() -> None:
    command = [sys.executable, "-m", "lance_sql.cli", "--help"]
    seconds = []
    for _ in range(3):
        start = of_children()
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seconds.append(of_children() - start)
    assert "Look:" in shown
    assert min(seconds) < 0.3


# What changes tables, pages, other engines, and `pyarrow.compute`, whose import is as long as that of all pyarrow else.
_NOT_TO_COUNT = [
    *("jinja2", "prompt_toolkit", "polars", "sqlglot", "pyarrow.compute", "pyarrow.dataset"),
    *(
        "lance_sql.health.differences",
        "lance_sql.values.html",
        "lance_sql.catalogs",
        "lance_sql.changes.contracts",
        "lance_sql.changes.feed",
    ),
    *("lance_sql.writes.statements.session", "lance_sql.writes.commit"),
]
_NOT_WITHOUT_TABLES = [
    *_NOT_TO_COUNT,
    "lance_sql.opening",
    "lance_sql.dataset",
    "lance_sql.reads.scan",
    "lance_sql.store",
    "google.protobuf",
]


@pytest.mark.parametrize("what", ["table", "nothing"])
def test_a_query_imports_no_more_than_it_needs(table: str, what: str) -> None:
    is_two = duckdb.__version__ >= "2"
    query, names = {
        # of a dataset of Arrow's, DuckDB 1.5 wants `pyarrow.dataset`, which brings the other along
        "table": (f"FROM '{table}' SELECT count(*)", [n for n in _NOT_TO_COUNT if is_two or "pyarrow" not in n]),
        "nothing": (
            "SELECT 1",
            [n for n in _NOT_WITHOUT_TABLES if is_two or n in ("lance_sql.opening", "lance_sql.dataset")],
        ),
    }[what]
    code = (
        f"import sys; sys.argv[:] = ['lance-sql', {query!r}]\n"
        "from lance_sql.cli.start import run\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {names} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


def test_help_imports_no_engine() -> None:
    code = (
        "import sys, lance_sql.cli; print([m for m in ('pyarrow', 'numpy', 'duckdb', 'sqlglot') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
