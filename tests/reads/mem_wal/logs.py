"""Tables with a write-ahead log, as pylance writes them, and what pylance's own merged scanner makes of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import lance
import pyarrow as pa
from lance.mem_wal import CompactedSsTable, LsmScanner, ShardSnapshot

import lance_sql
from lance_sql.reads import write_ahead_log

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"}),
        pa.field("v", pa.string()),
        pa.field("n", pa.float64()),
        pa.field("p", pa.struct([("x", pa.int32()), ("y", pa.list_(pa.int8()))])),
    ]
)


def rows(ids: Sequence[int], word: str) -> pa.Table:
    made = [
        {"id": i, "v": f"{word} {i}" if i % 5 else None, "n": i / 4, "p": {"x": i, "y": [i % 7] * (i % 3)}} for i in ids
    ]
    return pa.Table.from_pylist(made, SCHEMA)


def by_id(table: pa.Table) -> list[dict[str, Any]]:
    ordered: list[dict[str, Any]] = table.sort_by("id").to_pylist()
    return ordered


class Log:
    """A table with a write-ahead log, and what happens to it.

    seed: decides everything
    """

    def __init__(self, path: Path, seed: int, *, num_shards: int = 2) -> None:
        self.path = str(path)
        self.random = random.Random(seed)
        self.stable = self.random.random() < 0.5
        version: Any = self.random.choice(["2.1", "2.2"])
        lance.write_dataset(
            rows(range(30), "first"), self.path, enable_stable_row_ids=self.stable, data_storage_version=version
        )
        dataset: Any = lance.dataset(self.path)
        dataset.initialize_mem_wal()
        # keys of a shard leave that number when they are divided
        self.shards = [str(UUID(int=100 + number)) for number in range(num_shards)]
        self.writers: dict[str, Any] = {}
        self.log: list[str] = []

    def writer(self, shard: str) -> Any:
        if shard not in self.writers:
            dataset: Any = lance.dataset(self.path)
            self.writers[shard] = dataset.mem_wal_writer(shard)
        return self.writers[shard]

    def keys(self, shard: str, most: int) -> list[int]:
        number, count = self.shards.index(shard), len(self.shards)
        return [count * self.random.randrange(60 // count) + number for _ in range(self.random.randint(1, most))]

    def step(self) -> None:
        shard = self.random.choice(self.shards)
        match self.random.choice(["put", "put", "put", "delete", "flush", "compact", "version"]):
            case "put":
                keys = self.keys(shard, 8)
                self.log.append(f"{shard[-3:]} put {keys}")
                self.writer(shard).put(rows(keys, f"put {len(self.log)}"))
            case "delete":
                keys = self.keys(shard, 4)
                self.log.append(f"{shard[-3:]} delete {keys}")
                self.writer(shard).delete(pa.table({"id": pa.array(keys, pa.int64())}))
            case "flush":
                self.log.append(f"{shard[-3:]} flush")
                self.flush(shard)
            case "compact":
                self.log.append(f"{shard[-3:]} compact")
                self.compact(shard)
            case _:
                keys = self.keys(shard, 3)
                self.log.append(f"version {keys}")
                where = f"id IN ({', '.join(map(str, keys))})"
                # what the log has of a key is newer in any case
                lance_sql.open(self.path).update({"v": "'of a version'"}, where)

    def flush(self, shard: str) -> None:
        """Whoever closes a writer makes an SSTable of what it has."""
        if shard in self.writers:
            self.writers.pop(shard).close()

    def sstables(self, shard: str) -> list[tuple[int, str]]:
        log = write_ahead_log.read(lance_sql.open(self.path).snapshot)
        assert log is not None
        found = [each for part in log.shards if str(part.id) == shard for each in part.sstables]
        return [(each.generation, each.path.rpartition("/")[2]) for each in found]

    def compact(self, shard: str) -> None:
        """The oldest SSTable of a shard becomes a part of the table."""
        found = self.sstables(shard)
        if not found:
            return
        generation, name = found[0]
        table = lance.dataset(f"{self.path}/_mem_wal/{shard}/{name}").to_table()
        gone = table.filter(table["_tombstone"])["id"].to_pylist()
        if gone:
            lance.dataset(self.path).delete(f"id IN ({', '.join(map(str, gone))})")
        builder: Any = lance.dataset(self.path).merge_insert("id")
        builder = builder.when_matched_update_all().when_not_matched_insert_all()
        builder.mark_sstables_as_compacted([CompactedSsTable(shard, generation)])
        builder.execute(table.filter(pa.compute.invert(table["_tombstone"])).drop_columns(["_tombstone"]).cast(SCHEMA))

    def expected(self) -> pa.Table:
        """What pylance makes of it: its scanner has the entries of one writer, which is asked with the SSTables of all;
        so all but one are closed."""
        open_shards = list(self.writers)
        for shard in open_shards[1:]:
            self.flush(shard)
        snapshots = [self.snapshot(shard) for shard in self.shards]
        if not open_shards:
            return LsmScanner.from_snapshots(lance.dataset(self.path), snapshots).to_table()
        # a writer reads the version that it was opened with
        shard = open_shards[0]
        self.flush(shard)
        return LsmScanner.from_snapshots(
            lance.dataset(self.path), [self.snapshot(each) for each in self.shards]
        ).to_table()

    def snapshot(self, shard: str) -> ShardSnapshot:
        made = ShardSnapshot(shard)
        last = 0
        for generation, name in self.sstables(shard):
            made = made.with_sstable(generation, name)
            last = generation
        return made.with_current_generation(last + 1)

    def close(self) -> None:
        for shard in list(self.writers):
            self.flush(shard)
