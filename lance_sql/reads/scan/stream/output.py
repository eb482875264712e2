"""Output columns of a fragment that the kernels read alone: the structure of leaves in each.

If all pages of the leaves are open, the columns are cached for later rows of the fragment, and for other scans. For
all rows, this happens at once; for some of them, when the fragment is requested for the second time. A caller that
opens a table, changes or reads a few rows and closes it, finds each column once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import ShapeKind
from lance_sql.format.file.column import Column, Opening
from lance_sql.format.file.column_rows import streamed
from lance_sql.format.file.leaves import is_leaf, leaves
from lance_sql.format.file.mapped_columns import OpeningTogether
from lance_sql.format.file.open_column import Items, OpenColumn, OpenRows
from lance_sql.format.file.page_cache import PageCache
from lance_sql.format.schema import Field
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.members import member
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.predicates import Path
from lance_sql.reads.scan.virtual_columns import missing_column, system_column
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import kinds
from lance_sql.values.row_ranges import RowRanges

_NUM_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class OutputLeaf:
    """A leaf of an output column.

    items: see `OpenColumn.items`
    is_json: whether values are JSON documents, of which batches have the texts
    """

    column: OpenColumn
    name: str
    nullable: bool
    items: Items
    is_json: bool


@dataclass(frozen=True, slots=True)
class Output:
    """Output columns of a plan, for some rows of a fragment.

    shapes: the structure of leaves in each column
    borders: rows at which another dictionary begins; no batch crosses one
    """

    leaves: Sequence[OutputLeaf]
    shapes: Sequence[_kernels.Shape | None]
    borders: frozenset[int]


NOTHING: Final = Output((), (), frozenset())


@dataclass(frozen=True, slots=True, eq=False)
class _CachedOutput:
    """Output columns of a plan for all rows of a fragment.

    leaves: with the cache key of each column, whose entry counts its memory
    """

    leaves: Sequence[tuple[Hashable, str, bool, bool]]
    shapes: Sequence[_kernels.Shape | None]
    borders: frozenset[int]

    @property
    def num_bytes(self) -> int:
        return _NUM_BYTES

    def output(self, cache: PageCache) -> Output | None:
        """Returns the columns; None if one is no longer cached."""
        leaves = []
        for key, name, nullable, is_json in self.leaves:
            column = cache.get(key)
            if not isinstance(column, OpenColumn) or not column.is_all_open or column.all_items is None:
                return None
            leaves.append(OutputLeaf(column, name, nullable, column.all_items, is_json))
        return Output(leaves, self.shapes, self.borders)


def output(plan: ReadPlan, fragment: OpenFragment, rows: RowRanges) -> Output | str:
    """Returns the output columns of a plan for the rows, with open pages; or the name of a column that cannot be
    streamed.

    raises: CorruptFile, UnsupportedFeature
    """
    cache = fragment.files.page_cache
    key = _CachedOutput, fragment.key, plan.key
    cached = cache.get(key)
    if isinstance(cached, _CachedOutput) and (known := cached.output(cache)) is not None:
        return known
    delivered = _find(plan, fragment, rows)
    # rows in every page have the dictionaries of all rows
    if isinstance(delivered, Output) and all(
        len(leaf.column.rows_of(rows).pages) == leaf.column.num_pages for leaf in delivered.leaves
    ):
        leaves = [(leaf.column.key, leaf.name, leaf.nullable, leaf.is_json) for leaf in delivered.leaves]
        cache.keep(key, _CachedOutput(leaves, delivered.shapes, delivered.borders))
    return delivered


def _find(plan: ReadPlan, fragment: OpenFragment, rows: RowRanges) -> Output | str:
    builder = _OutputBuilder(fragment, rows, OpeningTogether(_columns(plan, fragment), rows, is_nested=True))
    shapes: list[_kernels.Shape | None] = []
    for column in plan.columns:
        if column.is_null:
            shapes.append(None)
            continue
        if column.field is None:
            shape = builder.add_system_column(column.arrow)
        elif column.path:
            shape = builder.add_member(column.field, column.path, column.arrow)
        else:
            shape = builder.add(column.field, column.arrow, plan.delivered.get(column.field.id))
        if shape is None:
            return column.name
        shapes.append(shape)
    return Output(builder.leaves, shapes, frozenset(builder.borders))


def _columns(plan: ReadPlan, fragment: OpenFragment) -> Iterator[Column]:
    for column in plan.columns:
        if column.field is not None:
            delivered = None if column.path else plan.delivered.get(column.field.id)
            yield from fragment.columns_of(column.field, delivered)


class _OutputBuilder:
    """Builder of the leaves, which also collects the borders of dictionaries."""

    def __init__(self, fragment: OpenFragment, rows: RowRanges, opening: Opening) -> None:
        self._fragment = fragment
        self._rows = rows
        self._opening = opening
        self.leaves: list[OutputLeaf] = []
        self.borders: set[int] = set()

    def add(self, field: Field, arrow: pa.Field, delivered: pa.DataType | None) -> _kernels.Shape | None:
        """Adds a field and returns its structure; None if Python is needed to read it.

        arrow: the resulting Arrow field
        delivered: another type for a leaf
        """
        columns = list(self._fragment.columns_of(field, delivered))
        if is_leaf(field):
            if not columns:
                return self._add_leaf(missing_column(self._fragment, arrow.name, arrow.type, self._rows), arrow)
            if len(columns) > 1:
                return None
            return self._add_leaf(streamed(columns[0], self._rows, opening=self._opening), arrow)
        if len(columns) != len(leaves(field)):
            return None
        return self._add_nested(field, arrow.type, iter(columns), arrow)

    def add_system_column(self, arrow: pa.Field) -> _kernels.Shape | None:
        """Adds a system column and returns its structure; None if Python computes it."""
        if arrow.type != system_columns.TYPE:
            return None
        return self._add_leaf(system_column(self._fragment, arrow.name, self._rows), arrow)

    def add_member(self, field: Field, path: Path, arrow: pa.Field) -> _kernels.Shape | None:
        """Adds a single member of structs and returns its structure; None if Python is needed to read it.

        field: cut down to the member
        path: the names below the field
        """
        type_and_rows = member(self._fragment, field, path, self._rows)
        return self._add_leaf(type_and_rows[1], arrow) if type_and_rows is not None else None

    def _add_nested(
        self, field: Field, type: pa.DataType, columns: Iterator[Column], arrow: pa.Field
    ) -> _kernels.Shape | None:
        """Adds a part of a column with the given type; None if Python is needed to read it."""
        if is_leaf(field):
            return self._add_leaf(streamed(next(columns), self._rows, is_nested=True, opening=self._opening), arrow)
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

    def _add_leaf(self, opened: OpenRows | None, arrow: pa.Field) -> _kernels.Shape | None:
        items = opened.column.items(opened.pages) if opened is not None else None
        if opened is None or items is None:
            return None
        self.leaves.append(OutputLeaf(opened.column, arrow.name, arrow.nullable, items, opened.texts is not None))
        self.borders.update(first for first, _ in items[1:])
        return len(self.leaves) - 1


def _inside(type: pa.DataType) -> tuple[ShapeKind | None, list[pa.DataType]]:
    """Returns the kind of nesting around values, None for unsupported ones, and the types inside."""
    if pa.types.is_struct(type):
        return ShapeKind.STRUCT, [type.field(index).type for index in range(type.num_fields)]
    if kinds.is_list(type):
        return ShapeKind.LIST, [type.value_type]
    if pa.types.is_map(type):
        return ShapeKind.MAP, [pa.struct([type.key_field, type.item_field])]
    return None, []
