"""Rows of the table that a view follows that must be recomputed, before and after the changes.

These are changed rows, and rows joined to a changed row of another table. Each image of a row is joined to the other
tables at the version of that image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lance_sql.changes.images import CHANGE_TYPE
from lance_sql.dataset import Dataset
from lance_sql.errors import LanceError
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.row_changes import new_name
from lance_sql.one_sql.views.shape import Shape, aliased, nodes
from lance_sql.providers.sources import Source
from lance_sql.reads.scan.system_columns import ROW_ID

KEY = "__lance_key"
"""Column of the row id in an image."""


@dataclass(frozen=True, slots=True)
class Images:
    """Rows of a table at two versions, with their ids as `KEY`."""

    before: pa.Table
    after: pa.Table

    @property
    def num_rows(self) -> int:
        count: int = self.before.num_rows + self.after.num_rows
        return count


class ViewChangedError(LanceError):
    """The changes of a view cannot be computed from those of its tables."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Tables of a query by name, at the version of a view, and now."""

    before: Mapping[str, Dataset]
    after: Mapping[str, Dataset]

    def changed(self, name: str, columns: Sequence[str]) -> Images:
        """Returns the rows of a table that differ between its two versions.

        raises: ViewChangedError for a column that replaced another one of its name
        """
        before, after = self.before[name], self.after[name]
        feed = after.changes(since=before.version, mode="net")
        replaced = feed.range.replaced_columns.intersection(columns)
        if replaced:
            raise ViewChangedError(f"the columns of {after.uri} changed: {', '.join(sorted(replaced))}")
        rows = feed.scan([*columns, CHANGE_TYPE, ROW_ID]).to_table()
        kinds = rows.column(CHANGE_TYPE)
        is_before = pc.is_in(kinds, pa.array(["delete", "update_preimage"]))
        rows = rows.select([*columns, ROW_ID]).rename_columns([*columns, KEY])
        return Images(rows.filter(is_before), rows.filter(pc.invert(is_before)))

    def has_changed(self, name: str) -> bool:
        return self.before[name].version != self.after[name].version


def counted_anew(shape: Shape, versions: Versions, engine: Engine) -> Images:
    """Returns the rows of the followed table that must be recomputed."""
    followed = shape.tables[0]
    columns = _columns(shape, versions.after[followed])
    images = versions.changed(followed, columns) if versions.has_changed(followed) else None
    if images is None:
        empty = versions.after[followed].schema.empty_table().select(columns)
        empty = empty.append_column(KEY, pa.array([], pa.uint64()))
        images = Images(empty, empty)
    joined = _joined_to_changed(shape, versions, engine)
    is_known = pc.is_in(joined, pa.concat_arrays([*_chunks(images.before), *_chunks(images.after)]))
    others = joined.filter(pc.invert(is_known))
    if not len(others):
        return images
    # these rows are unchanged
    rows = versions.after[followed].take(others, columns).append_column(KEY, others)
    return Images(_together(images.before, rows), _together(images.after, rows))


def _chunks(rows: pa.Table) -> list[pa.Array]:
    return rows.column(KEY).chunks or [pa.array([], pa.uint64())]


def _together(rows: pa.Table, more: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, more.cast(rows.schema)])


def _columns(shape: Shape, dataset: Dataset) -> list[str]:
    """Returns the columns of a table that the query names."""
    names = {node.name.lower() for node in shape.select.find_all(exp.Identifier)}
    return [name for name in dataset.schema.names if name.lower() in names]


def _joined_to_changed(shape: Shape, versions: Versions, engine: Engine) -> pa.Array:
    """Returns the ids of rows that are, or were, joined to a changed row of another table."""
    id_arrays = [pa.array([], pa.uint64())]
    for position, name in enumerate(shape.tables[1:], 1):
        if not versions.has_changed(name):
            continue
        images = versions.changed(name, _columns(shape, versions.after[name]))
        for rows, tables in ((images.before, versions.before), (images.after, versions.after)):
            if rows.num_rows:
                id_arrays += _joined(shape, tables, position, rows, engine)
    ids: pa.Array = pc.unique(pa.concat_arrays(id_arrays))
    return ids


def _joined(
    shape: Shape, tables: Mapping[str, Dataset], position: int, rows: pa.Table, engine: Engine
) -> list[pa.Array]:
    """Returns the ids of rows that are joined to some rows of the table at a position in FROM."""
    select = shape.select.copy()
    for part in ("where", "group", "having", "order", "distinct"):
        select.set(part, None)
    sources = {}
    alias = aliased(nodes(select))[0]
    for number, node in enumerate(nodes(select)):
        dataset = tables[shape.tables[number]]
        source = Source(rows.drop_columns([KEY])) if number == position else Source(dataset, number == 0)
        sources[name_in(node)] = source
    # only rows that match one of these; a left join would return all
    select.args["joins"][position - 1].set("side", None)
    select.set("expressions", [exp.column(ROW_ID, table=alias, quoted=True)])
    select.set("distinct", exp.Distinct())
    ids = engine.prepare(select, sources, is_typed=False).reader().read_all().column(0).cast(pa.uint64())
    return list(ids.chunks)


def name_in(node: exp.Table) -> str:
    """Replaces a table by a unique name, and keeps the alias of its columns."""
    name = new_name()
    (alias,) = aliased([node])
    for part in ("db", "catalog"):
        node.set(part, None)
    node.set("this", exp.to_identifier(name, quoted=True))
    node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return name
