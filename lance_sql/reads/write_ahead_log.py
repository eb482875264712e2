"""Write-ahead log of a table: acknowledged rows that are in no version yet.

    _mem_wal/<shard>/manifest/<version>.binpb     list of SSTables, and the last log position that is in one of them
    _mem_wal/<shard>/wal/<position>.arrow         entries: an Arrow stream each
    _mem_wal/<shard>/<random>_gen_<n>/            an SSTable: a table of the rows of entries, including deletions

Names of manifests and entries are binary numbers, the lowest digit first. A version records the SSTables that it
includes in the details of an index entry, which is not an index.

Source: MemTable and WAL specification; messages ShardManifest and MemWalIndexDetails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import pyarrow as pa

from lance_sql.errors import CorruptFile, LanceError, UnsupportedFeature, at
from lance_sql.format.proto import mem_wal_pb2
from lance_sql.store import Store, check_path
from lance_sql.table.index_kinds import MEM_WAL
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges

FOLDER: Final = "_mem_wal"
TOMBSTONE: Final = "_tombstone"
"""Column that marks a row as a deletion."""
FIELD_ID: Final = b"lance:field_id"
"""Metadata key of the table's field id in the columns of an entry."""

_DIGITS: Final = re.compile(r"([01]{64})\.(binpb|arrow)")
_WHOLE_FILE: Final = 2**62
# Even a log that is never compacted has not many more; each is a table to be opened.
_MAX_SSTABLES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class SSTable:
    """A small table of consecutively written or deleted rows.

    generation: higher is newer, within a shard
    path: of its folder in the table's store
    """

    generation: int
    path: str


@dataclass(frozen=True, slots=True)
class Shard:
    """Rows of one writer that are in no version.

    sstables: ascending by generation
    entries: paths of entries that are in no SSTable, the oldest first; newer than all SSTables
    """

    id: UUID
    sstables: tuple[SSTable, ...]
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WriteAheadLog:
    """The part of a table's log that a version does not include.

    snapshot: the version
    shards: shards with such rows
    """

    snapshot: Snapshot
    shards: tuple[Shard, ...]

    @property
    def num_rows(self) -> int:
        """Number of written or deleted rows that are in no version, counting the last one of a key per SSTable.
        Opens the SSTables, and reads the entries."""
        total = 0
        for shard in self.shards:
            for sstable in shard.sstables:
                opened = open_sstable(self.snapshot, sstable)
                for fragment in opened.manifest.fragments:
                    total += row_ranges.count(opened.open(fragment).live_rows())
            total += sum(batch.num_rows for path in shard.entries for batch in read_entry(self.snapshot.store, path))
        return total


def is_attached(snapshot: Snapshot) -> bool:
    """Whether the version has a write-ahead log.

    raises: CorruptFile
    """
    return any(segment.index_type == MEM_WAL for segment in snapshot.indices())


def read(snapshot: Snapshot) -> WriteAheadLog | None:
    """Reads the current log of a table, without the part that a version includes; None for a table without one.

    snapshot: the version
    raises: CorruptFile, UnsupportedFeature
    """
    details = [each.details for each in snapshot.indices() if each.index_type == MEM_WAL]
    if not details:
        return None
    if len(details) > 1 or snapshot.branch is not None:
        raise UnsupportedFeature(
            f"{snapshot.label}: the write-ahead log of a branch, or several of one table, are not supported"
        )
    with at(file=snapshot.manifest_path):
        message = mem_wal_pb2.MemWalIndexDetails.FromString(details[0])
    compacted = {each.shard_id.uuid: each.generation for each in message.compacted_sstables}
    shards = [_shard(snapshot.store, name, compacted) for name in sorted(snapshot.store.folders(FOLDER))]
    return WriteAheadLog(snapshot, tuple(shard for shard in shards if shard.sstables or shard.entries))


def notice(snapshot: Snapshot) -> str | None:
    """Returns a notice about rows that are in no version; None without any."""
    try:
        log = read(snapshot)
        count = 0 if log is None else log.num_rows
    except (LanceError, OSError) as error:
        return f"a write-ahead log that cannot be read: {error}"
    return f"{count} rows of the write-ahead log, which fresh=True reads" if count else None


def open_sstable(snapshot: Snapshot, sstable: SSTable) -> Snapshot:
    """Opens an SSTable as a table.

    raises: CorruptFile for a missing one; as `open_snapshot`
    """
    uri = f"{snapshot.uri.rstrip('/')}/{sstable.path}"
    return open_snapshot(uri, access=snapshot.access, use_indices=False)


def read_entry(store: Store, path: str) -> list[pa.RecordBatch]:
    """Reads the rows of an entry of the log; none for one that only fences earlier writers.

    raises: CorruptFile
    """
    with at(file=path):
        _, content = store.tail(path, _WHOLE_FILE)
        try:
            with pa.ipc.open_stream(content) as stream:
                return [batch for batch in stream if batch.num_rows]
        except (pa.ArrowException, OSError) as error:
            raise CorruptFile(f"not an entry of the write-ahead log: {error}") from error


def _shard(store: Store, name: str, compacted: dict[bytes, int]) -> Shard:
    folder = f"{FOLDER}/{name}"
    with at(file=folder):
        try:
            number = UUID(name)
        except ValueError as error:
            raise CorruptFile(f"a shard called {name!r}") from error
    manifests = _numbered(store, f"{folder}/manifest")
    if not manifests:
        return Shard(number, (), ())
    path = manifests[max(manifests)]
    with at(file=path):
        _, content = store.tail(path, _WHOLE_FILE)
        message = mem_wal_pb2.ShardManifest.FromString(content.to_pybytes())
        if len(message.sstables) > _MAX_SSTABLES:
            raise CorruptFile(f"a shard of {len(message.sstables)} SSTables")
        for sstable in message.sstables:
            check_path(sstable.path)
    done = compacted.get(number.bytes, 0)
    by_generation = {each.generation: SSTable(each.generation, f"{folder}/{each.path}") for each in message.sstables}
    sstables = tuple(by_generation[generation] for generation in sorted(by_generation) if generation > done)
    # listed after the manifest was read: entries that become an SSTable in the meantime still exist
    entries = _numbered(store, f"{folder}/wal")
    last = message.replay_after_wal_entry_position
    return Shard(number, sstables, tuple(entries[position] for position in sorted(entries) if position > last))


def _numbered(store: Store, folder: str) -> dict[int, str]:
    """Returns the files of a folder whose names are numbers, by number."""
    paths = {}
    for info in store.files(folder):
        digits = _DIGITS.fullmatch(info.path.rpartition("/")[2])
        if digits is not None:
            paths[int(digits[1][::-1], 2)] = info.path
    return paths
