"""Reading images: a scan reads stored columns, which are then converted to the columns of the feed.

The scan evaluates the part of the filter that needs no conversion, with late materialization of the other columns. The
rest is evaluated on converted values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.changes.earlier_columns import ColumnSource
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


def read(
    part: Images,
    columns: Sequence[FeedColumn],
    predicate: Predicate | None,
    *,
    batch_size: int | None = None,
    keeps_all: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Reads the images, batch by batch.

    predicate: the rest of the filter
    """
    by_name = {source.column.name: number for number, source in enumerate(part.sources)}
    pushed, left = _divide(part, predicate, by_name)
    filtered = {path[0] for each in left for path in each.columns}
    numbers = {column.number for column in columns if column.number is not None}
    numbers |= {by_name[name] for name in filtered if name in by_name}
    system = {column.name for column in columns if column.name in system_columns.NAMES}
    system |= filtered & set(system_columns.NAMES)
    if not {column.name for column in columns} | filtered <= {*by_name, *part.feed_values.constant, *system}:
        system.add(system_columns.ROW_ID)
    stored = [number for number in sorted(numbers) if part.sources[number].stored is not None]
    wanted = _wanted(tuple([_renamed(part.sources[number]) for number in stored]), tuple(sorted(system)))
    schema = pa.schema([column.arrow for column in columns])
    for batch in _task(part, wanted, pushed, by_name, batch_size).to_batches(keeps_all=keeps_all):
        values = {number: part.sources[number].convert(batch.column(i)) for i, number in enumerate(stored)}
        for number in numbers - values.keys():
            values[number] = pa.nulls(batch.num_rows, part.sources[number].type)
        others = {name: batch.column(len(stored) + i) for i, name in enumerate(sorted(system))}
        others |= _feed_values(part, batch.num_rows, others, {*(column.name for column in columns), *filtered})
        mask = None
        if left:
            columns_by_name = {
                **{part.sources[number].column.name: array for number, array in values.items()},
                **others,
            }
            mask = evaluate(
                conjunction(left),
                record_batch(list(columns_by_name.values()), list(columns_by_name), batch.num_rows),
            )
        arrays = [
            others[column.name] if column.number is None else _member(column, part, values[column.number])
            for column in columns
        ]
        shown = record_batch(arrays, list(schema), batch.num_rows)
        if mask is not None:
            shown = selection.filter(shown, mask)
        if shown.num_rows:
            yield shown


def _feed_values(part: Images, num_rows: int, system: dict[str, pa.Array], names: set[str]) -> dict[str, pa.Array]:
    """Returns the wanted columns that describe the change of the rows."""
    wanted = [name for name in part.feed_values.names if name in names]
    if set(wanted) <= set(part.feed_values.constant):
        return part.feed_columns(wanted, np.zeros(num_rows, np.uint64))
    return part.feed_columns(wanted, system[system_columns.ROW_ID].to_numpy())


def _divide(
    part: Images, predicate: Predicate | None, by_name: dict[str, int]
) -> tuple[tuple[Predicate, ...], tuple[Predicate, ...]]:
    """Splits a filter into the part for the scan and the rest for converted values."""

    def is_stored(path: Path) -> bool:
        if path[0] in by_name:
            return part.sources[by_name[path[0]]].is_direct
        return path[0] in system_columns.NAMES

    pushed: list[Predicate] = []
    left: list[Predicate] = []
    for each in conjuncts(predicate) if predicate is not None else ():
        (pushed if all(map(is_stored, each.columns)) else left).append(each)
    return tuple(pushed), tuple(left)


@lru_cache(_MOST_WANTED)
def _wanted(fields: tuple[Field, ...], system: tuple[str, ...]) -> Columns:
    """Returns the stored columns to read, the same object for the same ones, which knows what follows from them."""
    stored = [OutputColumn(field.name, field, (), nullable(arrow_field(field))) for field in fields]
    return Columns.of([*stored, *(OutputColumn(name, None, (), system_columns.field(name)) for name in system)])


def _task(
    part: Images,
    wanted: Columns,
    pushed: Sequence[Predicate],
    by_name: dict[str, int],
    batch_size: int | None,
) -> ScanTask:
    paths: dict[str, list[Path]] = {}
    for path in sorted(path for each in pushed for path in each.columns):
        paths.setdefault(path[0], []).append(path[1:])
    fields = [
        restrict(_renamed(part.sources[by_name[name]]), below) for name, below in paths.items() if name in by_name
    ]
    plan = ReadPlan(
        part.rows.files,
        wanted,
        conjunction(pushed) if pushed else None,
        tuple(fields),
        tuple(name for name in paths if name not in by_name),
    )
    return ScanTask(plan, pa.schema([column.arrow for column in wanted]), part.rows.parts, None, batch_size)


def _renamed(source: ColumnSource) -> Field:
    """Returns the stored field under its name in the feed."""
    assert source.stored is not None
    return source.stored._replace(name=source.column.name)


def _member(column: FeedColumn, part: Images, array: pa.Array) -> pa.Array:
    assert column.number is not None
    return OutputColumn(column.name, part.sources[column.number].column, column.path, column.arrow).extract(array)
