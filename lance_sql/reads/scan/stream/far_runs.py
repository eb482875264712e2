"""Runs of remote fragments: prefetches their bytes for the decoders, many at once.

    columns that are read    fetched together: one round of requests for the run
    a filter before them     its columns first if much may be saved, then those of rows that passed

An I/O thread turns a run from requests into input of the kernels. Concurrency is limited by bytes, not by runs.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.file import ahead
from lance_sql.format.file.column import Column
from lance_sql.reads.scan import null_pages, read_ahead, read_shape, system_columns
from lance_sql.reads.scan.batches import BATCH_ROWS, Cutting, runs
from lance_sql.reads.scan.fragment_scans import FragmentScan
from lance_sql.reads.scan.pieces import FragmentRun
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.projection import Columns, OutputColumn
from lance_sql.reads.scan.stream.run_cache import PreparedRun
from lance_sql.store.ranges import ROUND_TRIP_BYTES
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges

Prepare: TypeAlias = Callable[[ReadPlan, FragmentRun], PreparedRun | None]

MAX_BYTES: Final = 128 * 1024 * 1024
"""Limit of bytes of runs that are in progress, or wait for their turn."""

FIRST_BYTES: Final = 16 * 1024 * 1024
"""Limit before the first batch is taken, if there is no filter: a query may need no more than that. With a limit of
rows, only one run is in progress at first, then this many bytes, which double from run to run."""

MOST_RUNS: Final = read_ahead.NUM_WAITING_THREADS
"""Limit of runs with a limit of rows: short ones count as few bytes, and are opened for nothing behind it."""

_ROWS_PER_RANGE: Final = 8
"""If a range of passing rows has fewer rows than this, the filter is evaluated again with all columns."""

_MOST_OTHERS: Final = 2
"""If a part of the filter is evaluated on decoded values, other columns of up to so many times the bytes of its columns
are fetched with them."""

_CHUNK_ROWS: Final = 2048
"""If ranges of passing rows are this close, hardly a chunk of a page is skipped."""

_ADDRESS: Final = system_columns.field(system_columns.ROW_ADDRESS)
_ADDRESSES: Final = Columns([OutputColumn(system_columns.ROW_ADDRESS, None, (), _ADDRESS)])
_OFFSET: Final = (1 << 32) - 1


class FarRuns:
    """The runs of a scan in order: prepared for the kernels, or unprepared if these cannot read them.

    prepare: opens the pages of a run for the kernels; returns None if Python is needed to read it
    """

    def __init__(self, plan: ReadPlan, fragments: Iterable[FragmentScan], cutting: Cutting, prepare: Prepare) -> None:
        self._plan = plan
        self._prepare = prepare
        self._keeps_all = cutting.keeps_all
        self._has_limit = cutting.batches_of_run is not None
        self._runs = runs(plan, plan.prefetched(fragments, has_limit=self._has_limit), cutting)
        self._next: Future[_kernels.FragmentRows | FragmentRun | None] | None = None
        self._reads_together = False

    @property
    def is_ready(self) -> bool:
        """Whether the next run is available without waiting."""
        return self._next is None or self._next.done()

    def __iter__(self) -> Iterator[_kernels.FragmentRows | FragmentRun]:
        pending: deque[_Pending] = deque()
        num_bytes = 0
        is_wanted = self._keeps_all or self._plan.residual is not None
        most = 0 if self._has_limit else MAX_BYTES if is_wanted else FIRST_BYTES
        most_runs = 1 if self._has_limit else sys.maxsize
        is_end = False
        try:
            while True:
                while not is_end and (not pending or (num_bytes < most and len(pending) < most_runs)):
                    run = next(self._runs, None)
                    if run is None:
                        is_end = True
                        break
                    size = self._num_bytes(run)
                    if pending and num_bytes + size > most:
                        # it is the first of the later runs
                        self._runs = _with(run, self._runs)
                        break
                    pending.append(_Pending(self._begin(run), size))
                    num_bytes += size
                if not pending:
                    return
                self._next = pending[0].future
                result = self._next.result()
                num_bytes -= pending.popleft().num_bytes
                self._next = pending[0].future if pending else None
                if result is not None:
                    yield result
                if self._has_limit:
                    most, most_runs = min(max(2 * most, FIRST_BYTES), MAX_BYTES), MOST_RUNS
                else:
                    most = MAX_BYTES
        finally:
            for each in pending:
                each.future.cancel()

    def _num_bytes(self, run: FragmentRun) -> int:
        """Returns the approximate number of bytes to be fetched."""
        if run.is_short:
            return sum(file.size_bytes for file in run.fragment.fragment.files)
        shape = read_shape.of(self._plan, run.fragment)
        return shape.stored_bytes * row_ranges.count(run.rows) // max(run.fragment.num_rows, 1)

    def _begin(self, run: FragmentRun) -> Future[_kernels.FragmentRows | FragmentRun | None]:
        """Begins to read a run, unless it is left to Python."""
        if run.why_arrays is None:
            return read_ahead.waiting(partial(self._read, run))
        done: Future[_kernels.FragmentRows | FragmentRun | None] = Future()
        done.set_result(run)
        return done

    def _read(self, run: FragmentRun) -> _kernels.FragmentRows | FragmentRun | None:
        """Returns the run for the kernels, or the rest of it for Python; None if no row passes.

        raises: CorruptFile, UnsupportedFeature
        """
        plan = null_pages.answered(self._plan, [run.whole])
        tested = [column for field in plan.filter_fields for column in run.fragment.columns_of(field)]
        everything = list(plan.columns_of(run.fragment))
        others = [column for column in everything if column not in tested]
        least = ROUND_TRIP_BYTES
        if plan.steps[1] is not None:
            # evaluating the filter twice takes longer than fetching as many bytes as it reads
            least = max(least, _MOST_OTHERS * _share(tested, run))
        if not tested or self._reads_together or _share(others, run) <= least:
            with ahead.holding(everything, run.rows):
                return _in_kernels(self._prepare(plan, run), run)
        with ahead.holding(tested, run.rows):
            passed = self._passed(plan, run)
            if passed is None:
                return run
            if len(passed) == 0:
                return None
            self._reads_together |= len(passed) * _CHUNK_ROWS > row_ranges.count(run.rows)
            if len(passed) * _ROWS_PER_RANGE > row_ranges.count(run.rows):
                with ahead.holding(others, run.rows):
                    return _in_kernels(self._prepare(plan, run), run)
            left = replace(run, rows=passed, ends=_ends(passed), passes=True, is_alone=False)
            with ahead.holding(others, passed):
                return _in_kernels(self._prepare(plan, left), left)

    def _passed(self, plan: ReadPlan, run: FragmentRun) -> RowRanges | None:
        """Returns the rows of the run that pass the filter; None if the kernels cannot evaluate it."""
        prepared = self._prepare(replace(plan, columns=_ADDRESSES), run)
        if prepared is None:
            return None
        schema = pa.schema([_ADDRESS])
        stream = _kernels.BatchStream(iter([prepared.rows]), schema, most_ahead=1, eager=False)
        addresses = [pa.RecordBatch._import_from_c(batch.address, schema).column(0).to_numpy() for batch in stream]
        if not addresses:
            return row_ranges.EMPTY
        return row_ranges.from_sorted((np.concatenate(addresses) & np.uint64(_OFFSET)).astype(np.int64))


@dataclass(frozen=True, slots=True)
class _Pending:
    """A run in progress.

    num_bytes: expected memory
    """

    future: Future[_kernels.FragmentRows | FragmentRun | None]
    num_bytes: int


def _with(first: FragmentRun, others: Iterator[FragmentRun]) -> Iterator[FragmentRun]:
    yield first
    yield from others


def _in_kernels(prepared: PreparedRun | None, run: FragmentRun) -> _kernels.FragmentRows | FragmentRun:
    return run if prepared is None else prepared.rows


def _share(columns: Iterable[Column], run: FragmentRun) -> int:
    """Returns the approximate bytes of columns that are in a run."""
    stored = sum(read_shape.stored_bytes(column) for column in columns)
    return stored * row_ranges.count(run.rows) // max(run.fragment.num_rows, 1)


def _ends(rows: RowRanges) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Returns the ends of batches of these rows."""
    num_rows = row_ranges.count(rows)
    return np.append(np.arange(BATCH_ROWS, num_rows, BATCH_ROWS, dtype=np.int64), num_rows)
