"""External sorting of values with numbers: sorted runs on disk, merged part by part.

values in --> sorted runs, one file each --> for each range of values, its part of every run, merged
"""

from __future__ import annotations

import itertools
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from lance_sql.format.index_files import order
from lance_sql.values.arrays import U64

RUN_BYTES: Final = 32 << 20
"""Size of values and numbers of a run; sorting one takes five times as much memory."""

_PARTS_OF_A_RUN: Final = 2
"""Parts per run in a merge: parts may be smaller than runs, because the output needs memory too."""

_SAMPLES_OF_A_RUN: Final = 256
_ROWS_BETWEEN: Final = 512
_BATCH_ROWS: Final = 1 << 18


class Sorter:
    """Sorts values with numbers: NULL first, stable for equal values.

    Use it as a context manager: it has a temporary folder if there are several runs.
    """

    def __init__(self, type: pa.DataType, *, run_bytes: int = RUN_BYTES) -> None:
        self._schema = pa.schema([("values", type), ("numbers", pa.uint64())])
        self._run_bytes = run_bytes
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._runs: list[pa.Table] = []

    def add(self, values: pa.Array, numbers: U64) -> None:
        """Adds values, and a number for each."""
        batch = pa.RecordBatch.from_arrays([values, pa.array(numbers, pa.uint64())], schema=self._schema)
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        # up to two runs are sorted in memory if there is no more data: that is as fast as sorting both separately
        if self._held_bytes >= (self._run_bytes if self._runs else 2 * self._run_bytes):
            self._spill_all()

    def sorted(self) -> Iterator[pa.RecordBatch]:
        """Yields all values and numbers, as columns of these names, in order; only once."""
        if not self._runs:
            if self._held:
                yield from _sorted(self._held)
            return
        self._spill_all()
        cuts = _cuts(self._runs)
        edges = [_cut_positions(run, cuts) for run in self._runs]
        for number in range(len(cuts) + 1):
            parts = _part(self._runs, edges, number)
            if not parts:
                continue
            if 0 < number < len(cuts) and cuts[number - 1].key == cuts[number].key:
                # equal values in the order of the runs, which is the input order: there may be any number of them
                yield from parts
            else:
                yield from _sorted(parts)

    def __enter__(self) -> Sorter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._runs.clear()
        self._held.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def _spill_all(self) -> None:
        """Spills the held values as runs."""
        every, self._held, self._held_bytes = self._held[::-1], [], 0
        while every:
            held, num_bytes = [], 0
            while every and num_bytes < self._run_bytes:
                held.append(every.pop())
                num_bytes += held[-1].nbytes
            self._spill(held)

    def _spill(self, held: list[pa.RecordBatch]) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="lance-sort-")
        path = Path(self._folder.name) / f"{len(self._runs)}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, self._schema) as writer:
            for batch in _sorted(held):
                writer.write_batch(batch)
        self._runs.append(pa.ipc.open_file(pa.memory_map(str(path))).read_all())


def _part(runs: Sequence[pa.Table], edges: Sequence[Sequence[int]], number: int) -> list[pa.RecordBatch]:
    """Returns the rows of every run between two cuts."""
    return [
        batch
        for run, own in zip(runs, edges, strict=True)
        for batch in run.slice(own[number], own[number + 1] - own[number]).to_batches()
        if batch.num_rows
    ]


def _cuts(runs: Sequence[pa.Table]) -> list[_Cut]:
    """Chooses the cuts of all runs, so that the rows between two cuts have the size of a part. A very frequent value
    gets its own part."""
    samples = []
    for run in runs:
        step = max(1, run.num_rows // _SAMPLES_OF_A_RUN)
        samples += _keys(run.take(pa.array(np.arange(0, run.num_rows, step))))
    samples.sort()
    num_parts = _PARTS_OF_A_RUN * len(runs)
    chosen = [samples[len(samples) * i // num_parts] for i in range(1, num_parts)]
    frequent = {key for key, another in itertools.pairwise(chosen) if key == another}
    return sorted({_Cut(key, False) for key in chosen} | {_Cut(key, True) for key in frequent})


class _Cut(NamedTuple):
    """A position in the sorted order: before or after all values equal to the key."""

    key: tuple[int, Any]
    is_behind: bool


def _sorted(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    table = pa.Table.from_batches(batches).combine_chunks()
    # the caller no longer needs the batches that it passes
    batches.clear()
    values = table.column("values")
    (array,) = values.chunks if values.num_chunks else (pa.array([], values.type),)
    positions = order.ascending(array)
    # the consumer writes one batch while the next is sorted
    for start in range(0, len(positions), _BATCH_ROWS):
        yield from table.take(pa.array(positions[start : start + _BATCH_ROWS])).to_batches()


def _keys(rows: pa.Table) -> list[tuple[int, Any]]:
    """Returns the sort keys of values."""
    return [
        (0, 0) if key is None else (1, key)
        for chunk in rows.column("values").chunks
        for key in order.keys(chunk).to_pylist()
    ]


def _cut_positions(run: pa.Table, cuts: Sequence[_Cut]) -> list[int]:
    """Returns the positions of the cuts in a run, with its start and its end."""
    starts = np.arange(0, run.num_rows, _ROWS_BETWEEN)
    coarse = _keys(run.take(pa.array(starts)))
    positions = [0]
    for cut in cuts:
        bisect = bisect_right if cut.is_behind else bisect_left
        block = bisect(coarse, cut.key) - 1
        # a cut between two sampled values is located among the values between them
        first = max(block, 0) * _ROWS_BETWEEN
        positions.append(first + bisect(_keys(run.slice(first, _ROWS_BETWEEN)), cut.key) if block >= 0 else 0)
    return [*positions, run.num_rows]
