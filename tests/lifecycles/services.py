"""Threads of one process that do everything at once, over a store that fails now and then.

    python -m tests.lifecycles.services --threads 20 --minutes 10

Appends and merges write pairs of rows whose amounts sum to 0; reads, SQL and changes must see whole pairs.
Each cursor must deliver every row once. At the end each row whose commit succeeded is there once, and a row whose
commit failed is there at most once. The memory, threads and descriptors of the process are printed on the way.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import lance_sql
from lance_sql import CommitConflict, Dataset
from lance_sql.errors import StoreError
from tests.object_stores.bucket import Bucket
from tests.object_stores.places import BUCKET, Place
from tests.object_stores.proxy import Fault, Proxy, Request

FAULTS: Final = (Fault.UNAVAILABLE, Fault.LOST, Fault.LOST_AND_BUSY, Fault.CUT, Fault.SLOW)
ONE_IN: Final = 200
URI: Final = f"s3://{BUCKET}/orders.lance"
FIRST: Final = 100


def serve(pipe: Connection) -> None:
    """Serves a bucket. After the first message one request in many fails, and after the second none."""
    draw = random.Random(0)

    def inject(_: Request) -> Fault | None:
        return draw.choice(FAULTS) if draw.randrange(ONE_IN) == 0 else None

    bucket = Bucket(BUCKET)
    with Proxy(bucket) as proxy:
        pipe.send(Place(proxy, bucket).options)
        for each in (inject, None):
            pipe.recv()
            proxy.inject = each
            pipe.send(None)
        pipe.recv()


@dataclass
class Service:
    """What the threads share.

    committed, unsure: first ids of pairs whose commit succeeded, or failed with an error of the store
    delivered: by cursor, how often it delivered an id
    """

    options: dict[str, str]
    committed: set[int] = field(default_factory=set)
    unsure: set[int] = field(default_factory=set)
    delivered: dict[str, Counter[int]] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _next: int = FIRST

    def open(self) -> Dataset:
        return lance_sql.open(URI, storage_options=self.options)

    def pair(self) -> int:
        """Returns the first id of a new pair."""
        with self.lock:
            self._next += 2
            return self._next


def rows(first: int) -> dict[str, list[int]]:
    return {"id": [first, first + 1], "amount": [first, -first]}


def write(service: Service, draw: random.Random) -> None:
    first = service.pair()
    try:
        if draw.random() < 0.5:
            lance_sql.write(rows(first), service.open(), mode="append")
        else:
            service.open().merge(rows(first), on="id")
    except BaseException:
        with service.lock:
            service.unsure.add(first)
        raise
    with service.lock:
        service.committed.add(first)


def change(service: Service, draw: random.Random) -> None:
    service.open().update({"amount": "-amount"}, f"id % 4 < {draw.randrange(1, 3) * 2}")


def total(amounts: list[int]) -> None:
    if sum(amounts):
        raise AssertionError(f"a version with half of a pair: {len(amounts)} rows, sum {sum(amounts)}")


def read(service: Service, draw: random.Random) -> None:
    total(service.open().scan(["amount"], f"id > {FIRST}").to_table()["amount"].to_pylist())


def ask(service: Service, draw: random.Random) -> None:
    connection = lance_sql.connect(storage_options=service.options)
    try:
        ((found,),) = connection.execute(f"SELECT coalesce(sum(amount), 0) FROM '{URI}'").fetchall()
    finally:
        connection.close()
    total([int(found)])


def history(service: Service, draw: random.Random) -> None:
    opened = service.open()
    newest = opened.version
    changes = opened.changes(max(newest - 3, 1), newest).to_table()
    if set(changes["_commit_version"].to_pylist()) - set(range(newest - 3, newest + 1)):
        raise AssertionError("changes of other versions")


def poll(service: Service, draw: random.Random) -> None:
    name = threading.current_thread().name
    with service.open().cursors.open(name, start=1).read() as changes:
        found = changes.to_table()
    inserted = [
        id
        for id, kind in zip(found["id"].to_pylist(), found["_change_type"].to_pylist(), strict=True)
        if kind == "insert"
    ]
    with service.lock:
        service.delivered.setdefault(name, Counter()).update(inserted)


def upkeep(service: Service, draw: random.Random) -> None:
    opened = service.open()
    if draw.random() < 0.5:
        opened.maintenance.compact()
    else:
        opened.indices.create("id", "btree", replace=True)


VERBS: Final[dict[str, Callable[[Service, random.Random], None]]] = {
    "write": write,
    "change": change,
    "read": read,
    "ask": ask,
    "history": history,
    "poll": poll,
    "upkeep": upkeep,
}
OFTEN: Final = {"write": 4, "read": 6, "ask": 3, "history": 2, "change": 1, "upkeep": 1}


def work(service: Service, number: int, end: float) -> None:
    """Does one thing after the other. Each fourth thread polls a cursor of its own."""
    draw = random.Random(number)
    while time.monotonic() < end:
        name = "poll" if number % 4 == 3 else draw.choices([*OFTEN], [*OFTEN.values()])[0]
        outcome = name
        try:
            VERBS[name](service, draw)
        except (CommitConflict, StoreError) as error:
            outcome = f"{name}: {type(error).__name__}"
        except BaseException:
            with service.lock:
                service.wrong.append(f"{name}: {traceback.format_exc()}")
            return
        with service.lock:
            service.done[outcome] += 1


def held() -> tuple[int, int, int]:
    """Returns MiB of memory, threads and descriptors of this process."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return int(fields["VmRSS"].split()[0]) // 1024, int(fields["Threads"]), len(os.listdir("/proc/self/fd"))


def check(service: Service) -> list[str]:
    """Returns what is wrong at the end."""
    wrong = list(service.wrong)
    counts = Counter(service.open().scan(["id"]).to_table()["id"].to_pylist())
    wrong += [f"{first} is lost" for first in sorted(service.committed) if not counts[first] == counts[first + 1] == 1]
    wrong += [f"{first} was written in part" for first in sorted(service.unsure) if counts[first] != counts[first + 1]]
    wrong += [f"{id} is there {count} times" for id, count in counts.items() if count > 1]
    for name, seen in service.delivered.items():
        with service.open().cursors.open(name).read() as changes:
            found = changes.to_table()
        for id, kind in zip(found["id"].to_pylist(), found["_change_type"].to_pylist(), strict=True):
            seen[id] += kind == "insert"
        wrong += [f"{name}: {id} was delivered {seen[id]} times" for id in counts if seen[id] != 1]
    return wrong


def run(threads: int, seconds: float) -> tuple[Service, list[str]]:
    """Runs the threads, and returns what they shared and what was wrong."""
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    server = context.Process(target=serve, args=(other,), daemon=True)
    server.start()
    service = Service(pipe.recv())
    try:
        lance_sql.write(rows(0), URI, storage_options=service.options)
        pipe.send(None)
        pipe.recv()
        end = time.monotonic() + seconds
        workers = [
            threading.Thread(target=work, args=(service, number, end), name=f"worker{number}")
            for number in range(threads)
        ]
        for each in workers:
            each.start()
        while any(each.is_alive() for each in workers):
            time.sleep(min(30, seconds / 4))
            memory, number, descriptors = held()
            print(f"{sum(service.done.values()):>8} done, {memory} MiB, {number} threads, {descriptors} descriptors")
            sys.stdout.flush()
        pipe.send(None)
        pipe.recv()
        return service, check(service)
    finally:
        server.terminate()
        server.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10)
    given = parser.parse_args()
    service, wrong = run(given.threads, given.minutes * 60)
    for outcome, count in sorted(service.done.items()):
        print(f"{outcome:<40}{count:>8}")
    print(*wrong[:20], sep="\n")
    print(f"{len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
