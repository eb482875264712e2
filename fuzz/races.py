"""Streams read by many threads at once: `make races`, or `python -m fuzz.races --help`.

With kernels that ThreadSanitizer watches, what two threads share without a lock is reported, and the process ends with
an error. Without them, rows that differ are found all the same.

The tables have numbers, texts with and without a dictionary, lists and NULL structs in files of two versions; pages of
the second file of one more are damaged, and of a long one rows far apart are taken. Some are read by way of a server of
S3 on this machine as well, as far tables are. Each thread reads streams of them in many ways: all of it, or half; with
a filter that learns, compares columns, or lets nothing pass; together with others that take batches of the same stream;
through the C interface, or in Python; while buffers are given back to the system.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import lance_sql
from benchmarks.object_store_server import BUCKET, StoreServer
from lance_sql import _kernels
from lance_sql.dataset import Dataset
from lance_sql.errors import CorruptFile
from lance_sql.reads.scan.scan import Scan

NUM_ROWS: Final = 60_000
LONG_ROWS: Final = 1_000_000
COLUMNS: Final = ("id", "small", "price", "word", "text", "tags", "maybe")
FILTERS: Final = (
    None,
    "small < 3",
    "small < 90 AND word = 'AIR'",
    "price > 0.5 OR word IS NULL",
    "other > small",
    "text < 'order 5' AND other <= small",
    "small = 1000",
)

Ways: TypeAlias = Sequence[Callable[["Session", random.Random], None]]


def rows(start: int) -> pa.Table:
    rng = np.random.default_rng(start)
    numbers = np.arange(start, start + NUM_ROWS)
    words = np.array(["AIR", "SHIP", "RAIL", f"only in {start}"])[rng.integers(0, 4, NUM_ROWS)]
    members = pa.StructArray.from_arrays([pa.array(numbers)], ["x"], mask=pa.array(numbers % 5 == 0))
    return pa.table(
        {
            "id": numbers,
            "small": rng.integers(0, 100, NUM_ROWS),
            "other": pa.array(rng.integers(0, 100, NUM_ROWS), mask=rng.random(NUM_ROWS) < 0.1),
            "price": rng.random(NUM_ROWS),
            "word": pa.array(words, mask=rng.random(NUM_ROWS) < 0.1),
            "text": [f"order {number} of somebody" for number in rng.integers(0, 2**40, NUM_ROWS)],
            "tags": pa.array([[int(number)] * (int(number) % 3) for number in numbers]),
            "maybe": members,
        }
    )


class Session:
    """The tables, and what their scans find where one thread reads them.

    damaged: a table of which every full read fails
    long: a table of one file, of which a few rows are far apart
    server: of the folder, for remote tables
    """

    def __init__(self, folder: Path, server: StoreServer) -> None:
        self.folder, self.server = folder, server
        self.tables = [self._written(folder / version, version) for version in ("2.2", "2.0")]
        self.damaged = self._written(folder / "damaged", "2.2")
        _, fragment = self.damaged.snapshot.manifest.fragments
        file = folder / "damaged" / "data" / fragment.files[0].path
        content = bytearray(file.read_bytes())
        # the metadata at the end stays
        for place in range(len(content) // 3, len(content) * 2 // 3, 64):
            content[place] = 255
        file.write_bytes(content)
        numbers = np.random.default_rng(1).random(LONG_ROWS)
        self.long = lance_sql.write(pa.table({"a": numbers, "b": -numbers}), folder / "long")
        self.expected = {
            (number, condition): table.scan(["id"], condition).to_table()["id"].combine_chunks()
            for number, table in enumerate(self.tables)
            for condition in FILTERS
        }

    @staticmethod
    def _written(path: Path, version: str) -> Dataset:
        content = rows(0)
        if version == "2.0":
            # files of this version have no NULL structs
            content = content.drop_columns(["maybe"])
        lance_sql.write(content, path, file_version=version)
        lance_sql.write(rows(NUM_ROWS).select(content.column_names), path, mode="append")
        return lance_sql.open(path).delete("id % 7 = 3 AND id < 20000")

    def far(self, table: Dataset) -> Dataset:
        """The same table through the server."""
        path = Path(table.uri).relative_to(self.folder)
        return lance_sql.open(f"s3://{BUCKET}/{path}", storage_options=self.server.options)

    def scan(self, chance: random.Random, *, is_far: bool = False) -> tuple[Scan, pa.Array]:
        """A stream, and the ids of its rows. Half of them use a new handle without cached metadata."""
        number, condition = chance.choice(list(self.expected))
        table = self.tables[number]
        if is_far:
            table = self.far(table)
        elif chance.random() < 0.5:
            table = lance_sql.open(table.uri)
        names = [name for name in COLUMNS if name in table.schema.names and chance.random() < 0.5]
        size = chance.choice([None, 2000, 30_000])
        scan = table.scan(list(dict.fromkeys(["id", *names])), condition, batch_size=size)
        return scan, self.expected[number, condition]


def read_all(session: Session, chance: random.Random) -> None:
    scan, expected = session.scan(chance)
    found = pa.RecordBatchReader.from_stream(scan).read_all()
    found.validate(full=True)
    assert found["id"].combine_chunks().equals(expected)


def read_far(session: Session, chance: random.Random) -> None:
    scan, expected = session.scan(chance, is_far=True)
    found = pa.RecordBatchReader.from_stream(scan).read_all()
    found.validate(full=True)
    assert found["id"].combine_chunks().equals(expected)


def read_far_damage(session: Session, chance: random.Random) -> None:
    scan = session.far(session.damaged).scan(["id", "small", "price", "text"], chance.choice(FILTERS))
    try:
        for batch in scan.to_reader():
            batch.validate()
    except CorruptFile:
        pass


def read_in_python(session: Session, chance: random.Random) -> None:
    scan, expected = session.scan(chance)
    found = [batch["id"] for batch in scan.to_reader()]
    assert sum(map(len, found)) == len(expected)


def read_half(session: Session, chance: random.Random) -> None:
    scan, _ = session.scan(chance)
    reader = pa.RecordBatchReader.from_stream(scan)
    for _ in range(chance.randrange(4)):
        try:
            reader.read_next_batch()
        except StopIteration:
            break


def read_together(session: Session, chance: random.Random) -> None:
    """Several threads take batches of one stream."""
    scan, expected = session.scan(chance)
    reader = pa.RecordBatchReader.from_stream(scan)
    counts: list[int] = []

    def take() -> None:
        while True:
            try:
                counts.append(reader.read_next_batch().num_rows)
            except StopIteration:
                return

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == len(expected)


def read_damage(session: Session, chance: random.Random) -> None:
    names = ["id", "small", "price", "text"]
    scan = lance_sql.open(session.damaged.uri).scan(names, chance.choice(FILTERS), batch_size=2000)
    try:
        for batch in scan.to_reader():
            batch.validate()
    except CorruptFile:
        pass


def take_far_apart(session: Session, chance: random.Random) -> None:
    """Rows that are each in a different chunk: several threads read these."""
    places = sorted(chance.sample(range(LONG_ROWS), 90))
    table = session.far(session.long) if chance.random() < 0.2 else lance_sql.open(session.long.uri)
    found = table.take(places)
    assert pc.equal(found["a"], pc.negate(found["b"])).to_pylist() == [True] * len(places)
    assert found.num_rows == len(places)


def let_go_of_buffers(session: Session, chance: random.Random) -> None:
    _kernels.keep_buffers(chance.choice([0, 1 << 20, 1 << 28]))
    _kernels.kept_buffers()


WAYS: Final[Ways] = (
    read_all,
    read_far,
    read_far_damage,
    read_in_python,
    read_half,
    read_together,
    read_damage,
    take_far_apart,
    let_go_of_buffers,
)


def run(session: Session, seconds: float, num_threads: int, seed: int) -> list[str]:
    """Returns the errors; prints the number of runs of each way."""
    end = time.monotonic() + seconds
    counts = dict.fromkeys((way.__name__ for way in WAYS), 0)
    finds: list[str] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        while time.monotonic() < end and not finds:
            way = chance.choice(WAYS)
            try:
                way(session, chance)
            except Exception as error:
                finds.append(f"{way.__name__}: {type(error).__name__}: {error}")
            with lock:
                counts[way.__name__] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    return finds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.races", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="lance-sql-races-") as folder,
        StoreServer(Path(folder), seconds=0.002) as server,
    ):
        finds = run(Session(Path(folder), server), options.seconds, options.threads, options.seed)
    for find in finds:
        print(find)
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
