"""Verbs that change a table or read its changes, against pylance: time and processor time.

Each run has a fresh copy of the verb's table, by hard links, and an open handle. Both sides run in turn in one process;
the resulting tables are compared once. Our files are not flushed to the disk, as those of pylance never are; another
run measures flushing. Ratios below 1: we are faster.

python -m benchmarks.operations --rows 2000000 --runs 3 --only merge
python -m benchmarks.operations --sql
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

import lance_sql

from .measure import parser, print_versions
from .operation_statements import compare
from .operation_tables import TABLES
from .operation_verbs import VERBS, Verb

SIDES = ("ours", "pylance")
HEADER = f"{'':<44}{'ours':>9} {'pylance':>9} {'ratio':>7} {'CPU':>7} {'flushing':>9}"
LINE = "{:<44}{:>9.1f} {:>9.1f} {:>7.2f} {:>7.2f} {:>9.1f}"
_MARKDOWN = "| {} | {:.1f} | {:.1f} | {:.2f} | {:.2f} | {:.1f} |"


def main() -> None:
    parsed = parser(__doc__, 2_000_000)
    parsed.add_argument(
        "--only", action="append", help="verbs whose names have this in them; several times: any of them"
    )
    parsed.add_argument("--no-stable-row-ids", action="store_true", help="tables without stable row ids")
    parsed.add_argument(
        "--sql", action="store_true", help="statements instead, with DuckDB's own file as the other side"
    )
    parsed.add_argument("--markdown", action="store_true", help="print a Markdown table")
    arguments = parsed.parse_args()
    print_versions("pylance", "duckdb")
    if arguments.sql:
        compare(arguments.data, arguments.rows, arguments.runs, stable=not arguments.no_stable_row_ids)
        return
    if arguments.markdown:
        print("| Verb | ours | pylance | ratio | of the processor | flushing |\n|---|---|---|---|---|---|")
    else:
        print(HEADER)
    ratios: list[float] = []
    stable = not arguments.no_stable_row_ids
    for verb in VERBS:
        if arguments.only and not any(part in verb.name for part in arguments.only):
            continue
        table = TABLES[verb.table](arguments.data, arguments.rows, stable)
        line = _MARKDOWN if arguments.markdown else LINE
        ratio = compared(verb, table, arguments.data / "operations", arguments.runs, line)
        if verb.changes:
            ratios.append(ratio)
    if ratios:
        print(f"geometric mean of what changes a table: {statistics.geometric_mean(ratios):.2f}")


def compared(verb: Verb, table: Path, folder: Path, runs: int, line: str) -> float:
    """Prints one line about a verb. Returns the ratio of the times.

    table: of which each run has a copy, in `folder`
    line: a format of the name and five numbers
    """
    results: dict[str, Any] = {}
    times: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    draw = random.Random(0)
    with flushing(lambda _: None):
        for run in range(runs + 1):
            for side in draw.sample(SIDES, len(SIDES)):
                with _copy(table, folder / f"{side}_{run}.lance") as path:
                    result, *elapsed = _timed(verb, side, path)
                    if run:
                        times[side].append((elapsed[0], elapsed[1]))
                    else:
                        results[side] = verb.answer(path, result)
    if not same(results["ours"], results["pylance"]):
        raise AssertionError(f"{verb.name}: the answers differ")
    flushed = [0.0]
    with _copy(table, folder / "flushed.lance") as path, flushing(_counting(flushed)):
        _timed(verb, "ours", path)
    wall, processor = ({side: statistics.median(t[i] for t in times[side]) for side in SIDES} for i in range(2))
    ratio = wall["ours"] / wall["pylance"]
    cpu = processor["ours"] / processor["pylance"]
    print(line.format(verb.name, wall["ours"], wall["pylance"], ratio, cpu, flushed[0]), flush=True)
    return ratio


def _timed(verb: Verb, side: str, path: Path) -> tuple[Any, float, float]:
    """Returns the result of the verb, milliseconds, and processor milliseconds."""
    handle: Any = lance_sql.open(path) if side == "ours" else lance.dataset(path)
    run = verb.ours if side == "ours" else verb.pylance
    started, processor = time.perf_counter(), time.process_time()
    result = run(handle)
    return result, 1000 * (time.perf_counter() - started), 1000 * (time.process_time() - processor)


@contextmanager
def flushing(flush: Callable[[int], None]) -> Iterator[None]:
    """Has files flushed by this function instead of the system's."""
    original = os.fsync
    os.fsync = flush  # type: ignore[assignment]
    try:
        yield
    finally:
        os.fsync = original


def _counting(milliseconds: list[float]) -> Callable[[int], None]:
    flush = os.fsync

    def timed(file: int) -> None:
        started = time.perf_counter()
        flush(file)
        milliseconds[0] += 1000 * (time.perf_counter() - started)

    return timed


@contextmanager
def _copy(table: Path, to: Path) -> Iterator[Path]:
    """The table under another name, for as long as it is needed: no file of it is ever written again."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(table, to, copy_function=os.link)
    try:
        yield to
    finally:
        shutil.rmtree(to)


def same(ours: Any, theirs: Any) -> bool:
    """Whether two answers are equal; rows of tables may be in any order."""
    if isinstance(ours, pa.Table):
        return _sorted(ours).equals(_sorted(theirs.select(ours.column_names).cast(ours.schema)))
    return bool(ours == theirs)


def _sorted(table: pa.Table) -> pa.Table:
    keys = [name for name in ("_rowid", "id", "g") if name in table.column_names]
    return (table.sort_by([(name, "ascending") for name in keys]) if keys else table).combine_chunks()


if __name__ == "__main__":
    main()
