"""Runs of fragments that are far away: their bytes are asked for ahead of the decoders, many at once.

    columns that are read    asked for together: one round of requests brings the run
    a filter before them     its columns first where much may be spared, then those of rows that passed

A thread that waits takes a run from its requests to what the kernels decode. So much is under way at once as may be
held: bytes are counted, not runs.
"""

from __future__ import annotations

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
from lance_sql.format.file.read_columns import Column
from lance_sql.reads.scan import null_pages, read_ahead, read_shape, system_columns
from lance_sql.reads.scan.batches import BATCH_ROWS, Cutting, Run, runs
from lance_sql.reads.scan.plan import FragmentScan, ReadPlan
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.reads.scan.stream.run_cache import PreparedRun
from lance_sql.store.ranges import ROUND_TRIP_BYTES
from lance_sql.table.wide_fragments import is_wide
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges

Prepare: TypeAlias = Callable[[ReadPlan, Run], PreparedRun | None]

MAX_BYTES: Final = 128 * 1024 * 1024
"""Of runs that are under way, or wait for their turn."""

FIRST_BYTES: Final = 16 * 1024 * 1024
"""Of them before the first batch was taken, where there is no filter: a query may want no more than that."""

_ROWS_PER_RANGE: Final = 8
"""With a range of passing rows in fewer rows than this, the filter is carried out once more with all columns."""

_CHUNK_ROWS: Final = 2048
"""Where ranges of passing rows lie so near, hardly a chunk of a page is spared."""

_ADDRESS: Final = OutputColumn(system_columns.ROW_ADDRESS, None, (), system_columns.field(system_columns.ROW_ADDRESS))
_OFFSET: Final = (1 << 32) - 1


class FarRuns:
    """The runs of a scan in their order: as the kernels read them, or as they are where these cannot.

    prepare: opens the pages of a run for the kernels; None where Python has a part in reading it
    """

    def __init__(self, plan: ReadPlan, fragments: Iterable[FragmentScan], cutting: Cutting, prepare: Prepare) -> None:
        self._plan = plan
        self._prepare = prepare
        self._keeps_all = cutting.keeps_all
        self._runs = runs(plan, plan.prefetched(fragments, has_limit=False), cutting)
        self._next: Future[_kernels.FragmentRows | Run | None] | None = None
        self._reads_together = False

    @property
    def is_ready(self) -> bool:
        """Whether nobody has to wait for what comes next."""
        return self._next is None or self._next.done()

    def __iter__(self) -> Iterator[_kernels.FragmentRows | Run]:
        pending: deque[_Pending] = deque()
        num_bytes = 0
        is_wanted = self._keeps_all or self._plan.residual is not None
        most = MAX_BYTES if is_wanted else FIRST_BYTES
        is_end = False
        try:
            while True:
                while not is_end and (not pending or num_bytes < most):
                    run = next(self._runs, None)
                    if run is None:
                        is_end = True
                        break
                    size = self._num_bytes(run)
                    if pending and num_bytes + size > most:
                        # it is the first of those that follow
                        self._runs = _with(run, self._runs)
                        break
                    pending.append(_Pending(read_ahead.waiting(partial(self._read, run)), size))
                    num_bytes += size
                if not pending:
                    return
                self._next = pending[0].future
                result = self._next.result()
                num_bytes -= pending.popleft().num_bytes
                self._next = pending[0].future if pending else None
                if result is not None:
                    yield result
                most = MAX_BYTES
        finally:
            for each in pending:
                each.future.cancel()

    def _num_bytes(self, run: Run) -> int:
        """That are going to be fetched, about."""
        shape = read_shape.of(self._plan, run.fragment)
        return shape.stored_bytes * row_ranges.count(run.rows) // max(run.fragment.num_rows, 1)

    def _read(self, run: Run) -> _kernels.FragmentRows | Run | None:
        """The run as the kernels read it, or what is left of it for Python; None where no row passes.

        raises: CorruptFile, UnsupportedFeature
        """
        if run.is_short or is_wide(run.fragment.fragment, len(self._plan.columns)):
            return run
        plan = null_pages.answered(self._plan, [run.whole])
        tested = [column for field in plan.filter_fields for column in run.fragment.columns_of(field)]
        everything = list(plan.columns_of(run.fragment))
        others = [column for column in everything if column not in tested]
        if not tested or self._reads_together or _share(others, run) <= ROUND_TRIP_BYTES:
            with ahead.holding(everything, run.rows):
                return _native(self._prepare(plan, run), run)
        with ahead.holding(tested, run.rows):
            passed = self._passed(plan, run)
            if passed is None:
                return run
            if len(passed) == 0:
                return None
            self._reads_together |= len(passed) * _CHUNK_ROWS > row_ranges.count(run.rows)
            if len(passed) * _ROWS_PER_RANGE > row_ranges.count(run.rows):
                with ahead.holding(others, run.rows):
                    return _native(self._prepare(plan, run), run)
            left = replace(run, rows=passed, ends=_ends(passed), passes=True)
            with ahead.holding(others, passed):
                return _native(self._prepare(plan, left), left)

    def _passed(self, plan: ReadPlan, run: Run) -> RowRanges | None:
        """The rows of the run that pass the filter; None where the kernels cannot tell."""
        prepared = self._prepare(replace(plan, columns=(_ADDRESS,)), run)
        if prepared is None:
            return None
        schema = pa.schema([_ADDRESS.arrow])
        stream = _kernels.BatchStream(iter([prepared.rows]), schema, most_ahead=1, eager=False)
        addresses = [pa.RecordBatch._import_from_c(batch.address, schema).column(0).to_numpy() for batch in stream]
        if not addresses:
            return row_ranges.EMPTY
        return row_ranges.from_sorted((np.concatenate(addresses) & np.uint64(_OFFSET)).astype(np.int64))


@dataclass(frozen=True, slots=True)
class _Pending:
    """A run that is under way.

    num_bytes: that it is going to hold
    """

    future: Future[_kernels.FragmentRows | Run | None]
    num_bytes: int


def _with(first: Run, others: Iterator[Run]) -> Iterator[Run]:
    yield first
    yield from others


def _native(prepared: PreparedRun | None, run: Run) -> _kernels.FragmentRows | Run:
    return run if prepared is None else prepared.rows


def _share(columns: Iterable[Column], run: Run) -> int:
    """The bytes of columns that a run has of them, about."""
    stored = sum(read_shape.stored_bytes(column) for column in columns)
    return stored * row_ranges.count(run.rows) // max(run.fragment.num_rows, 1)


def _ends(rows: RowRanges) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The ends of batches of these rows."""
    num_rows = row_ranges.count(rows)
    return np.append(np.arange(BATCH_ROWS, num_rows, BATCH_ROWS, dtype=np.int64), num_rows)
