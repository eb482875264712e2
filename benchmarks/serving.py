"""A service: one process whose threads answer small requests, against pylance and against Parquet in DuckDB.

Orders with a BTREE of their keys; a writer appends a hundred more each second to the table that is read. Every thread
opens the newest version for each request, or asks a cursor of one DuckDB connection. Per kind of request, side and
number of threads: answers a second, and the time of the middle one and of the slowest in a hundred. The last lines give
the memory, threads and descriptors of the process after each side.

python -m benchmarks.serving --rows 1500000 --seconds 3
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import duckdb
import lance
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import lance_sql

from .measure import parser, print_versions
from .tables import cached

THREADS: Final = (1, 8, 32)
ORDERS_OF_A_DAY: Final = 600
APPENDED: Final = 100

Request: TypeAlias = Callable[[int], int]
"""Answers a request for some key, and returns the number of its rows."""


class Side(NamedTuple):
    """A way to answer requests.

    start: returns the requests of one thread by kind
    """

    name: str
    start: Callable[[], dict[str, Request]]


class Answered(NamedTuple):
    """Milliseconds of each request, and the seconds of all."""

    times: list[float]
    seconds: float

    def line(self) -> str:
        middle, slowest = np.percentile(self.times, [50, 99])
        return f"{len(self.times) / self.seconds:>9.0f}/s {middle:>9.1f} {slowest:>9.1f}"


def orders(first: int, count: int) -> pa.Table:
    keys = np.arange(first, first + count)
    return pa.table(
        {
            "k": keys,
            "customer": keys * 7919 % 100_003,
            "day": pa.array(keys // ORDERS_OF_A_DAY, pa.int32()),
            "amount": keys % 1000 * 0.25,
            "state": pa.array(np.array(["open", "paid", "sent"])[keys % 3]),
        }
    )


def make(folder: Path, rows: int) -> Path:
    """The table of orders; its last version but one has changed a row of each thousand."""

    def write(to: Path) -> None:
        made = lance_sql.write(orders(0, rows), to, max_rows_per_file=-(-rows // 10))
        made = made.update({"state": "'late'"}, f"k % 1000 = 7 AND k < {rows // 4}")
        made.indices.create("k", "btree")

    kept = cached(folder / f"serving_{rows}.lance", write)
    copy = folder / "serving" / "orders.lance"
    shutil.rmtree(copy.parent, ignore_errors=True)
    shutil.copytree(kept, copy)
    pq.write_table(orders(0, rows), copy.parent / "orders.parquet")
    return copy


def sides(path: Path, rows: int) -> Iterator[Side]:
    """The sides, with the kinds of requests that each of them knows."""
    days = rows // ORDERS_OF_A_DAY

    def by_handle() -> dict[str, Request]:
        opened = lance_sql.open(path)
        cursor = opened.cursors.open(f"poll_{threading.get_ident()}", start="latest")

        def poll(_: int) -> int:
            with cursor.read() as changes:
                return changes.to_table().num_rows

        return {
            "lookup": lambda key: opened.latest().scan(filter=f"k = {key}").to_table().num_rows,
            "day": lambda key: opened.latest().scan(filter=f"day = {key % days}").to_table().num_rows,
            "changes": lambda _: opened.latest().changes(2, 2).to_table().num_rows,
            "poll": poll,
        }

    connection = lance_sql.connect()

    def by_statements() -> dict[str, Request]:
        cursor = connection.cursor()

        def ask(text: str) -> int:
            return len(cursor.execute(text).fetchall())

        return {
            "lookup": lambda key: ask(f"SELECT * FROM '{path}' WHERE k = {key}"),
            "day": lambda key: ask(f"SELECT * FROM '{path}' WHERE day = {key % days}"),
            "changes": lambda _: ask(f"SELECT * FROM lance_changes('{path}', 2, 2)"),
        }

    def by_pylance() -> dict[str, Request]:
        opened: Any = lance.dataset(path)

        def latest() -> Any:
            opened.checkout_latest()
            return opened

        def changes(_: int) -> int:
            found = latest().delta(begin_version=1, end_version=2).get_updated_rows()
            return int(found.read_all().num_rows)

        return {
            "lookup": lambda key: latest().to_table(filter=f"k = {key}").num_rows,
            "day": lambda key: latest().to_table(filter=f"day = {key % days}").num_rows,
            "changes": changes,
        }

    plain = duckdb.connect()

    def by_parquet() -> dict[str, Request]:
        cursor, file = plain.cursor(), path.parent / "orders.parquet"

        def ask(condition: str) -> int:
            return len(cursor.execute(f"SELECT * FROM '{file}' WHERE {condition}").fetchall())

        return {"lookup": lambda key: ask(f"k = {key}"), "day": lambda key: ask(f"day = {key % days}")}

    yield Side("ours", by_handle)
    yield Side("ours, DuckDB", by_statements)
    yield Side("pylance", by_pylance)
    yield Side("Parquet, DuckDB", by_parquet)


@contextmanager
def writing(path: Path, rows: int) -> Iterator[None]:
    """Appends orders once a second."""
    ended = threading.Event()

    def write() -> None:
        first = rows
        while not ended.wait(1):
            lance_sql.write(orders(first, APPENDED), path, mode="append")
            first += APPENDED

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


def answered(side: Side, kind: str, count: int, seconds: float, rows: int) -> Answered:
    """Asks from some threads for some seconds. Raises the first error of a thread."""
    all_ready = threading.Barrier(count)
    times: list[list[float]] = [[] for _ in range(count)]
    errors: list[BaseException] = []

    def ask(number: int) -> None:
        try:
            request = side.start()[kind]
            keys = np.random.default_rng(number).integers(0, rows, 4096).tolist()
            request(keys[0])
            all_ready.wait()
            end = time.perf_counter() + seconds
            position = 0
            while (start := time.perf_counter()) < end:
                key = keys[position % len(keys)]
                found = request(key)
                times[number].append(1000 * (time.perf_counter() - start))
                if kind == "lookup" and found != 1:
                    raise AssertionError(f"{side.name}: {found} rows have the key {key}")
                position += 1
        except BaseException as error:
            errors.append(error)
            all_ready.abort()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(count)]
    start = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if errors:
        raise errors[0]
    return Answered([each for every in times for each in every], min(time.perf_counter() - start, seconds))


def resources() -> str:
    """What the process holds."""
    status = Path("/proc/self/status")
    if not status.exists():
        return f"{threading.active_count()} threads of Python"
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
    memory = int(fields["VmRSS"].split()[0]) // 1024
    return f"{memory} MiB, {fields['Threads'].strip()} threads, {len(os.listdir('/proc/self/fd'))} descriptors"


def main() -> None:
    arguments = parser(__doc__, 1_500_000)
    arguments.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    arguments.add_argument("--threads", nargs="*", type=int, default=THREADS, help="numbers of threads")
    given = arguments.parse_args()
    print_versions("pylance", "duckdb")
    print(f"{'':<30}{'threads':>8}{'rate':>11} {'p50 ms':>9} {'p99 ms':>9}")
    path = make(given.data, given.rows)
    with writing(path, given.rows):
        for side in sides(path, given.rows):
            for kind in side.start():
                for count in given.threads:
                    found = answered(side, kind, count, given.seconds, given.rows)
                    print(f"{side.name + ', ' + kind:<30}{count:>8}{found.line()}", flush=True)
            print(f"{side.name + ', held':<30}{resources()}", flush=True)


if __name__ == "__main__":
    main()
