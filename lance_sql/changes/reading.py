"""Reading images: a scan reads stored columns, which are then converted to the columns of the feed.

The scan evaluates the part of the filter that needs no conversion, with late materialization of the other columns. The
rest is evaluated on converted values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.changes.changed_rows import MOST_KNOWN_IDS
from lance_sql.changes.earlier_columns import ColumnSource, Sources
from lance_sql.changes.images import Images
from lance_sql.format.schema import Field, arrow_field
from lance_sql.format.schema.primary_key import nullable
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.predicates import Path, Predicate, conjunction, conjuncts, evaluate
from lance_sql.reads.scan.projection import Columns, OutputColumn, restrict
from lance_sql.reads.scan.read_batch import record_batch
from lance_sql.reads.scan.scan import ScanTask
from lance_sql.values import selection
from lance_sql.values.arrays import as_column

_MOST_WANTED: Final = 256


@dataclass(frozen=True, slots=True)
class FeedColumn:
    """One column of the result.

    name: as the caller wrote it
    number: index of the feed's column; None for columns of the change and system columns
    path: the names below that lead to the value
    """

    name: str
    number: int | None
    path: tuple[str, ...]
    arrow: pa.Field


class ImageReader:
    """Reads images of one version's columns; what follows from the columns and the filter alone is found once.

    predicate: the rest of the filter
    given: names of the columns that describe the change; constant: those with one value for all rows
    """

    def __init__(
        self,
        sources: Sources,
        columns: Sequence[FeedColumn],
        predicate: Predicate | None,
        given: Sequence[str],
        constant: Sequence[str],
    ) -> None:
        self._sources = sources
        self._columns = columns
        by_name = {source.column.name: number for number, source in enumerate(sources)}
        self._pushed, self._left = _divide(sources, predicate, by_name)
        filtered = {path[0] for each in self._left for path in each.columns}
        names = {column.name for column in columns} | filtered
        numbers = {column.number for column in columns if column.number is not None}
        numbers |= {by_name[name] for name in filtered if name in by_name}
        self._absent = [number for number in numbers if sources[number].stored is None]
        self._stored = [number for number in sorted(numbers) if sources[number].stored is not None]
        self._converted = [number for number in self._stored if not sources[number].is_direct]
        self._given = [name for name in given if name in names]
        self._needs_ids = not set(self._given) <= set(constant)
        shown = {column.name for column in columns if column.number is None}
        system = (shown | filtered) & set(system_columns.NAMES)
        if self._needs_ids:
            system.add(system_columns.ROW_ID)
        self._system = tuple(sorted(system))
        self._fields = tuple([_renamed(sources[number]) for number in self._stored])
        self._tested = _tested(sources, self._pushed, by_name)
        self._schema = [column.arrow for column in columns]
        self._plan: ReadPlan | None = None
        self._is_with_ids = False

    def read(self, part: Images, *, batch_size: int | None = None, keeps_all: bool = False) -> Iterator[pa.RecordBatch]:
        """Reads the images, batch by batch.

        part: with the sources of the reader
        """
        ids = None
        if not self._pushed and system_columns.ROW_ID in self._system and part.rows.num_rows <= MOST_KNOWN_IDS:
            # matching has found them, and rows are read in their order
            ids = part.rows.ids
        system = (
            self._system if ids is None else tuple([each for each in self._system if each != system_columns.ROW_ID])
        )
        num_read = 0
        for batch in self._task(part, system, batch_size).to_batches(keeps_all=keeps_all):
            num_rows = batch.num_rows
            arrays = batch.columns
            others = dict(zip(system, arrays[len(self._stored) :], strict=True))
            if ids is not None:
                others[system_columns.ROW_ID] = as_column(ids[num_read : num_read + num_rows], pa.uint64())
                num_read += num_rows
            values = dict(zip(self._stored, arrays[: len(self._stored)], strict=True))
            for number in self._converted:
                values[number] = self._sources[number].convert(values[number])
            for number in self._absent:
                values[number] = pa.nulls(num_rows, self._sources[number].type)
            ids_of_batch = (
                others[system_columns.ROW_ID].to_numpy() if self._needs_ids else np.zeros(num_rows, np.uint64)
            )
            others |= part.feed_columns(self._given, ids_of_batch)
            in_order = [
                others[column.name]
                if column.number is None
                else values[column.number]
                if not column.path
                else self._member(column, values[column.number])
                for column in self._columns
            ]
            shown = record_batch(in_order, self._schema, num_rows)
            if self._left:
                shown = selection.filter(shown, self._passes(values, others, num_rows))
            if shown.num_rows:
                yield shown

    def _member(self, column: FeedColumn, array: pa.Array) -> pa.Array:
        assert column.number is not None
        source = self._sources[column.number]
        return OutputColumn(column.name, source.column, column.path, column.arrow).extract(array)

    def _passes(self, values: Mapping[int, pa.Array], others: Mapping[str, pa.Array], num_rows: int) -> pa.BooleanArray:
        """Returns whether rows pass the part of the filter that is for converted values."""
        by_name = {**{self._sources[number].column.name: array for number, array in values.items()}, **others}
        return evaluate(conjunction(self._left), record_batch(list(by_name.values()), list(by_name), num_rows))

    def _task(self, part: Images, system: tuple[str, ...], batch_size: int | None) -> ScanTask:
        plan, is_with_ids = self._plan, system is self._system
        if plan is None or plan.fragments is not part.rows.files or is_with_ids != self._is_with_ids:
            pushed = conjunction(self._pushed) if self._pushed else None
            plan = ReadPlan(part.rows.files, _wanted(self._fields, system), pushed, *self._tested)
            self._plan, self._is_with_ids = plan, is_with_ids
        return ScanTask(plan, plan.columns.schema, part.rows.parts, None, batch_size)


def _divide(
    sources: Sources, predicate: Predicate | None, by_name: Mapping[str, int]
) -> tuple[tuple[Predicate, ...], tuple[Predicate, ...]]:
    """Splits a filter into the part for the scan and the rest for converted values."""

    def is_stored(path: Path) -> bool:
        if path[0] in by_name:
            return sources[by_name[path[0]]].is_direct
        return path[0] in system_columns.NAMES

    pushed: list[Predicate] = []
    left: list[Predicate] = []
    for each in conjuncts(predicate) if predicate is not None else ():
        (pushed if all(map(is_stored, each.columns)) else left).append(each)
    return tuple(pushed), tuple(left)


def _tested(
    sources: Sources, pushed: Sequence[Predicate], by_name: Mapping[str, int]
) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """Returns the stored fields and the system columns that the scan's part of a filter tests."""
    paths: dict[str, list[Path]] = {}
    for path in sorted(path for each in pushed for path in each.columns):
        paths.setdefault(path[0], []).append(path[1:])
    fields = [restrict(_renamed(sources[by_name[name]]), below) for name, below in paths.items() if name in by_name]
    return tuple(fields), tuple([name for name in paths if name not in by_name])


@lru_cache(_MOST_WANTED)
def _wanted(fields: tuple[Field, ...], system: tuple[str, ...]) -> Columns:
    """Returns the stored columns to read, the same object for the same ones, which knows what follows from them."""
    stored = [OutputColumn(field.name, field, (), nullable(arrow_field(field))) for field in fields]
    return Columns.of([*stored, *(OutputColumn(name, None, (), system_columns.field(name)) for name in system)])


def _renamed(source: ColumnSource) -> Field:
    """Returns the stored field under its name in the feed."""
    assert source.stored is not None
    return source.stored._replace(name=source.column.name)
