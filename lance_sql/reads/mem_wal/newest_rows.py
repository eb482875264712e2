"""Newest rows of a version and its write-ahead log: the last row of each key.

    version           1:a  2:b  3:c
    SSTable 1         2:B  3:deleted
    SSTable 2         4:d
    entries           4:D  2:BB                 -->   1:a  2:BB  4:D

Keys of the log are looked up in the version. Only keys of the log are held. Without a primary key all rows count.

Source: MemTable and WAL specification, LSM tree merging read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature
from lance_sql.format.schema import Field
from lance_sql.format.schema.primary_key import primary_key
from lance_sql.reads import write_ahead_log
from lance_sql.reads.mem_wal.fresh_scan import FreshScan
from lance_sql.reads.mem_wal.log_sources import OfEntries, OfSSTable, Source
from lance_sql.reads.scan.filters import Filter, to_predicate
from lance_sql.reads.scan.key_matching import match
from lance_sql.reads.scan.predicates import Predicate, joined
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.relation import PlainRows
from lance_sql.reads.scan.system_columns import NAMES
from lance_sql.reads.write_ahead_log import TOMBSTONE, WriteAheadLog
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection
from lance_sql.values.arrays import I64, U64, BoolMask
from lance_sql.values.keys import check, number


@dataclass(frozen=True)
class Merged:
    """Rows that count in a version and its log.

    hidden: addresses of rows of the version whose keys are in the log, ascending
    counted: mask of the counted rows of each source, in the order of `FreshRows.sources`
    """

    hidden: U64
    counted: tuple[BoolMask, ...]


@dataclass(frozen=True)
class FreshRows(PlainRows):
    """Rows of a version and of its write-ahead log. They have the table's columns, and no row ids.

    log: None for a table without one
    condition: filter on all rows
    """

    snapshot: Snapshot
    log: WriteAheadLog | None
    condition: Predicate | None = None

    def where(self, filter: str) -> FreshRows:
        """Returns those of the rows that match a filter.

        raises: as `scan`
        """
        asked = self.scan([], filter).predicate
        return replace(self, condition=asked)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the table."""
        return self.snapshot.manifest.schema.arrow

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
    ) -> FreshScan:
        """Returns a scan like `Dataset.scan`, without system columns.

        raises: as that; InvalidArgument for system columns; UnsupportedFeature for keys in several shards
        """
        chosen = resolve(self.snapshot, columns)
        predicate = joined(self.condition, to_predicate(self.snapshot, filter))
        asked = {column.name for column in chosen if column.field is None}
        asked |= {path[0] for path in predicate.columns} & set(NAMES) if predicate is not None else set()
        if asked:
            raise InvalidArgument(
                f"Rows of a write-ahead log have no {min(asked)}: leave it out, or leave fresh=True out"
            )
        return FreshScan(self, chosen, predicate, limit, batch_size)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Sources of rows of the log, of each shard the oldest first."""
        sources: list[Source] = []
        for shard in self.log.shards if self.log is not None else ():
            sources += [OfSSTable(self.snapshot, sstable) for sstable in shard.sstables]
            if shard.entries:
                sources.append(OfEntries(self.snapshot, shard.entries))
        return tuple(sources)

    @cached_property
    def merged(self) -> Merged:
        """Rows that count, computed once from the keys.

        raises: CorruptFile, UnsupportedFeature
        """
        if not self.sources:
            return Merged(np.empty(0, np.uint64), ())
        fields = [self.snapshot.manifest.schema.field(name) for name in primary_key(self.snapshot.manifest.schema)]
        read = [_keys(source, fields) for source in self.sources]
        deletions = [table[TOMBSTONE].to_numpy() for table in read]
        if not fields:
            return Merged(np.empty(0, np.uint64), tuple(~is_deletion for is_deletion in deletions))
        keys = pa.concat_tables([table.drop_columns(TOMBSTONE) for table in read])
        if any(column.null_count for column in keys.columns):
            raise CorruptFile(f"{self.snapshot.name}: a row of the write-ahead log has a NULL key")
        for field in keys.schema:
            check(field.name, field.type, is_json=self.snapshot.manifest.schema.is_json(field.name))
        numbers = number(keys)
        self._check_shards(keys, numbers, [len(table) for table in read])
        last = len(keys) - 1 - np.unique(numbers[::-1], return_index=True)[1]
        counts = np.zeros(len(keys), np.bool_)
        counts[last] = True
        counts &= ~np.concatenate(deletions)
        ends = np.cumsum([len(table) for table in read])[:-1]
        matches = match(self.snapshot, selection.take(keys, pa.array(np.sort(last))), keys.column_names)
        return Merged(np.sort(matches.addresses), tuple(np.split(counts, ends)))

    def _check_shards(self, keys: pa.Table, numbers: I64, lengths: Sequence[int]) -> None:
        """Makes sure that no key is in two shards, because the order of their rows is unknown.

        raises: UnsupportedFeature
        """
        assert self.log is not None
        if len(self.log.shards) < 2:
            return
        per_shard = [len(shard.sstables) + bool(shard.entries) for shard in self.log.shards]
        shards = np.repeat(np.repeat(np.arange(len(per_shard)), per_shard), lengths)
        _, first, of_key = np.unique(numbers, return_index=True, return_inverse=True)
        several = np.flatnonzero(shards != shards[first][of_key])
        if len(several):
            key = keys.slice(int(several[0]), 1).to_pylist()[0]
            raise UnsupportedFeature(
                f"{self.snapshot.name}: two shards of the write-ahead log have the key {key}, which is not supported"
            )

    def __repr__(self) -> str:
        return f"FreshRows({self.snapshot.label!r})"

    def __reduce__(self) -> tuple[type[FreshRows], tuple[object, ...]]:
        # without cached results, which are computed again
        return FreshRows, (self.snapshot, self.log, self.condition)


def open_fresh_rows(snapshot: Snapshot) -> FreshRows:
    """Opens the rows of the newest version and of the current log.

    snapshot: the newest version
    raises: InvalidArgument for an earlier version, some of whose rows are no longer in the log; CorruptFile,
        UnsupportedFeature
    """
    if snapshot.latest().commit_id != snapshot.commit_id:
        raise InvalidArgument(
            f"{snapshot.label} is not the newest version, which a write-ahead log continues: open the newest"
        )
    return FreshRows(snapshot, write_ahead_log.read(snapshot))


def _keys(source: Source, fields: Sequence[Field]) -> pa.Table:
    batches = list(source.batches(fields))
    if batches:
        return pa.Table.from_batches(batches)
    return pa.table({**{field.name: pa.array([]) for field in fields}, TOMBSTONE: pa.array([], pa.bool_())})
