"""The examples in documents, and how each kind is run: from the root of the checkout, over examples/orders.lance.

python     lines with >>> and what they print; a document is one session
sql        statements for DuckDB; `-- 20 rows` after the semicolon is checked
console    commands after `$ `, each with what it prints, errors included
sh         targets of the Makefile, which have to exist
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

import lance_sql
from tests.forked import Forks

ROOT = Path(__file__).parents[1]

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# of this package alone, and for which no shell is needed
_COMMAND = re.compile(r"""lance-sql (?:'[^']*'|"[^"$`\\]*"|[\w ./:=,@%+-])*$""")
_STATEMENT = re.compile(r"(.+?);[ ]*(?:--[ ]*(\d+) rows?)?\s*(?=\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A fenced block. line: where its text begins."""

    document: str
    line: int
    kind: str
    text: str


def examples(document: Path) -> list[Example]:
    """The fenced blocks of a document that name their language."""
    text = document.read_text()
    name = str(document.relative_to(ROOT))
    return [
        Example(name, text.count("\n", 0, match.start(2)) + 1, match[1], match[2]) for match in _FENCE.finditer(text)
    ]


def run_python(blocks: list[Example], **names: object) -> None:
    """Runs the blocks of one document as one session, in which some names are known."""
    session = dict(names)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    for block in blocks:
        test = parser.get_doctest(block.text, session, block.document, block.document, block.line - 1)
        assert test.examples, f"{block.document}:{block.line} has no >>>"
        runner.run(test, clear_globs=False)
        session = test.globs
    assert runner.summarize(verbose=False).failed == 0


def run_sql(block: Example) -> None:
    connection = lance_sql.connect()
    statements = _STATEMENT.findall(block.text)
    assert statements, f"{block.document}:{block.line} has no statement"
    for sql, num_rows in statements:
        # not as Python's values: those of times with a zone need another package
        rows = run_statement(connection, sql)
        assert not num_rows or len(rows) == int(num_rows), f"{len(rows)} rows, not {num_rows}: {sql}"


def run_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """Returns the result of a statement. Connections of DuckDB 1.5 run only its own statements."""
    try:
        return connection.sql(sql).to_arrow_table()
    except duckdb.ParserException:
        if not duckdb.__version__.startswith("1."):
            raise
        return lance_sql.sql(sql, connection=connection).to_table()


def run_console(block: Example, forks: Forks) -> None:
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"]}
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, wanted = part.partition("\n")
        if _COMMAND.match(command):
            ran = forks.run(["-m", "lance_sql.cli", *shlex.split(command)[1:]])
            assert (ran.stdout + ran.stderr).strip() == wanted.strip(), command
            continue
        done = subprocess.run(
            command, shell=True, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert done.stdout.strip() == wanted.strip(), command


def check_targets(block: Example) -> None:
    """The commands are targets of the Makefile; running them here would not end."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in block.text.splitlines():
        tool, _, target = line.partition("#")[0].strip().partition(" ")
        assert tool == "make", line
        assert target in targets, line
