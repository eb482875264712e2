"""queries/*.slt: their records, the tables that they are about, and how a record is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql.jobs.distributed import CHANGE, WRITE, change_rows
from tests.documents import ROOT

QUERIES = ROOT / "queries"
SHARED = tuple(sorted(QUERIES.glob("*.slt")))
NEEDS_TRANSLATION = ("time_travel.slt",)
"""Files that no engine runs as they are."""

Run = Callable[[str], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Record:
    """One query or statement of a file. line: where it begins."""

    file: str
    line: int
    kind: str
    sql: str
    expected: list[str]

    def check(self, run: Run) -> None:
        """Runs the record, and compares."""
        where = f"{self.file}:{self.line}"
        if self.kind == "statement error":
            with pytest.raises(Exception, match=self.expected[0]):
                run(self.sql)
            return
        rows = ["\t".join("NULL" if value is None else str(value) for value in row) for row in run(self.sql)]
        if self.kind == "query rowsort":
            rows.sort()
        assert rows == self.expected, where


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
            yield Record(path.name, number - len(block), block[0], "\n".join(block[1:mark]), block[mark + 1 :])
            block = []


def about_times(record: Record) -> bool:
    """Whether a record knows when the example's versions were committed."""
    return "TIMESTAMP AS OF" in record.sql


def merged(table: lance_sql.Dataset, rows: pa.Table) -> lance_sql.Dataset:
    """A merge as other writers do it: matched rows are written, also where they have the values already."""
    old = table.scan(["id", "_rowid", "_rowaddr"]).to_table()
    at = pc.index_in(rows.column("id"), old.column("id"))
    changes = rows
    for name in ("_rowid", "_rowaddr"):
        changes = changes.append_column(name, old.column(name).take(at))
    changes = changes.append_column(CHANGE, pa.repeat(pa.scalar(WRITE), rows.num_rows)).combine_chunks()
    return change_rows(table, "merge", lambda job: [job.write(changes.to_batches())], inserts_by_key=True)


def write_orders(path: Path) -> None:
    """The history of examples/orders.lance, step by step, by this library's writer."""
    given = [lance_sql.open(ROOT / "examples" / "orders.lance", version=version) for version in range(1, 10)]
    country = given[2].scan(["customer", "country"]).to_table().group_by(["customer", "country"]).aggregate([])
    cases = " ".join(f"WHEN '{row['customer']}' THEN '{row['country']}'" for row in country.to_pylist())

    def rows(version: int, filter: str, columns: list[str] | None = None) -> pa.Table:
        return given[version - 1].scan(columns or given[version - 1].schema.names, filter).to_table()

    lance_sql.write(rows(1, "true"), path)
    table = lance_sql.write(rows(2, "_row_created_at_version = 2"), path, mode="append")
    table = table.add_columns({"country": f"CASE customer {cases} END"})
    table = table.update({"status": "'paid'"}, "status = 'open' AND created < TIMESTAMP '2026-01-08 00:00:00'")
    table = table.delete("status = 'cancelled' AND id <= 300")
    table.tags.create("audited")
    table = merged(table, rows(6, "_row_last_updated_at_version = 6")).maintenance.compact()
    table = lance_sql.write(rows(9, "_row_created_at_version = 9"), path, mode="append")
    table.tags.create("published")
