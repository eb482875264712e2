"""Runs the SQL tests of DuckDB's official Lance extension through a connection of this library.

    python -m tests.peers.duckdb_extension path/to/lance-duckdb

The path is a checkout of github.com/lance-format/lance-duckdb. Each record (a statement, or a query with its rows) ends
as `equal`, `refused` (an error of this library, which names what it does not do), `plan` (the text of a plan of the
extension), or `different`.

A mirror without large files lacks the rows of `lineitem`: the command `tpchgen-cli` (`pip install tpchgen-cli`) makes
them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet

import lance_sql
from lance_sql.errors import LanceError

_NEEDS_SERVICES = re.compile(r"^require-env ", re.MULTILINE)


@dataclass(frozen=True)
class Record:
    """A statement or a query of a file.

    expected: its rows, a value a line; of an error, its text; None for a statement whose result is not compared
    """

    line: int
    text: str
    fails: bool
    num_columns: int
    sorts: bool
    expected: list[str] | None


@dataclass(frozen=True)
class Outcome:
    """What became of a record."""

    record: Record
    kind: str
    detail: str = ""


def records(text: str) -> Iterator[Record]:
    """Yields the records of a file."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        words = lines[at].split()
        start, at = at + 1, at + 1
        if not words or words[0] not in ("statement", "query"):
            continue
        end = next((n for n in range(at, len(lines)) if not lines[n].strip()), len(lines))
        block, at = lines[at:end], end
        sql, found, rest = "\n".join(block).partition("----")
        expected = rest.strip("\n").split("\n") if found and rest.strip("\n") else [] if found else None
        num_columns = len(words[1]) if words[0] == "query" else 0
        yield Record(start, sql.strip(), words[1] == "error", num_columns, "rowsort" in words, expected)


def run_file(path: Path) -> list[Outcome]:
    """Runs the records of a file, in order, on one connection."""
    connection = lance_sql.connect()
    return [_run(connection, record) for record in records(path.read_text())]


def _run(connection: Any, record: Record) -> Outcome:
    try:
        result = connection.execute(record.text)
        rows = result.fetchall() if record.num_columns else []
    except (LanceError, duckdb.Error) as error:
        kind = "equal" if record.fails else "refused" if isinstance(error, LanceError) else "different"
        return Outcome(record, kind, str(error))
    if record.fails:
        return Outcome(record, "different", "no error")
    if not record.num_columns or record.expected is None:
        return Outcome(record, "equal")
    found = [[_text(value) for value in row] for row in rows]
    expected = _rows(record.expected, record.num_columns)
    if record.sorts:
        found, expected = sorted(found), sorted(expected)
    is_equal = len(found) == len(expected) and all(map(_is_equal, found, expected))
    if record.text.upper().startswith("EXPLAIN") and not is_equal:
        return Outcome(record, "plan")
    return Outcome(record, "equal" if is_equal else "different", "" if is_equal else f"{found} for {expected}"[:300])


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "NULL" if value is None else "(empty)" if value == "" else str(value)


def _rows(expected: list[str], num_columns: int) -> list[list[str]]:
    if expected and all(line.count("\t") == num_columns - 1 for line in expected):
        return [line.split("\t") for line in expected]
    return [expected[at : at + num_columns] for at in range(0, len(expected), num_columns)]


def _is_equal(found: list[str], expected: list[str]) -> bool:
    return len(found) == len(expected) and all(map(_is_value, found, expected))


def _is_value(found: str, expected: str) -> bool:
    if expected.startswith("<REGEX>:"):
        return re.fullmatch(expected[len("<REGEX>:") :], found) is not None
    if expected.startswith("<!REGEX>:"):
        return re.fullmatch(expected[len("<!REGEX>:") :], found) is None
    if found == expected or (found in ("true", "false") and expected == str(int(found == "true"))):
        return True
    try:
        return abs(float(found) - float(expected)) <= 1e-6 * max(1.0, abs(float(expected)))
    except ValueError:
        return False


def run(checkout: Path) -> dict[str, list[Outcome]]:
    """Runs the files that need no services, each in a copy of the data of the checkout."""
    outcomes = {}
    for path in sorted((checkout / "test" / "sql").glob("*.test")):
        if _NEEDS_SERVICES.search(path.read_text()):
            continue
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            shutil.copytree(checkout / "test" / "data", Path(folder) / "test" / "data")
            (Path(folder) / "test" / ".tmp").mkdir()
            _complete(Path(folder) / "test" / "data" / "tpch_sf0_01" / "lineitem.lance")
            outcomes[path.name] = run_file(path)
    return outcomes


def _complete(lineitem: Path) -> None:
    """Writes the rows of the table where its only file is missing, if there is a generator."""
    generator = shutil.which("tpchgen-cli")
    if generator is None or not lineitem.is_dir() or any(lineitem.glob("data/*.lance")):
        return
    schema = lance_sql.open(str(lineitem)).schema
    with tempfile.TemporaryDirectory() as folder:
        command = [generator, "parquet", "-s", "0.01", "--tables=lineitem", f"--output-dir={folder}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows = pyarrow.parquet.read_table(Path(folder) / "lineitem.parquet")
    shutil.rmtree(lineitem)
    lance_sql.write(rows.rename_columns(schema.names).cast(schema), str(lineitem))


def main() -> None:
    """Prints what is not equal, and the counts."""
    total: Counter[str] = Counter()
    for name, outcomes in run(Path(sys.argv[1]).resolve()).items():
        counts = Counter(each.kind for each in outcomes)
        total += counts
        print(f"{name}: {dict(counts)}")
        for each in outcomes:
            if each.kind != "equal":
                print(f"  {each.record.line} {each.kind}: {' '.join(each.record.text.split())[:150]}")
                print(f"      {each.detail.splitlines()[0][:200] if each.detail else ''}")
    print(dict(total), sum(total.values()))


if __name__ == "__main__":
    main()
