"""Sorting more values than fit into memory, each with a number: sorted runs on disk, merged part by part.

values in --> runs, each sorted and in a file of its own --> for each range of values, its part of every run, sorted

Runs are sorted, and parts merged, by threads, a few at a time.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.index_files import order

U64 = npt.NDArray[np.uint64]

RUN_BYTES: Final = 32 << 20
"""Values and numbers of a run; sorting one takes five times as much."""

_AT_ONCE: Final = min(os.cpu_count() or 1, 2)
"""Runs that are sorted, and parts that are merged, at the same time: each takes memory of its own."""

_PARTS_OF_A_RUN: Final = 2
"""Into so many parts as runs have, what is merged is cut: with what is written meanwhile, a part may be smaller."""

_SAMPLES_OF_A_RUN: Final = 256
_ROWS_BETWEEN: Final = 512
_BATCH_ROWS: Final = 1 << 18


class Sorter:
    """Takes values with their numbers in any order, and gives them back sorted: NULL first, equal ones as they came.

    Use it as a context manager: it has a temporary folder once there is more than one run.
    """

    def __init__(self, type: pa.DataType, *, run_bytes: int = RUN_BYTES) -> None:
        self._schema = pa.schema([("values", type), ("numbers", pa.uint64())])
        self._run_bytes = run_bytes
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._runs: list[Future[pa.Table]] = []
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="lance-sort")

    def add(self, values: pa.Array, numbers: U64) -> None:
        """Takes some values, and a number for each."""
        batch = pa.RecordBatch.from_arrays([values, pa.array(numbers, pa.uint64())], schema=self._schema)
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        # what two runs hold is sorted at once where there is no more: that takes no longer than to sort the two
        if self._held_bytes >= (self._run_bytes if self._runs else 2 * self._run_bytes):
            self._spill_all()

    def sorted(self) -> Iterator[pa.RecordBatch]:
        """All values and numbers, as columns of these names, in order; once."""
        if not self._runs:
            if self._held:
                table, ordered = _with_order(self._held)
                parts = (partial(_taken, table, places) for places in _pieces(ordered))
                yield from itertools.chain.from_iterable(self._ahead(parts))
            return
        self._spill_all()
        runs = [each.result() for each in self._runs]
        cuts = _cuts(runs)
        edges = [_places(run, cuts) for run in runs]
        merging = (
            partial(
                _merged,
                _part(runs, edges, number),
                is_one_value=0 < number < len(cuts) and cuts[number - 1].key == cuts[number].key,
            )
            for number in range(len(cuts) + 1)
        )
        yield from itertools.chain.from_iterable(self._ahead(merging))

    def _ahead(self, every: Iterator[Callable[[], list[pa.RecordBatch]]]) -> Iterator[list[pa.RecordBatch]]:
        """What all of them return, in their order: threads are ahead."""
        asked: deque[Future[list[pa.RecordBatch]]] = deque()
        for each in every:
            asked.append(self._threads.submit(each))
            if len(asked) > _AT_ONCE:
                yield asked.popleft().result()
        while asked:
            yield asked.popleft().result()

    def __enter__(self) -> Sorter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._runs.clear()
        self._held.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def _spill_all(self) -> None:
        """What is held, as runs."""
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
        if len(self._runs) >= _AT_ONCE:
            # no more than so many wait for a thread, and one that failed ends it all
            self._runs[-_AT_ONCE].result()
        self._runs.append(self._threads.submit(_spilled, held, self._schema, path))


def _spilled(held: list[pa.RecordBatch], schema: pa.Schema, path: Path) -> pa.Table:
    """A sorted run in a file of its own."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in _sorted(held):
            writer.write_batch(batch)
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def _part(runs: Sequence[pa.Table], places: Sequence[Sequence[int]], number: int) -> list[pa.RecordBatch]:
    """What every run has between two cuts."""
    return [
        batch
        for run, own in zip(runs, places, strict=True)
        for batch in run.slice(own[number], own[number + 1] - own[number]).to_batches()
        if batch.num_rows
    ]


def _merged(parts: list[pa.RecordBatch], *, is_one_value: bool) -> list[pa.RecordBatch]:
    """Parts of all runs in order. Equal values stay in the order of the runs, which is how they came: there may be any
    number of them."""
    return parts if is_one_value or not parts else list(_sorted(parts))


def _cuts(runs: Sequence[pa.Table]) -> list[_Cut]:
    """Where every run is cut, so that what lies between two cuts is a part of a run. A value that is as frequent as
    that lies alone between two."""
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
    """A place in the order of all values: before those that are equal to one, or behind them."""

    key: tuple[int, Any]
    is_behind: bool


def _sorted(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    table, places = _with_order(batches)
    return itertools.chain.from_iterable(_taken(table, part) for part in _pieces(places))


def _with_order(batches: list[pa.RecordBatch]) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """The rows of all of them, and their places in order."""
    table = pa.Table.from_batches(batches).combine_chunks()
    # a caller that hands them over needs them no longer
    batches.clear()
    values = table.column("values")
    (array,) = values.chunks if values.num_chunks else (pa.array([], values.type),)
    return table, order.ascending(array)


def _pieces(places: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    return (places[start : start + _BATCH_ROWS] for start in range(0, len(places), _BATCH_ROWS))


def _taken(table: pa.Table, places: npt.NDArray[np.int64]) -> list[pa.RecordBatch]:
    taken: list[pa.RecordBatch] = table.take(pa.array(places)).to_batches()
    return taken


def _keys(rows: pa.Table) -> list[tuple[int, Any]]:
    """What values are sorted by."""
    return [
        (0, 0) if key is None else (1, key)
        for chunk in rows.column("values").chunks
        for key in order.keys(chunk).to_pylist()
    ]


def _places(run: pa.Table, cuts: Sequence[_Cut]) -> list[int]:
    """The places of a run at the cuts, with its beginning and its end."""
    starts = np.arange(0, run.num_rows, _ROWS_BETWEEN)
    coarse = _keys(run.take(pa.array(starts)))
    found = [0]
    for cut in cuts:
        bisect = bisect_right if cut.is_behind else bisect_left
        block = bisect(coarse, cut.key) - 1
        # the values between two that were looked at are looked at for a cut that lies there
        first = max(block, 0) * _ROWS_BETWEEN
        found.append(first + bisect(_keys(run.slice(first, _ROWS_BETWEEN)), cut.key) if block >= 0 else 0)
    return [*found, run.num_rows]
