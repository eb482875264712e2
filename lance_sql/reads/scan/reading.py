"""Reading of rows of fragments as a stream of batches, in one of three ways.

a few rows, local      read by the requesting thread
most rows              a stream of the kernels, which decode ahead
the rest               decoded by threads of Python
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.reads.scan import batches, null_pages, read_ahead
from lance_sql.reads.scan.fragment_scans import FragmentScan, FragmentScans, num_rows
from lance_sql.reads.scan.pieces import Batch, FragmentRun
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.read_batch import UnreadError, read, record_batch
from lance_sql.reads.scan.relation import cut
from lance_sql.reads.scan.stream import runs
from lance_sql.runtime import observing
from lance_sql.store import release_memory

MOST_ROWS: Final = 2**48
"""Limit of the kernels for numbers of rows."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A stream of batches from rows of fragments.

    fragments: with remaining rows
    keeps_all: the consumer keeps every batch
    watch: of the scan, if somebody listens
    """

    plan: ReadPlan
    schema: pa.Schema
    fragments: Sequence[FragmentScan]
    limit: int | None
    batch_size: int | None
    keeps_all: bool
    watch: observing.Watch | None

    def note(self, **facts: Any) -> None:
        """Notes what is read."""
        if self.watch is not None:
            location = self.plan.fragments.files.location
            self.watch.note(table=location.store.uri, version=location.version, columns=self.schema.names, **facts)
            self.watch.note(candidates=num_rows(self.fragments))

    def to_capsule(self) -> object:
        """Returns an Arrow C stream."""
        if self.watch is not None:
            return self._as_stream(iter(self)).__arrow_c_stream__()
        few = self._few()
        stream = self._stream() if few is None else self._as_stream(few)
        return (stream or self._as_stream(self._decoded())).__arrow_c_stream__()

    def _as_stream(self, batches: Iterator[pa.RecordBatch]) -> _kernels.BatchStream:
        return _kernels.BatchStream(batches, self.schema, most_ahead=1, eager=False)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yields the batches, in scan order."""
        return self._batches() if self.watch is None else self.watch.over(self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        few = self._few()
        if few is not None:
            yield from few
            return
        stream = self._stream()
        if stream is None:
            yield from self._decoded()
            return
        for batch in stream:
            yield pa.RecordBatch._import_from_c(batch.address, self.schema)

    def _few(self) -> Iterator[pa.RecordBatch] | None:
        """Returns the batches of a few rows, which this thread reads; None if there are more."""
        few = batches.few(self.plan, self.fragments) if self.batch_size is None else None
        return None if few is None else cut(self._read_here(few), None, self.limit)

    def _read_here(self, few: Iterable[Batch]) -> Iterator[pa.RecordBatch]:
        try:
            for each in few:
                with read_ahead.consumers:
                    batch = read(null_pages.answered(self.plan, each), each)
                if batch is not None:
                    yield batch
        finally:
            self._save_learned()

    def _stream(self) -> _kernels.BatchStream | None:
        """Returns the stream of the kernels; None if they cannot read anything alone."""
        if runs.why_none(self.plan, self.fragments, self.batch_size) is not None:
            return None
        has_limit = self.limit is not None
        keeps_all = self.keeps_all and not has_limit
        is_far = self.plan.fragments.concurrency > 1
        cutting = batches.Cutting(self.batch_size, keeps_all, batches_of_run=1 if has_limit and is_far else None)
        learned = self.plan.fragments.files.learned
        return _kernels.BatchStream(
            runs.Batches(self.plan, self.fragments, cutting, self._decode),
            self.schema,
            most_ahead=read_ahead.MAX_IN_FLIGHT,
            eager=keeps_all,
            # the parts end before the last of them are decoded: only the end of the stream comes after that
            at_end=release_memory if learned is None or not learned.has_folder else partial(_end, learned.save),
            most_rows=min(self.limit, MOST_ROWS) if self.limit is not None else None,
        )

    def _decoded(self) -> Iterator[pa.RecordBatch]:
        if self.plan.reads_nothing and isinstance(self.fragments, FragmentScans):
            num_rows = self.fragments.num_live_rows
            if num_rows is not None:
                yield from self._without_values(num_rows if self.limit is None else min(num_rows, self.limit))
                return
        try:
            yield from self._limited()
        finally:
            self._save_learned()

    def _save_learned(self) -> None:
        if (learned := self.plan.fragments.files.learned) is not None:
            learned.save()

    def _without_values(self, num_rows: int) -> Iterator[pa.RecordBatch]:
        """Yields batches of `num_rows` rows for columns without values."""
        most = min(self.batch_size or batches.ROWS_OF_NOTHING, num_rows)
        batch = record_batch([pa.nulls(most) for _ in self.schema], list(self.schema), most)
        for start in range(0, num_rows, max(most, 1)):
            yield batch if num_rows - start >= most else batch.slice(0, num_rows - start)

    def _limited(self) -> Iterator[pa.RecordBatch]:
        has_limit = self.limit is not None
        fragments = self.plan.prefetched(self.fragments, has_limit=has_limit)
        runs = batches.runs(self.plan, fragments, batches.Cutting(self.batch_size, self.keeps_all and not has_limit))
        return cut(self._decode(runs), None, self.limit)

    def _decode(self, runs: Iterable[FragmentRun]) -> Iterator[pa.RecordBatch]:
        """Yields the batches of some runs, read by Python's threads."""
        plan = self.plan
        waits = plan.fragments.concurrency > 1
        pieces = chain.from_iterable(run.pieces() for run in runs)
        # one thread reads joined pieces, one after the other
        joins = plan.can_join and self.batch_size is None and not waits
        most_rows = batches.ROWS_OF_NOTHING if plan.reads_nothing else batches.FIRST_BATCH_ROWS
        record_batches = read_ahead.ordered(
            batches.grouped(pieces, most_rows) if joins else ([piece] for piece in pieces),
            partial(_read_batch, plan),
            keeps_all=self.keeps_all and self.limit is None,
            waits=waits,
            is_light=lambda batch: plan.reads_nothing or batches.is_light(plan, batch),
        )
        for each in record_batches:
            if isinstance(each, pa.RecordBatch):
                yield each
            elif each is not None:
                yield from self._decode(self._divided(each))

    def _divided(self, unread: Batch) -> Iterator[FragmentRun]:
        """Yields the rows of pieces that were not read at once, divided into batches of bounded size."""
        cutting = batches.Cutting(self.batch_size, self.keeps_all and self.limit is None, is_first=False)
        for piece in unread:
            piece.fragment.was_read_whole = True
            scan = FragmentScan(piece.fragment.fragment, piece.rows, piece.rows if piece.passes else None)
            yield from batches.runs_of(self.plan, scan, cutting)


def _end(save: Callable[[], None]) -> None:
    release_memory()
    save()


def _read_batch(plan: ReadPlan, batch: Batch) -> pa.RecordBatch | Batch | None:
    """Returns the rows that pass, None without any; or the batch, if its files cannot be read at once."""
    try:
        return read(null_pages.answered(plan, batch), batch)
    except UnreadError:
        return batch
