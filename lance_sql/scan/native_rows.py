"""Fragments of which the kernels read all batches by themselves: decoded and filtered ahead, without Python.

Python opens the pages of some batches, and hands them over as one value (`_kernels.FragmentRows`). Threads of the
kernels decode them, in order and a bounded number ahead, and whoever takes them gets Arrow arrays through the C
interface (`_kernels.BatchStream`). What the kernels cannot read alone, Python reads batch by batch, in the same stream.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels, row_ranges
from lance_sql.errors import CorruptFile, at
from lance_sql.file import native_columns
from lance_sql.file.columns import Column
from lance_sql.file.leaves import is_leaf, leaves
from lance_sql.file.native_columns import NativeRows
from lance_sql.row_ranges import RowRanges
from lance_sql.scan import null_pages, read_ahead
from lance_sql.scan.batches import Run
from lance_sql.scan.native_tests import Tests
from lance_sql.scan.plan import ReadPlan
from lance_sql.schema import Field
from lance_sql.table import learning, wide_fragments
from lance_sql.table.open_fragment import OpenFragment

Decode: TypeAlias = Callable[[Iterable[Run]], Iterator[pa.RecordBatch]]

SECONDS_TO_SETTLE = 2.0
"""At exit, threads of an engine that are inside of a stream are waited for at most so long."""


def is_possible(plan: ReadPlan) -> bool:
    """Whether there can be such fragments: columns as files have them, in files that are read where they lie."""
    if plan.reads_nothing or plan.fragments.concurrency > 1:
        return False
    fields = [column.field for column in plan.columns]
    if any(column.field is None or column.path for column in plan.columns) or len(set(fields)) < len(fields):
        return False
    return plan.steps is not None and not plan.filter_system_columns


def batches(plan: ReadPlan, runs: Iterable[Run], decode: Decode) -> Iterator[_kernels.FragmentRows | pa.RecordBatch]:
    """What a stream is made of: runs that the kernels read, and the batches of the others.

    decode: reads runs that the kernels do not
    """
    left = iter(runs)
    native: list[_kernels.FragmentRows] = []

    def others(first: Run) -> Iterator[Run]:
        yield first
        for each in left:
            found = prepared(plan, each)
            if found is not None:
                native.append(found)
                return
            yield each

    with read_ahead.running():
        for run in left:
            found = prepared(plan, run)
            if found is None:
                yield from decode(others(run))
                found = native.pop() if native else None
            if found is not None:
                yield found


def prepared(plan: ReadPlan, run: Run) -> _kernels.FragmentRows | None:
    """The run with its pages opened; None where Python has a part in reading it.

    raises: CorruptFile, UnsupportedFeature
    """
    fragment, rows = run.fragment, np.ascontiguousarray(run.rows)
    wanted = [column.field for column in plan.columns if column.field is not None]
    if run.is_short or wide_fragments.is_wide(fragment.fragment, len(wanted)):
        return None
    plan = null_pages.answered(plan, [run.whole])
    steps = plan.steps
    if steps is None:
        return None
    tests = Tests(plan, fragment, np.ascontiguousarray(learning.widened(fragment, rows)) if steps else rows)
    numbers = tests.add_all(steps)
    if numbers is None:
        return None
    tested = [each.found for each in tests.columns]
    output = _Output(fragment, rows)
    shapes = [
        output.add(field, column.arrow, plan.delivered.get(field.id))
        for field, column in zip(wanted, plan.columns, strict=True)
    ]
    if None in shapes:
        return None
    data = native_columns.fetch([*tested, *(each.found for each in output.leaves)])
    # behind the fetching: what is learned belongs to the file whose bytes these are
    learned = [learning.unknown_bounds(fragment, each.field, rows) for each in tests.columns]

    def fail(in_test: bool, place: int, page: int | None, message: str) -> NoReturn:
        if page is None:
            with at(column=output.leaves[place].name):
                raise CorruptFile(message)
        with (tests.column_of(place) if in_test else output.leaves[place].found).column.where(page):
            raise CorruptFile(message)

    return _kernels.FragmentRows(
        [
            (tested[column].column.reader, data[column], answer, bounds)
            for column, answer, bounds in zip(tests.columns_of, tests.answers, tests.once(learned), strict=True)
        ],
        tests.pairs(data),
        numbers,
        [
            (leaf.found.column.reader, parts, leaf.nullable, leaf.items, leaf.found.column.lent(parts))
            for leaf, parts in zip(output.leaves, data[len(tested) :], strict=True)
        ],
        shapes,
        rows,
        _cut_at(run, rows, output.borders),
        fail,
    )


@dataclass(frozen=True, slots=True)
class _OutputLeaf:
    """A leaf of a column that is delivered.

    items: what its values are indices of, from which row on; see `_kernels.FragmentRows`
    """

    found: NativeRows
    name: str
    nullable: bool
    items: Sequence[tuple[int, pa.Array | int]]


class _Output:
    """The leaves of the columns that are delivered, and where dictionaries change."""

    def __init__(self, fragment: OpenFragment, rows: RowRanges) -> None:
        self._fragment = fragment
        self._rows = rows
        self.leaves: list[_OutputLeaf] = []
        self.borders: set[int] = set()

    def add(self, field: Field, arrow: pa.Field, delivered: pa.DataType | None) -> _kernels.Shape | None:
        """How the field is put together; None where Python has a part in reading it.

        arrow: what it becomes
        delivered: another type for a leaf
        """
        columns = list(self._fragment.columns_of(field, delivered))
        if is_leaf(field):
            return self._add_leaf(columns[0].native(self._rows), arrow) if len(columns) == 1 else None
        if len(columns) != len(leaves(field)):
            return None
        return self._add_nested(field, arrow.type, iter(columns), arrow)

    def _add_nested(
        self, field: Field, type: pa.DataType, columns: Iterator[Column], arrow: pa.Field
    ) -> _kernels.Shape | None:
        """The same for a part of a column, of that type."""
        if is_leaf(field):
            return self._add_leaf(next(columns).nested(self._rows), arrow)
        kind, inside = _inside(type)
        if kind is None or len(inside) != len(field.children):
            return None
        members: list[_kernels.Shape] = []
        for child, below in zip(field.children, inside, strict=True):
            member = self._add_nested(child, below, columns, arrow)
            if member is None:
                return None
            members.append(member)
        return kind, members

    def _add_leaf(self, found: NativeRows | None, arrow: pa.Field) -> _kernels.Shape | None:
        items = _dictionaries(found) if found is not None else None
        if found is None or items is None:
            return None
        self.leaves.append(_OutputLeaf(found, arrow.name, arrow.nullable, items))
        self.borders.update(first for first, _ in items[1:])
        return len(self.leaves) - 1


def _inside(type: pa.DataType) -> tuple[int | None, list[pa.DataType]]:
    """The kernels' number of what is around values, None for what they do not know, and the types inside."""
    if pa.types.is_struct(type):
        return 0, [type.field(place).type for place in range(type.num_fields)]
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return 1, [type.value_type]
    if pa.types.is_map(type):
        return 2, [pa.struct([type.key_field, type.item_field])]
    return None, []


def _dictionaries(found: NativeRows) -> list[tuple[int, pa.Array | int]] | None:
    """What the values of a column are or become indices of, from which row on; empty where they are no indices.

    None where the pages have several types, or are not read by the kernels.
    """
    changes: list[tuple[int, pa.Array | int]] = []
    types: set[pa.DataType | None] = set()
    for page, form in zip(found.pages, found.column.forms(found.pages), strict=True):
        if form is None:
            return None
        items = _offset_bits(form.type) if form.makes_items else form.items
        types.add(form.type if items is None else None)
        if items is not None and (not changes or items is not changes[-1][1]):
            changes.append((found.column.first_row(page), items))
    return changes if len(types) == 1 else None


def _offset_bits(type: pa.DataType) -> int:
    return 64 if pa.types.is_large_string(type) or pa.types.is_large_binary(type) else 32


def _cut_at(run: Run, rows: RowRanges, borders: set[int]) -> bytes:
    """The ends of the batches, none of which goes over a border: int64."""
    ends = run.ends
    if borders:
        inside = [row_ranges.count(row_ranges.clip(rows, 0, border)) for border in borders]
        ends = np.unique(np.concatenate([ends, np.array(inside, np.int64)]))
        ends = ends[ends > 0]
    return np.ascontiguousarray(ends, np.int64).tobytes()


_kernels.limit_decode_threads(read_ahead.NUM_THREADS)
atexit.register(_kernels.stop_decoding, SECONDS_TO_SETTLE)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kernels.forget_decode_threads)
