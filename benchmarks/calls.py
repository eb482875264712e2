"""Calls of Python and C functions that an operation on a small table makes: the same number on every machine.

Small operations take as long as their calls, and threads of one process make these one after another. The table has
100,000 rows in four fragments, stable row ids and a BTREE of its key. An operation runs twice before it is counted.

python -m benchmarks.calls --only append
python -m benchmarks.calls --only lookup --functions 20
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

import lance_sql

from .measure import print_versions

Operation: TypeAlias = Callable[[], object]
Make: TypeAlias = Callable[[Path], Operation]

ROWS: Final = 100_000
FRAGMENTS: Final = 4
WIDE: Final = 200
SECONDS_TO_SETTLE: Final = 0.2
"""Versions stay open from then on."""


@contextmanager
def counting(called: Counter[str]) -> Iterator[None]:
    """Adds the calls of all threads to the counter, by the function that is called."""

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            called[_name(frame.f_code)] += 1
        elif event == "c_call":
            called[f"{argument.__module__ or ''}.{argument.__qualname__}"] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _name(code: CodeType) -> str:
    return f"{'/'.join(Path(code.co_filename).parts[-2:])}:{code.co_firstlineno} {code.co_qualname}"


def calls(operation: Operation) -> Counter[str]:
    """Returns the calls of the fourth run of an operation, by function: the first reads small files at once, the second
    opens columns and learns statistics, and the third caches what follows from these."""
    for _ in range(3):
        operation()
    called: Counter[str] = Counter()
    with counting(called):
        operation()
    return called


def table(path: Path, rows: int = ROWS) -> lance_sql.Dataset:
    """Writes the table that most operations work on."""
    keys = np.arange(rows)
    values = pa.table(
        {
            "k": keys,
            "day": pa.array(keys // 1000, pa.int32()),
            "amount": keys * 0.5,
            "name": pa.array([f"name {key % 997}" for key in range(rows)]),
        }
    )
    written = lance_sql.write(values, path, max_rows_per_file=rows // FRAGMENTS)
    return written.indices.create("k", "btree")


def changed(path: Path) -> lance_sql.Dataset:
    """Writes the table, and four versions that change rows of it."""
    made = table(path)
    made = made.update({"amount": 1.0}, "k % 1000 = 7")
    made = made.delete("k = 5")
    made = made.merge(pa.table({"k": [11, -1], "day": pa.array([1, 2], pa.int32())}), on="k").latest()
    lance_sql.write(_row(-2), made, mode="append")
    return lance_sql.open(path)


def _settled(path: Path) -> lance_sql.Dataset:
    """Writes `changed`, and waits until caches keep its files: a slow machine makes the same calls then."""
    made = changed(path)
    time.sleep(SECONDS_TO_SETTLE)
    return made


def _row(key: int) -> pa.Table:
    return pa.table(
        {"k": [key], "day": pa.array([1], pa.int32()), "amount": [0.5], "name": ["x"]},
    )


def _reads(run: Callable[[lance_sql.Dataset], object], make: Callable[[Path], lance_sql.Dataset] = table) -> Make:
    def prepared(path: Path) -> Operation:
        made = make(path)
        return lambda: run(made)

    return prepared


def _changes(
    run: Callable[[lance_sql.Dataset, int], object], make: Callable[[Path], lance_sql.Dataset] = table
) -> Make:
    """An operation that gets the newest version and a number, another one at each run."""

    def prepared(path: Path) -> Operation:
        opened = [make(path)]
        numbers = iter(range(1, 1000))

        def once() -> None:
            run(opened[0], next(numbers))
            opened[0] = opened[0].latest()

        return once

    return prepared


def _in_duckdb(text: str) -> Make:
    """A statement, of which each run has another number."""

    def prepared(path: Path) -> Operation:
        table(path)
        connection = lance_sql.connect()
        # with several threads, the calls depend on which of them is first
        connection.execute("SET threads = 1")
        numbers = iter(range(4321, ROWS))
        time.sleep(SECONDS_TO_SETTLE)
        return lambda: connection.execute(text.format(path, next(numbers))).fetchall()

    return prepared


def _wide(path: Path) -> lance_sql.Dataset:
    return lance_sql.write({f"c{number}": np.arange(1000) + number for number in range(WIDE)}, path)


def _polled(path: Path) -> Operation:
    cursor = changed(path).cursors.open("job", start="latest")

    def poll() -> None:
        with cursor.read() as changes:
            changes.to_table()

    return poll


def _searched(path: Path) -> lance_sql.Dataset:
    vectors = np.random.default_rng(0).random((2000, 16)).astype("f4")
    rows = pa.table({"id": range(2000), "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 16)})
    return lance_sql.write(rows, path)


def _merge(made: lance_sql.Dataset, number: int) -> object:
    keys = [9000 + 10 * number + each for each in range(10)]
    return made.merge(pa.table({"k": keys, "amount": [float(number)] * 10}), on="k")


OPERATIONS: Final[dict[str, Make]] = {
    "open": lambda path: (table(path), lambda: lance_sql.open(path))[1],
    "count_rows": _reads(lambda made: made.count_rows()),
    "count_rows with a filter": _reads(lambda made: made.count_rows("day = 7")),
    "lookup by a BTREE": _reads(lambda made: made.scan(filter="k = 4321").to_table()),
    "filter": _reads(lambda made: made.scan(filter="day = 7").to_table()),
    "take 10 rows": _reads(lambda made: made.take(list(range(0, 1000, 100)))),
    "limit 10": _reads(lambda made: made.head(10)),
    "a column": _reads(lambda made: made.scan(["amount"]).to_table()),
    "one row of 200 columns": _reads(lambda made: made.take([7]), _wide),
    "lookup in DuckDB": _in_duckdb("SELECT * FROM '{}' WHERE k = {}"),
    "sum in DuckDB": _in_duckdb("SELECT sum(amount) FROM '{}'"),
    "changes of a version": _reads(lambda made: made.changes(3, 4).to_table(), _settled),
    "changes of a version, opened anew": _reads(
        lambda made: lance_sql.open(made.uri).changes(3, 4).to_table(), _settled
    ),
    "versions": _reads(lambda made: made.versions(), _settled),
    "history": _reads(lambda made: made.history(), _settled),
    "search": _reads(lambda made: made.search(lance_sql.nearest([0.5] * 16), k=3), _searched),
    "poll of a cursor with nothing new": _polled,
    "append 1 row": _changes(lambda made, number: lance_sql.write(_row(-10 - number), made, mode="append")),
    "update 1 row": _changes(lambda made, number: made.update({"amount": float(number)}, f"k = {500 + number}")),
    "delete 1 row": _changes(lambda made, number: made.delete(f"k = {700 + number}")),
    "merge 10 rows": _changes(_merge),
    "tag": _changes(lambda made, number: made.tags.create(f"t{number}")),
    "branch": _changes(lambda made, number: made.branches.create(f"b{number}")),
    "compact nothing": _reads(lambda made: made.maintenance.compact()),
    "cleanup of nothing": _reads(lambda made: made.maintenance.cleanup()),
    "verify": lambda path: (table(path), lambda: lance_sql.verify(path))[1],
}


def count(name: str) -> Counter[str]:
    """Returns the calls of one operation, on a table of its own."""
    lance_sql.clear_caches()
    folder = Path(tempfile.mkdtemp(prefix="lance-sql-calls-"))
    try:
        return calls(OPERATIONS[name](folder / "t.lance"))
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="operations whose names have this in them")
    parser.add_argument("--functions", type=int, default=0, help="list that many functions, those that are called most")
    arguments = parser.parse_args()
    print_versions("duckdb")
    for name in OPERATIONS:
        if arguments.only and not any(part in name for part in arguments.only):
            continue
        called = count(name)
        print(f"{name:<40}{called.total():>9,}", flush=True)
        for function, number in called.most_common(arguments.functions):
            print(f"    {number:>6} {function}")


if __name__ == "__main__":
    main()
