"""Rows of two streams by their keys, within bounded memory.

    before   1 a, 2 b, 3 c        pairs        2 b - 2 x,  3 c - 3 c
    after    2 x, 3 c, 4 d        only before  1 a        only after  4 d

Up to a bound both streams are held. Beyond it their rows go to partitions on disk by the hash of their keys, so that
equal keys meet in one partition, and a partition is small enough to be held: the first steps of a GRACE hash join.

Source: Kitsuregawa, Tanaka and Moto-oka, "Application of hash to data base machine and its architecture", 1983
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.runtime.progress import Work
from lance_sql.values import selection
from lance_sql.values.arrays import U64
from lance_sql.values.key_numbers import numbered
from lance_sql.values.value_text import values

MEMORY_BYTES: Final = 256 << 20
"""So much of both streams is held, or of a partition: about a hundredth of what is on disk."""

_PARTITIONS: Final = 128
_PAIRS_AT_ONCE: Final = 32 * 1024
_NULL: Final = 0x9E3779B97F4A7C15
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Paired:
    """Rows of one key, some at a time.

    before, after: parallel, in the schemas of their streams
    """

    before: pa.Table
    after: pa.Table


@dataclass(frozen=True)
class OnlyBefore:
    rows: pa.Table


@dataclass(frozen=True)
class OnlyAfter:
    rows: pa.Table


Meeting = Paired | OnlyBefore | OnlyAfter


def pair(
    before: pa.RecordBatchReader,
    after: pa.RecordBatchReader,
    key: Sequence[str],
    *,
    memory_bytes: int = MEMORY_BYTES,
    names: tuple[str, str] = ("the first table", "the second table"),
) -> Iterator[Meeting]:
    """All rows of both streams, each once.

    key: columns of both streams, of the same types and without parts. NULL is equal to NULL
    names: of the streams, for messages
    raises: InvalidArgument where two rows of one stream have the same key
    """
    with ExitStack() as stack:
        held: list[list[pa.RecordBatch]] = [[], []]
        spilled: list[_Spill] = []
        size = 0
        work = Work(None)
        for side, reader in enumerate((before, after)):
            for batch in work.over(reader):
                if spilled:
                    spilled[side].add(batch, key)
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
                            spilled[number].add(each, key)
                    held = [[], []]
        if not spilled:
            first, second = (
                pa.Table.from_batches(batches, reader.schema)
                for batches, reader in zip(held, (before, after), strict=True)
            )
            yield from _pair(first, second, key, names)
            return
        for each in spilled:
            each.finish()
        for number in range(_PARTITIONS):
            yield from _pair(spilled[0].read(number), spilled[1].read(number), key, names)


class _Spill:
    """A stream in partitions on disk, one file for each."""

    def __init__(self, folder: str, schema: pa.Schema) -> None:
        os.mkdir(folder)
        self._folder = folder
        self._schema = schema
        self._writers: dict[int, pa.RecordBatchStreamWriter] = {}

    def __enter__(self) -> _Spill:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def add(self, batch: pa.RecordBatch, key: Sequence[str]) -> None:
        numbers = _hashes([batch.column(name) for name in key]) % np.uint64(_PARTITIONS)
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
        """Ends the files."""
        for writer in self._writers.values():
            writer.close()

    def read(self, number: int) -> pa.Table:
        """A partition."""
        if number not in self._writers:
            return selection.empty(self._schema)
        with pa.OSFile(self._path(number)) as file:
            return pa.ipc.open_stream(file).read_all()

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"{number}.arrow")


def _pair(before: pa.Table, after: pa.Table, key: Sequence[str], names: tuple[str, str]) -> Iterator[Meeting]:
    """Rows that are held, in the order of `after`."""
    ids = numbered([_keys(table, key) for table in (before, after)], nulls_are_equal=True)
    orders = []
    for table, mine, name in zip((before, after), ids, names, strict=True):
        order = np.argsort(mine, kind="stable")
        again = np.flatnonzero(mine[order][1:] == mine[order][:-1])
        if len(again):
            shown = ", ".join(f"{column}={values(table[column].slice(order[again[0]], 1))[0]!r}" for column in key)
            raise InvalidArgument(f"Two rows of {name} have the key {shown}: give columns that tell rows apart")
        orders.append(order)
    positions = np.searchsorted(ids[0][orders[0]], ids[1])
    positions = np.minimum(positions, max(before.num_rows - 1, 0))
    are_paired = ids[0][orders[0]][positions] == ids[1] if before.num_rows else np.zeros(after.num_rows, np.bool_)
    at_after = np.flatnonzero(are_paired)
    at_before = orders[0][positions[at_after]] if before.num_rows else np.empty(0, np.int64)
    for start in range(0, len(at_after), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        yield Paired(selection.take(before, pa.array(at_before[part])), selection.take(after, pa.array(at_after[part])))
    left = np.ones(before.num_rows, np.bool_)
    left[at_before] = False
    for kind, table, rest in ((OnlyBefore, before, left), (OnlyAfter, after, ~are_paired)):
        if rest.any():
            yield kind(selection.take(table, pa.array(np.flatnonzero(rest))))


def _keys(table: pa.Table, key: Sequence[str]) -> list[pa.Array]:
    return [_plain(pa.concat_arrays(table[name].chunks or [pa.nulls(0, table[name].type)])) for name in key]


def _hashes(keys: Sequence[pa.Array]) -> U64:
    """Equal keys have equal numbers, in this process."""
    combined = np.zeros(len(keys[0]), np.uint64)
    for column in keys:
        encoded = _plain(column).dictionary_encode()
        each = [hash(value) & (2**64 - 1) if value == value else 0 for value in encoded.dictionary.to_pylist()]
        hashes = np.array([*each, _NULL], np.uint64)
        indices = encoded.indices.cast(pa.int64()).fill_null(len(each)).to_numpy()
        combined = (combined * _ODD) ^ hashes[indices]
    # values that lie side by side have hashes that do
    return (combined ^ (combined >> np.uint64(32))) * _ODD >> np.uint64(40)


def _plain(array: pa.Array) -> pa.Array:
    """Keys as values that have a hash: times as whole numbers."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_temporal(array.type) and not pa.types.is_interval(array.type):
        return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return array
