"""Fragments whose batches the kernels read alone: decoded and filtered ahead, without Python.

Python opens the pages of some batches, and passes them on as one value (`_kernels.FragmentRows`). Threads of the
kernels decode them, in order and a bounded number ahead. The consumer gets Arrow arrays through the C interface
(`_kernels.BatchStream`). Python reads other batches one by one, in the same stream.
"""

from __future__ import annotations

import atexit
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import NoReturn, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.file import page_parts
from lance_sql.format.file.column_rows import has_streams
from lance_sql.format.file.file_bytes import FileBytes
from lance_sql.format.file.located_rows import InPages
from lance_sql.format.file.open_column import Items
from lance_sql.reads.scan import batches, null_pages, read_ahead
from lance_sql.reads.scan.batches import Cutting, runs_of
from lance_sql.reads.scan.fragment_scans import FragmentScan
from lance_sql.reads.scan.pieces import FragmentRun
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.stream.evaluation import Evaluated, evaluated
from lance_sql.reads.scan.stream.far_runs import FarRuns
from lance_sql.reads.scan.stream.filter import EncodedFilter, bound_filter
from lance_sql.reads.scan.stream.output import NOTHING, Output, OutputLeaf, output
from lance_sql.reads.scan.stream.run_cache import CachedRuns, PreparedRun
from lance_sql.store import ByteRange
from lance_sql.table import learning
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges

Decode: TypeAlias = Callable[[Iterable[FragmentRun]], Iterator[pa.RecordBatch]]
Fail: TypeAlias = Callable[[bool, int, "int | None", str, bool], NoReturn]

SECONDS_TO_SETTLE = 2.0
"""Maximum time to wait at exit for threads of an engine inside a stream."""


def why_none(plan: ReadPlan, fragments: Sequence[FragmentScan], batch_rows: int | None) -> str | None:
    """Returns the reason why a scan has no stream at all; None if it has one. Opens no files.

    batch_rows: as for `Cutting`
    """
    if plan.reads_nothing:
        return "no values"
    if batch_rows is None and batches.are_few_rows(plan, fragments):
        return "few rows"
    return None if plan.columns.are_fields else "a column more than once"


class Batches:
    """Input of a stream: runs that the kernels read, and the batches of other runs.

    decode: reads runs that the kernels cannot read
    """

    def __init__(self, plan: ReadPlan, fragments: Iterable[FragmentScan], cutting: Cutting, decode: Decode) -> None:
        self._far = FarRuns(plan, fragments, cutting, prepared) if plan.fragments.concurrency > 1 else None
        runs = _runs(plan, fragments, cutting) if self._far is None else iter(self._far)
        self._batches = _batches(runs, decode)

    def __iter__(self) -> Iterator[_kernels.FragmentRows | pa.RecordBatch]:
        return self

    def __next__(self) -> _kernels.FragmentRows | pa.RecordBatch:
        return next(self._batches)

    def is_ready(self) -> bool:
        """Whether the next item is available without waiting for a request."""
        return self._far is None or self._far.is_ready


def _batches(
    left: Iterator[_kernels.FragmentRows | FragmentRun], decode: Decode
) -> Iterator[_kernels.FragmentRows | pa.RecordBatch]:
    streamed: list[_kernels.FragmentRows] = []

    def others(first: FragmentRun) -> Iterator[FragmentRun]:
        yield first
        for each in left:
            if isinstance(each, _kernels.FragmentRows):
                streamed.append(each)
                return
            yield each

    with read_ahead.running():
        for each in left:
            if isinstance(each, _kernels.FragmentRows):
                yield each
                continue
            yield from decode(others(each))
            if streamed:
                yield streamed.pop()


def _runs(
    plan: ReadPlan, fragments: Iterable[FragmentScan], cutting: Cutting
) -> Iterator[_kernels.FragmentRows | FragmentRun]:
    """Yields all runs, in scan order: prepared or cached ones for the kernels, the others unprepared."""
    for each in fragments:
        cached = CachedRuns(plan, each, cutting)
        num_cached = 0
        for cached_run in takewhile(cached.is_there, cached.runs):
            num_cached += 1
            yield cached_run.rows
        if num_cached and num_cached == len(cached.runs):
            cutting = cutting.behind_first
            continue
        prepared_runs: list[PreparedRun | None] = []
        for run in islice(runs_of(plan, each, cutting), num_cached, None):
            cutting = cutting.behind_first
            prepared_run = prepared(plan, run)
            if cached.keeps:
                prepared_runs.append(prepared_run)
            yield run if prepared_run is None else prepared_run.rows
        if not num_cached:
            cached.keep(prepared_runs)


@dataclass(frozen=True, slots=True)
class StreamedRun:
    """A run whose pages are open for a stream.

    numbers: the steps that rows have to pass
    last: the part of the filter that is evaluated on decoded values, and its `inputs`
    """

    rows: RowRanges
    tests: EncodedFilter
    numbers: Sequence[_kernels.FilterStep]
    last: Evaluated | None
    delivered: Output
    inputs: Output

    @property
    def leaves(self) -> list[OutputLeaf]:
        """The leaves of all columns whose values are decoded."""
        return [*self.delivered.leaves, *self.inputs.leaves]


def how(plan: ReadPlan, run: FragmentRun) -> StreamedRun | str:
    """Chooses how a run is read: by a stream of the kernels, for which its pages are opened, or batch by batch as
    arrays, and then returns the reason. See `column_rows.why_python` for the columns of these arrays.

    raises: CorruptFile, UnsupportedFeature
    """
    reason = run.why_arrays
    if reason is not None:
        return reason
    plan = null_pages.answered(plan, [run.whole])
    fragment, rows = run.fragment, np.ascontiguousarray(run.rows)
    tests, numbers, rest = bound_filter(plan, fragment, rows)
    last = evaluated(plan, rest) if rest is not None else None
    delivered = output(plan if last is None else last.others, fragment, rows)
    inputs = output(last.inputs, fragment, rows) if last is not None else NOTHING
    if isinstance(delivered, str) or isinstance(inputs, str):
        if not all(has_streams(column.file) for column in plan.columns_of(fragment)):
            return "a short file"
        return f"with {delivered if isinstance(delivered, str) else inputs}, which has no stream"
    streamed = StreamedRun(rows, tests, numbers, last, delivered, inputs)
    if run.is_alone and any(leaf.column.rows_of(rows).are_read_over for leaf in streamed.leaves):
        return "few rows of long pages"
    return streamed


def prepared(plan: ReadPlan, run: FragmentRun) -> PreparedRun | None:
    """Returns the run with opened pages and their bytes; None if it is read batch by batch.

    raises: CorruptFile, UnsupportedFeature
    """
    streamed = how(plan, run)
    if isinstance(streamed, str):
        return None
    fragment, rows, tests, last = run.fragment, streamed.rows, streamed.tests, streamed.last
    tested = [each.opened for each in tests.columns]
    leaves, num_delivered = streamed.leaves, len(streamed.delivered.leaves)
    data = page_parts.fetch([*tested, *(leaf.column.rows_of(rows) for leaf in leaves)])
    columns = [
        _kernels.DeliveredColumn(
            leaf.column.reader, parts, leaf.nullable, _around(leaf.items, rows), leaf.column.lent(parts), leaf.is_json
        )
        for leaf, parts in zip(leaves, data[len(tested) :], strict=True)
    ]
    # after fetching: statistics are learned of the file with these bytes
    learned = [
        learning.unknown_bounds(fragment, each.field, rows) if each.field is not None else None
        for each in tests.columns
    ]
    fragment_rows = _kernels.FragmentRows(
        [
            _kernels.TestedColumn(tested[column].column.reader, data[column], answer, bounds)
            for column, answer, bounds in zip(tests.columns_of, tests.answers, tests.once(learned), strict=True)
        ],
        tests.pairs(data),
        streamed.numbers,
        columns[:num_delivered],
        streamed.delivered.shapes,
        rows,
        _cut_at(run, rows, streamed.delivered.borders | streamed.inputs.borders),
        _failing(tests.located(), [(leaf.name, leaf.column.where) for leaf in leaves]),
        # evaluating many rows takes as long in one batch as in several, which threads share
        run.most_joined if streamed.numbers or last is None else 0,
        last.evaluation(
            columns[num_delivered:], streamed.inputs.shapes, [leaf.column.where for leaf in streamed.inputs.leaves]
        )
        if last is not None
        else None,
    )
    used = [each.column for each in tested] + [leaf.column for leaf in leaves]
    return PreparedRun(
        fragment_rows,
        [
            ByteRange(part.start, part.start + part.data.size)
            for parts in data
            for part in parts
            if part.extents is None
        ],
        {column.reader: column.num_bytes for column in used},
        [bounds for bounds in learned if bounds is not None],
        len(rows),
        _identity({column.file for column in used if column.file is not None}),
    )


def _identity(files: Collection[FileBytes]) -> str | None:
    """Returns the identity of the only file; None if there are several."""
    identities = {file.identity for file in files}
    return identities.pop() if len(identities) == 1 else None


def _failing(tests: Sequence[InPages], leaves: Sequence[tuple[str, InPages]]) -> Fail:
    """Returns a function that raises errors of the kernels. It references no file, because it may outlive all handles.

    leaves: the name and the error location of each
    """

    def fail(in_test: bool, index: int, page: int | None, message: str, is_unsupported: bool) -> NoReturn:
        error = UnsupportedFeature(message) if is_unsupported else CorruptFile(message)
        if page is None:
            with at(column=leaves[index][0]):
                raise error
        with tests[index](page) if in_test else leaves[index][1](page):
            raise error

    return fail


def _around(items: Items, rows: RowRanges) -> Items:
    """Returns the dictionaries of the values of some rows."""
    if len(items) < 2:
        return items
    firsts = [first for first, _ in items]
    return items[max(bisect_right(firsts, int(rows[0, 0])) - 1, 0) : bisect_left(firsts, int(rows[-1, 1]))]


def _cut_at(run: FragmentRun, rows: RowRanges, borders: Collection[int]) -> bytes:
    """Returns the ends of the batches, none of which crosses a border: int64."""
    ends = run.ends
    between = [border for border in borders if rows[0, 0] < border < rows[-1, 1]]
    if between:
        inside = [row_ranges.count(row_ranges.clip(rows, 0, border)) for border in between]
        ends = np.unique(np.concatenate([ends, np.array(inside, np.int64)]))
        ends = ends[ends > 0]
    return np.ascontiguousarray(ends, np.int64).tobytes()


_kernels.limit_decode_threads(read_ahead.NUM_THREADS)
atexit.register(_kernels.stop_decoding, SECONDS_TO_SETTLE)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kernels.forget_decode_threads)
