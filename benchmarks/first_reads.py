"""Scans of small files that no process has read: every run opens a copy of the table.

Sides: `lance_sql.open` and `lance.dataset`, all rows and the number of those that pass a condition. A second pair of
sides scans the same table again, from the open handle.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

import lance_sql

from .measure import medians, parser, print_versions, report

FRAGMENTS = 50

TABLES = (
    ("4 columns, 1,500 rows", "four", 1_500),
    ("4 columns, 16,000 rows", "four", 16_000),
    ("40 columns, 1,500 rows", "forty", 1_500),
    ("texts, 4,000 rows", "texts", 4_000),
)
"""Of each its words, the kind of its columns, and the rows of a fragment."""

CONDITION = "number > 10000"


def main() -> None:
    given = parser(__doc__).parse_args()
    print_versions("pylance")
    given.data.mkdir(parents=True, exist_ok=True)
    for words, kind, rows in TABLES:
        path = given.data / f"first_reads_{kind}_{rows}.lance"
        if not path.exists():
            _write(path, kind, rows)
        for what, ask in (("all rows", _rows), ("filter", _count)):
            with _copies(path, 2 * (given.runs + 1)) as copies:
                sides = {
                    "ours": lambda ask=ask, copies=copies: ask(lance_sql.open(copies.pop())),
                    "pylance": lambda ask=ask, copies=copies: ask(lance.dataset(copies.pop())),
                }
                report(f"{words}, {what}", medians(sides, given.runs), peer="pylance")
        ours, theirs = lance_sql.open(path), lance.dataset(path)
        again = {"ours": lambda ours=ours: _rows(ours), "pylance": lambda theirs=theirs: _rows(theirs)}
        report(f"{words}, again", medians(again, given.runs), peer="pylance")


def _rows(table: Any) -> int:
    return len(table.to_table())


def _count(table: Any) -> int:
    return int(table.count_rows(CONDITION))


def _write(path: Path, kind: str, rows: int) -> None:
    for number in range(FRAGMENTS):
        lance.write_dataset(_part(kind, rows, number), path, mode="append" if number else "create")


def _part(kind: str, rows: int, seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    number = np.arange(seed * rows, (seed + 1) * rows)
    columns: dict[str, object] = {"number": number}
    if kind == "texts":
        columns["text"] = [f"a text with the numbers {a} and {b}" for a, b in draw.integers(0, 1 << 40, (rows, 2))]
    elif kind == "forty":
        columns |= {f"value_{index}": draw.random(rows) for index in range(39)}
    else:
        columns["value"] = draw.random(rows)
        columns["name"] = [f"name {which}" for which in draw.integers(0, 1_000, rows)]
        columns["time"] = pa.array(draw.integers(0, 1 << 40, rows)).cast(pa.timestamp("us"))
    return pa.table(columns)


@contextmanager
def _copies(path: Path, count: int) -> Iterator[list[str]]:
    """Copies of a table, each for one run."""
    made = [path.with_name(f"{path.stem}_copy_{number}.lance") for number in range(count)]
    try:
        for each in made:
            shutil.copytree(path, each)
        yield [str(each) for each in made]
    finally:
        for each in made:
            shutil.rmtree(each, ignore_errors=True)


if __name__ == "__main__":
    main()
