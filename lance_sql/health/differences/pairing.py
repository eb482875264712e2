"""Pairing of rows of two streams, by their keys or as equal rows, within bounded memory.

    before   1 a, 2 b, 3 c        pairs        2 b - 2 x,  3 c - 3 c
    after    2 x, 3 c, 4 d        only before  1 a        only after  4 d

Up to a limit, both streams are held in memory. Beyond it, rows spill to partitions on disk by the hash of their keys.
Equal keys meet in one partition, which is small enough for memory: the first steps of a GRACE hash join. A
`Matcher` decides which rows of a partition form pairs.

Source: Kitsuregawa, Tanaka and Moto-oka, "Application of hash to data base machine and its architecture", 1983
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.runtime.progress import Work
from lance_sql.values import hashes, keys, selection
from lance_sql.values.arrays import I64
from lance_sql.values.value_text import values

MEMORY_BYTES: Final = 64 << 20
"""Memory limit for both streams; a partition has about a hundredth of the data on disk."""

_PARTITIONS: Final = 128
_PAIRS_AT_ONCE: Final = 32 * 1024


@dataclass(frozen=True)
class Paired:
    """Pairs of rows with equal keys, some at a time.

    before, after: parallel, in the schemas of their streams
    """

    before: pa.Table
    after: pa.Table


@dataclass(frozen=True)
class LeftOnly:
    rows: pa.Table


@dataclass(frozen=True)
class RightOnly:
    rows: pa.Table


Pair = Paired | LeftOnly | RightOnly


class Matcher(Protocol):
    """Rule for the rows that form pairs."""

    @property
    def pairs_may_differ(self) -> bool:
        """Whether rows of a pair may have different values, so that pairs are yielded."""

    def keys(self, rows: pa.RecordBatch | pa.Table) -> list[pa.Array]:
        """Returns columns in which the rows of a pair are equal."""

    def pairs(self, before: pa.Table, after: pa.Table) -> tuple[I64, I64]:
        """Returns the positions of the rows that form pairs, in the order of `after`; each row once at most."""


class RepeatedKey(InvalidArgument):
    """Two rows of one stream have the same key."""


@dataclass(frozen=True)
class UniqueKey:
    """Pairs rows with equal keys.

    columns: of both streams, with equal, non-nested types. NULL equals NULL
    names: of the streams, for messages
    """

    columns: Sequence[str]
    names: tuple[str, str] = ("the first table", "the second table")
    pairs_may_differ: ClassVar[bool] = True

    def keys(self, rows: pa.RecordBatch | pa.Table) -> list[pa.Array]:
        return keys.columns_of(rows, self.columns)

    def pairs(self, before: pa.Table, after: pa.Table) -> tuple[I64, I64]:
        """raises: RepeatedKey"""
        numbers = keys.numbered([self.keys(table) for table in (before, after)], nulls_are_equal=True)
        for table, mine, name in zip((before, after), numbers, self.names, strict=True):
            again = keys.repeated(mine)
            if len(again):
                row = table.slice(int(again[0]), 1)
                shown = ", ".join(f"{column}={values(row[column])[0]!r}" for column in self.columns)
                raise RepeatedKey(f"Two rows of {name} have the key {shown}: pass other key columns")
        return keys.pairs(*numbers)


def pair(
    before: pa.RecordBatchReader, after: pa.RecordBatchReader, matcher: Matcher, *, memory_bytes: int = MEMORY_BYTES
) -> Iterator[Pair]:
    """Yields all rows of both streams, each once; without pairs that cannot differ.

    raises: as the matcher
    """
    with ExitStack() as stack:
        held: list[list[pa.RecordBatch]] = [[], []]
        spilled: list[_Spill] = []
        size = 0
        work = Work(None)
        for side, reader in enumerate((before, after)):
            for batch in work.over(reader):
                if spilled:
                    spilled[side].add(batch, matcher)
                    continue
                held[side].append(batch)
                size += batch.nbytes
                if size > memory_bytes:
                    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="lance-sql-"))
                    spilled = [
                        stack.enter_context(_Spill(os.path.join(folder, str(number)), each.schema))
                        for number, each in enumerate((before, after))
                    ]
                    for number, batches in enumerate(held):
                        for each in batches:
                            spilled[number].add(each, matcher)
                    held = [[], []]
        if not spilled:
            first, second = (
                pa.Table.from_batches(batches, reader.schema)
                for batches, reader in zip(held, (before, after), strict=True)
            )
            yield from _pair(first, second, matcher)
            return
        for each in spilled:
            each.finish()
        for number in range(_PARTITIONS):
            yield from _pair(spilled[0].read(number), spilled[1].read(number), matcher)


class _Spill:
    """Stream spilled to partitions on disk, one file for each."""

    def __init__(self, folder: str, schema: pa.Schema) -> None:
        os.mkdir(folder)
        self._folder = folder
        self._schema = schema
        self._writers: dict[int, pa.RecordBatchStreamWriter] = {}

    def __enter__(self) -> _Spill:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def add(self, batch: pa.RecordBatch, matcher: Matcher) -> None:
        numbers = hashes.of_rows(matcher.keys(batch), batch.num_rows) >> np.uint64(64 - _PARTITIONS.bit_length() + 1)
        order = np.argsort(numbers, kind="stable")
        sorted_rows = selection.take(batch, pa.array(order))
        bounds = np.searchsorted(numbers[order], np.arange(_PARTITIONS + 1, dtype=np.uint64))
        for number in np.flatnonzero(np.diff(bounds)).tolist():
            start, end = int(bounds[number]), int(bounds[number + 1])
            self._writer(number).write_batch(sorted_rows.slice(start, end - start))

    def _writer(self, number: int) -> pa.RecordBatchStreamWriter:
        if number not in self._writers:
            self._writers[number] = pa.ipc.new_stream(self._path(number), self._schema)
        return self._writers[number]

    def finish(self) -> None:
        """Closes the files."""
        for writer in self._writers.values():
            writer.close()

    def read(self, number: int) -> pa.Table:
        """Reads a partition."""
        if number not in self._writers:
            return selection.empty(self._schema)
        with pa.OSFile(self._path(number)) as file:
            return pa.ipc.open_stream(file).read_all()

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"{number}.arrow")


def _pair(before: pa.Table, after: pa.Table, matcher: Matcher) -> Iterator[Pair]:
    """Pairs rows in memory, in the order of `after`."""
    at_before, at_after = matcher.pairs(before, after)
    for start in range(0, len(at_after) * matcher.pairs_may_differ, _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        yield Paired(selection.take(before, pa.array(at_before[part])), selection.take(after, pa.array(at_after[part])))
    for kind, table, paired in ((LeftOnly, before, at_before), (RightOnly, after, at_after)):
        rest = np.delete(np.arange(table.num_rows), paired)
        if len(rest):
            yield kind(selection.take(table, pa.array(rest)))
