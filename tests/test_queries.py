"""Runs queries/*.slt in every engine, and queries/<engine>/*.slt in theirs, over the example table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lance_sql

ROOT = Path(__file__).parents[1]
QUERIES = ROOT / "queries"


@dataclass(frozen=True)
class Record:
    """One query or statement of a file. line: where it begins."""

    line: int
    kind: str
    sql: str
    expected: list[str]


def records(path: Path) -> Iterator[Record]:
    """The records of a file; blank lines separate them."""
    block: list[str] = []
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        if line.startswith("#"):
            continue
        if line:
            block.append(line)
        elif block:
            mark = block.index("----")
            yield Record(number - len(block), block[0], "\n".join(block[1:mark]), block[mark + 1 :])
            block = []


Run = Callable[[str], list[tuple[Any, ...]]]


def duckdb_engine() -> Run:
    connection = lance_sql.connect()
    return lambda sql: connection.execute(sql).fetchall()


def datafusion_engine() -> Run:
    datafusion = pytest.importorskip("datafusion")
    context = lance_sql.register(datafusion.SessionContext())
    return lambda sql: [tuple(row.values()) for row in context.sql(sql).to_pylist()]


ENGINES = {"duckdb": duckdb_engine, "datafusion": datafusion_engine}
CASES = [
    pytest.param(engine, path, id=f"{engine}-{path.relative_to(QUERIES)}")
    for engine in ENGINES
    for path in [*sorted(QUERIES.glob("*.slt")), *sorted((QUERIES / engine).glob("*.slt"))]
]


@pytest.mark.parametrize(("engine", "path"), CASES)
def test_queries(engine: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")
    run = ENGINES[engine]()
    for record in records(path):
        where = f"{path.name}:{record.line}"
        if record.kind == "statement error":
            with pytest.raises(Exception, match=record.expected[0]):
                run(record.sql)
            continue
        rows = ["\t".join("NULL" if value is None else str(value) for value in row) for row in run(record.sql)]
        if record.kind == "query rowsort":
            rows.sort()
        assert rows == record.expected, where
