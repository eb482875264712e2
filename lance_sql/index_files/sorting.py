"""Sorting more values than fit into memory, each with a number: sorted runs on disk, merged part by part.

values in --> runs, each sorted and in a file of its own --> for each range of values, its part of every run, sorted
"""

from __future__ import annotations

import itertools
import tempfile
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.index_files import order

U64 = npt.NDArray[np.uint64]

RUN_BYTES: Final = 64 << 20
"""Values and numbers of a run; sorting one takes a small multiple of it."""

_SAMPLES_OF_A_RUN: Final = 256


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
        self._runs: list[pa.Table] = []

    def add(self, values: pa.Array, numbers: U64) -> None:
        """Takes some values, and a number for each."""
        batch = pa.RecordBatch.from_arrays([values, pa.array(numbers, pa.uint64())], schema=self._schema)
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes >= self._run_bytes:
            self._spill()

    def sorted(self) -> Iterator[pa.RecordBatch]:
        """All values and numbers, as columns of these names, in order; once."""
        if not self._runs:
            if self._held:
                yield from _sorted(self._held).to_batches(max_chunksize=1 << 18)
            return
        if self._held:
            self._spill()
        splits = self._splits()
        places = [[0] * len(self._runs), *splits, [run.num_rows for run in self._runs]]
        for starts, ends in itertools.pairwise(places):
            parts = [
                run.slice(start, end - start).combine_chunks().to_batches()
                for run, start, end in zip(self._runs, starts, ends, strict=True)
                if end > start
            ]
            if parts:
                yield from _sorted([batch for part in parts for batch in part]).to_batches(max_chunksize=1 << 18)

    def __enter__(self) -> Sorter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._runs.clear()
        self._held.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def _spill(self) -> None:
        held, self._held, self._held_bytes = self._held, [], 0
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="lance-sort-")
        path = Path(self._folder.name) / f"{len(self._runs)}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, self._schema) as writer:
            writer.write_table(_sorted(held), max_chunksize=1 << 20)
        self._runs.append(pa.ipc.open_file(pa.memory_map(str(path))).read_all())

    def _splits(self) -> list[list[int]]:
        """Places that cut every run at the same values, so that what lies between two cuts is about one run."""
        samples = []
        for run in self._runs:
            step = max(1, run.num_rows // _SAMPLES_OF_A_RUN)
            samples += [_key(run, place) for place in range(0, run.num_rows, step)]
        samples.sort()
        cuts = [samples[len(samples) * i // len(self._runs)] for i in range(1, len(self._runs))]
        return [[_place(run, cut) for run in self._runs] for cut in sorted(set(cuts))]


def _sorted(batches: list[pa.RecordBatch]) -> pa.Table:
    table = pa.Table.from_batches(batches).combine_chunks()
    values = table.column("values")
    (array,) = values.chunks if values.num_chunks else (pa.array([], values.type),)
    return table.take(pa.array(order.ascending(array))).combine_chunks()


def _key(run: pa.Table, place: int) -> tuple[int, Any]:
    """What a value of a run is sorted by."""
    chunk = run.column("values").slice(place, 1).combine_chunks()
    array = chunk.chunk(0) if isinstance(chunk, pa.ChunkedArray) else chunk
    key = order.keys(array)[0].as_py()
    return (0, 0) if key is None else (1, key)


def _place(run: pa.Table, cut: tuple[int, Any]) -> int:
    """The first place of a run whose value is not below the cut."""
    return bisect_left(range(run.num_rows), cut, key=lambda place: _key(run, place))
