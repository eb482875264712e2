"""Scan of the feed: columns, a filter, a limit; planned lazily, read as it is consumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_sql.changes.history import removed
from lance_sql.changes.images import KINDS, Images
from lance_sql.changes.plan import Part, limited
from lance_sql.changes.reading import FeedColumn, ImageReader
from lance_sql.errors import CorruptFile
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.relation import Batched, Relation, cut
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table import versions
from lance_sql.values import row_ranges

if TYPE_CHECKING:
    from lance_sql.changes.feed import ChangeFeed


@dataclass(frozen=True, repr=False)
class ChangeScan(Relation):
    """Scan of some columns and rows of a change feed. Immutable; every reader starts from the beginning."""

    feed: ChangeFeed
    columns: tuple[FeedColumn, ...]
    predicate: Predicate | None
    limit: int | None
    batch_size: int | None

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of every batch: the columns in the requested order."""
        return pa.schema([column.arrow for column in self.columns])

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Images to read, computed once from the manifests and transactions of the range, and from the values of
        columns that were rewritten in place."""
        return tuple(limited(list(self.feed.range.parts(self.predicate)), self.limit))

    def _batches(self, *, keeps_all: bool) -> Iterator[pa.RecordBatch]:
        """Yields the rows in commit order, see `Batched.to_batches`."""
        yield from self.task(self.parts).to_batches(keeps_all=keeps_all)

    def count_rows(self) -> int:
        """Counts the rows; reads no page unless the filter needs values."""
        if all(predicate is None for _, predicate in self.parts):
            return sum(part.rows.num_rows for part, _ in self.parts)
        return self._count_by_reading()

    def explain(self) -> str:
        """Returns the plan of the scan as text."""
        lines = [str(self.feed)]
        lines.append("  columns: " + (", ".join(column.name for column in self.columns) or "(none)"))
        if self.predicate is not None:
            lines.append(f"  filter: {self.predicate}")
        if self.limit is not None:
            lines.append(f"  limit: {self.limit}")
        # what ids contradict is known once the parts are
        parts = self.parts
        lines += self.feed.explain_commits()
        fragments = {part.fragment.id for images, _ in parts for part in images.rows.parts}
        counts: Counter[str] = Counter()
        for images, _ in self.parts:
            counts[images.kind] += images.rows.num_rows
        lines.append(f"  fragments: {len(fragments)}")
        shown = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
        lines.append(f"  rows: {shown or 'none'}")
        if any(predicate is not None for _, predicate in self.parts):
            lines[-1] += ", before the filter on their values"
        return "\n".join(lines)

    def tasks(self, target_count: int) -> list[ChangeTask]:
        """Splits the scan into at most `target_count` ordered tasks of nearly equal size; any process can read each."""
        if self.limit is not None:
            return [self.task(self.parts)] if self.parts else []
        total = sum(part.rows.num_rows for part, _ in self.parts)
        tasks: list[list[Part]] = [[] for _ in range(max(min(target_count, total), 1))]
        first = 0
        for images, predicate in self.parts:
            for task, start, end in row_ranges.shares(first, first + images.rows.num_rows, total, len(tasks)):
                rows = images.pick(np.arange(start - first, end - first, dtype=np.int64))
                tasks[task].append((rows, predicate))
            first += images.rows.num_rows
        return [self.task(task) for task in tasks if task]

    def task(self, parts: Iterable[Part]) -> ChangeTask:
        """Returns a task that reads some parts of the scan."""
        return ChangeTask(self.feed.table, tuple(parts), self.columns, self.schema, self.limit, self.batch_size)

    def __repr__(self) -> str:
        parts = [repr(str(self.feed)), f"columns={[column.name for column in self.columns]}"]
        parts += [f"filter={str(self.predicate)!r}"] if self.predicate is not None else []
        parts += [f"limit={self.limit}"] if self.limit is not None else []
        return f"ChangeScan({', '.join(parts)})"

    def __reduce__(self) -> tuple[type[ChangeScan], tuple[object, ...]]:
        # without the parts, which are found again
        return ChangeScan, (self.feed, self.columns, self.predicate, self.limit, self.batch_size)


@dataclass(frozen=True, repr=False)
class ChangeTask(Batched):
    """Self-contained part of a scan of the feed. Picklable: the reader opens data files, but no manifests or
    transactions.

    table: the name of the table in messages
    parts: the images, each with the rest of the filter
    limit: the maximum number of rows
    """

    table: str
    parts: tuple[Part, ...]
    columns: tuple[FeedColumn, ...]
    schema: pa.Schema
    limit: int | None = None
    batch_size: int | None = None

    def __repr__(self) -> str:
        return f"ChangeTask({self.table!r}, {self.num_candidates} candidate rows)"

    @property
    def num_candidates(self) -> int:
        """Rows to be read, before the filter is applied."""
        return sum(part.rows.num_rows for part, _ in self.parts)

    def project(self, columns: tuple[FeedColumn, ...], schema: pa.Schema) -> ChangeTask:
        """Returns a task with the same rows and other columns.

        schema: of these columns
        """
        return replace(self, columns=columns, schema=schema)

    def _batches(self, *, keeps_all: bool) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the task, as `ChangeScan.to_batches`."""
        return cut(self._without_limit(keeps_all=keeps_all and self.limit is None), None, self.limit)

    def _without_limit(self, *, keeps_all: bool) -> Iterator[pa.RecordBatch]:
        reader, described = None, None
        for images, predicate in self.parts:
            given, constant = images.feed_values.names, images.feed_values.constant
            # most versions store the columns alike
            if reader is None or described != (id(images.sources), predicate, given, constant):
                reader = ImageReader(images.sources, self.columns, predicate, given, constant)
                described = (id(images.sources), predicate, given, constant)
            try:
                yield from reader.read(images, batch_size=self.batch_size, keeps_all=keeps_all)
            except CorruptFile as error:
                if isinstance(error.__cause__, FileNotFoundError) and _is_gone(images):
                    raise removed(self.table, images.version) from error
                raise


def _is_gone(images: Images) -> bool:
    """Whether the version that has the rows was removed."""
    return versions.find_version(images.rows.files.files.location.store, images.version) is None
