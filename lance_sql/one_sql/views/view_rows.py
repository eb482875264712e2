"""Changes of the rows of a view after changes of its tables.

    before   rows that the view has for the changed rows
    after    rows that replace them
    changes  deletes before - after, inserts after - before; a deleted and an inserted row of one key become an update

Equal rows are interchangeable in a view: any of them may be deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lance_sql.dataset import Dataset
from lance_sql.jobs.distributed import CHANGE, DELETE, WRITE
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.row_changes import new_name
from lance_sql.one_sql.views.images import KEY, Images, Versions, ViewChangedError, name_in
from lance_sql.one_sql.views.shape import Shape, nodes
from lance_sql.providers.sources import Source
from lance_sql.reads.scan.scanning import addresses
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.values import kinds
from lance_sql.values.sql_text import identifier
from lance_sql.values.typed_sql import OwnQuery
from lance_sql.writes.statements.row_changes import RowChange, deleted, inserted, typed

_MAX_VALUES: Final = 4096
"""Maximum number of values in a filter for statistics and indices; for more, only a join is used."""


def changes(shape: Shape, versions: Versions, images: Images, view: Dataset, engine: Engine) -> pa.Table:
    """Returns the rows to write and delete: the columns of the view, `_rowid`, `_rowaddr`, `CHANGE`.

    raises: ViewChangedError
    """
    names = view.schema.names
    if shape.keys is None:
        before = _rows(shape, versions.before, images.before, names, engine)
        after = _rows(shape, versions.after, images.after, names, engine)
        return _of_rows(before, after, view, engine)
    keys = [names[position] for position in shape.keys]
    groups = _groups(shape, versions, images, names, engine)
    after = _recomputed(shape, versions, groups, names, engine)
    return _of_groups(groups, after, keys, view, engine)


def _rows(shape: Shape, tables: Any, image: pa.Table, names: Sequence[str], engine: Engine) -> pa.Table:
    """Runs the query over some rows; returns each result with the key of its row."""
    select, sources = _over(shape, tables, image)
    alias = select.args["from_"].this.alias
    key = exp.alias_(exp.column(KEY, table=alias, quoted=True), KEY, quoted=True)
    select.set("expressions", [key, *_named(select, names)])
    select.set("order", None)
    return _read(select, sources, engine)


def _over(shape: Shape, tables: Any, image: pa.Table | None) -> tuple[exp.Select, dict[str, Source]]:
    """Returns the query over some tables, or over an image of the followed one."""
    select = shape.select.copy()
    sources = {}
    for number, (name, node) in enumerate(zip(shape.tables, nodes(select), strict=True)):
        is_image = image is not None and not number
        sources[name_in(node)] = Source(image if is_image else tables[name])
    return select, sources


def _named(select: exp.Select, names: Sequence[str]) -> list[exp.Expr]:
    return [exp.alias_(item.unalias(), name, quoted=True) for item, name in zip(select.expressions, names, strict=True)]


def _read(select: exp.Expr, sources: dict[str, Source], engine: Engine) -> pa.Table:
    return engine.prepare(select, sources, is_typed=False).reader().read_all()


def _groups(shape: Shape, versions: Versions, images: Images, names: Sequence[str], engine: Engine) -> pa.Table:
    """Returns the keys of groups that have or had one of the rows."""
    assert shape.keys is not None
    parts = []
    for tables, image in ((versions.before, images.before), (versions.after, images.after)):
        select, sources = _over(shape, tables, image)
        items = _named(select, names)
        select.set("expressions", [items[position] for position in shape.keys])
        for part in ("group", "having", "order"):
            select.set(part, None)
        select.set("distinct", exp.Distinct())
        parts.append(_read(select, sources, engine))
    name = new_name()
    keys = exp.select("*").distinct().from_(exp.to_identifier(name, quoted=True))
    return _read(keys, {name: Source(pa.concat_tables(parts))}, engine)


def _recomputed(shape: Shape, versions: Versions, groups: pa.Table, names: Sequence[str], engine: Engine) -> pa.Table:
    """Recomputes the rows of groups."""
    assert shape.keys is not None
    select, sources = _over(shape, versions.after, None)
    items = [item.unalias() for item in select.expressions]
    select.set("expressions", _named(select, names))
    select.set("order", None)
    wanted = new_name()
    # unqualified columns must belong to the query, and to no other table
    groups = groups.rename_columns([f"__lance_group_{number}" for number in range(groups.num_columns)])
    key_columns = [(items[position], groups.column(number)) for number, position in enumerate(shape.keys)]
    # DuckDB joins a long list instead of pushing it down; a table looks it up in statistics and indices
    followed = nodes(select)[0]
    own = {name.lower(): name for name in versions.after[shape.tables[0]].schema.names}
    others = {name.lower() for table in shape.tables[1:] for name in versions.after[table].schema.names}
    for item, column in key_columns:
        name = item.name.lower() if isinstance(item, exp.Column) else ""
        is_own = item.text("table").lower() == followed.alias.lower() or (not item.text("table") and name not in others)
        if name in own and is_own:
            where = _among(own[name], column)
            if where is not None:
                sources[followed.name] = Source(versions.after[shape.tables[0]], where=where)
                break
    equal = [
        exp.NullSafeEQ(this=exp.column(groups.schema.names[number], table=wanted, quoted=True), expression=item.copy())
        for number, (item, _) in enumerate(key_columns)
    ]
    inner = exp.select("1").from_(exp.to_identifier(wanted, quoted=True)).where(*equal)
    select = select.where(exp.Exists(this=inner), copy=False)
    return _read(select, {**sources, wanted: Source(groups)}, engine)


def _among(name: str, column: pa.ChunkedArray) -> str | None:
    """Returns a filter for rows with one of these values in a column; None if it cannot be expressed."""
    if not (pa.types.is_integer(column.type) or kinds.is_text(column.type)):
        return None
    values = pc.unique(column)
    if len(values) > _MAX_VALUES:
        return None
    given = exp.column(name, quoted=True)
    literals = [_literal(value) for value in values.drop_null().to_pylist()]
    conditions: list[exp.Expr] = []
    if literals:
        conditions.append(exp.In(this=given.copy(), expressions=literals))
    if values.null_count:
        conditions.append(exp.Is(this=given.copy(), expression=exp.Null()))
    return exp.or_(*conditions).sql("duckdb") if conditions else None


def _literal(value: int | str) -> exp.Expr:
    if isinstance(value, str):
        return exp.Literal.string(value)
    number = exp.Literal.number(abs(value))
    return exp.Neg(this=number) if value < 0 else number


def _of_rows(before: pa.Table, after: pa.Table, view: Dataset, engine: Engine) -> pa.Table:
    names = view.schema.names
    removed, added = _without(before, after, engine), _without(after, before, engine)
    if not removed.num_rows and not added.num_rows:
        return _empty(view)
    matched = _matched(removed, names, view, engine)
    if matched.num_rows != removed.num_rows:
        raise ViewChangedError(
            f"{view.snapshot.label} has {matched.num_rows} of {removed.num_rows} rows that its query no longer returns:"
            " it was changed by hand"
        )
    columns = ", ".join(f"added.{identifier(name)}" for name in names)
    return _run(
        lambda removed, added: (
            f"""WITH removed AS (SELECT *, row_number() OVER (PARTITION BY "{KEY}") AS __lance_n FROM {removed}),
        added AS (SELECT *, row_number() OVER (PARTITION BY "{KEY}") AS __lance_n FROM {added})
        SELECT {columns}, removed.{ROW_ID}, removed.{ROW_ADDRESS},
            CASE WHEN added.__lance_n IS NULL THEN '{DELETE}' ELSE '{WRITE}' END AS "{CHANGE}"
        FROM removed FULL JOIN added ON removed."{KEY}" = added."{KEY}" AND removed.__lance_n = added.__lance_n"""
        ),
        engine,
        removed=Source(matched),
        added=Source(added),
    )


def _without(rows: pa.Table, others: pa.Table, engine: Engine) -> pa.Table:
    if not rows.num_rows or not others.num_rows:
        return rows
    return _run(
        lambda rows, others: f"SELECT * FROM {rows} EXCEPT ALL SELECT * FROM {others}",
        engine,
        rows=Source(rows),
        others=Source(others),
    )


def _matched(removed: pa.Table, names: Sequence[str], view: Dataset, engine: Engine) -> pa.Table:
    """Finds for each row an equal one of the view: `KEY`, `_rowid`, `_rowaddr`."""
    columns = ", ".join(map(identifier, names))
    equal = " AND ".join(f"own.{identifier(name)} IS NOT DISTINCT FROM removed.{identifier(name)}" for name in names)
    where = _where(removed, names)
    return _run(
        lambda removed, view: (
            f"""WITH removed AS (SELECT *, row_number() OVER (PARTITION BY {columns}) AS __lance_n FROM {removed}),
        own AS (SELECT *, row_number() OVER (PARTITION BY {columns}) AS __lance_n FROM {view} AS own
            WHERE EXISTS (SELECT 1 FROM removed WHERE {equal}))
        SELECT removed."{KEY}", own.{ROW_ID}, own.{ROW_ADDRESS}
        FROM removed JOIN own ON removed.__lance_n = own.__lance_n AND {equal}"""
        ),
        engine,
        removed=Source(removed),
        view=Source(view, with_system_columns=True, where=where),
    )


def _where(rows: pa.Table, names: Sequence[str]) -> str | None:
    """Returns a filter on the column with the most distinct values."""
    best: tuple[int, str] | None = None
    for name in names:
        some = _among(name, rows.column(name))
        if some is not None:
            count = len(pc.unique(rows.column(name)))
            best = (count, some) if best is None or count > best[0] else best
    return None if best is None else best[1]


def _of_groups(groups: pa.Table, after: pa.Table, keys: Sequence[str], view: Dataset, engine: Engine) -> pa.Table:
    names = view.schema.names
    equal = " AND ".join(f"own.{identifier(name)} IS NOT DISTINCT FROM wanted.{identifier(name)}" for name in keys)
    where = _where(groups, keys)
    before = _run(
        lambda view, wanted: (
            f"""SELECT * FROM {view} AS own
        WHERE EXISTS (SELECT 1 FROM {wanted} AS wanted WHERE {equal})"""
        ),
        engine,
        view=Source(view, with_system_columns=True, where=where),
        wanted=Source(groups),
    )
    same = " AND ".join(f"before.{identifier(name)} IS NOT DISTINCT FROM came.{identifier(name)}" for name in keys)
    is_equal = " AND ".join(f"before.{identifier(name)} IS NOT DISTINCT FROM came.{identifier(name)}" for name in names)
    columns = ", ".join(f"came.{identifier(name)}" for name in names)
    return _run(
        lambda before, after: (
            f"""SELECT {columns}, before.{ROW_ID}, before.{ROW_ADDRESS},
            CASE WHEN came.__lance_there IS NULL THEN '{DELETE}' ELSE '{WRITE}' END AS "{CHANGE}"
        FROM {before} AS before FULL JOIN (SELECT *, true AS __lance_there FROM {after}) AS came ON {same}
        WHERE NOT (before.{ROW_ID} IS NOT NULL AND came.__lance_there IS NOT NULL AND {is_equal})"""
        ),
        engine,
        before=Source(before),
        after=Source(after),
    )


def replacement(view: Dataset, rows: pa.RecordBatchReader) -> Iterator[RowChange]:
    """Yields changes that delete all rows of a view and insert others."""
    yield deleted(addresses(view.snapshot, None))
    for batch in rows:
        given = typed(view.schema, dict(zip(view.schema.names, batch.columns, strict=True)))
        yield inserted(view.snapshot, given, batch.num_rows)


def _empty(view: Dataset) -> pa.Table:
    rows = view.schema.empty_table()
    for name, type in ((ROW_ID, pa.uint64()), (ROW_ADDRESS, pa.uint64()), (CHANGE, pa.string())):
        rows = rows.append_column(name, pa.array([], type))
    return rows


def num_different(shape: Shape, view: Dataset, expected: pa.Table, engine: Engine) -> int:
    """Counts extra and missing rows of a view. Floats that differ by at most a billionth count as equal, because sums
    depend on the order of rows."""
    names = view.schema.names
    if shape.keys is None:
        count = _run(
            lambda view, expected: (
                f"""SELECT count(*) FROM ((SELECT * FROM {view} EXCEPT ALL SELECT * FROM {expected})
            UNION ALL (SELECT * FROM {expected} EXCEPT ALL SELECT * FROM {view}))"""
            ),
            engine,
            view=Source(view),
            expected=Source(expected),
        )
    else:
        keys = [names[position] for position in shape.keys]
        same = " AND ".join(f"own.{identifier(name)} IS NOT DISTINCT FROM other.{identifier(name)}" for name in keys)
        equal = " AND ".join(map(_is_close, view.schema))
        count = _run(
            lambda view, expected: (
                f"""SELECT count(*) FROM (SELECT *, true AS __lance_there FROM {view}) AS own
            FULL JOIN (SELECT *, true AS __lance_there FROM {expected}) AS other ON {same}
            WHERE own.__lance_there IS NULL OR other.__lance_there IS NULL OR NOT ({equal})"""
            ),
            engine,
            view=Source(view),
            expected=Source(expected),
        )
    different: int = count.column(0)[0].as_py()
    return different or abs(view.count_rows() - expected.num_rows)


def _is_close(field: pa.Field) -> str:
    own, other = f"own.{identifier(field.name)}", f"other.{identifier(field.name)}"
    equal = f"{own} IS NOT DISTINCT FROM {other}"
    if not pa.types.is_floating(field.type):
        return f"({equal})"
    return f"({equal} OR coalesce(abs({own} - {other}) <= 1e-9 * greatest(abs({own}), abs({other})), false))"


def _run(text: Callable[..., str], engine: Engine, **sources: Source) -> pa.Table:
    """Runs a query.

    text: returns the query from the names of its tables
    """
    names = {name: new_name() for name in sources}
    query = OwnQuery(texts=[text(**{name: identifier(given) for name, given in names.items()})], expressions=[])
    return _read(query, {names[name]: source for name, source in sources.items()}, engine)
