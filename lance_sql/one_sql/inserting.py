"""INSERT, CREATE TABLE .. AS and COPY .. TO: a query runs in the engine, and its rows stream into a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
from sqlglot import exp

import lance_sql.dataset
from lance_sql.casts.assignment import assign
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, TableExists, TableNotFound, UnsupportedFeature
from lance_sql.one_sql.changes import Change, column_in, only, target, unversioned
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.references import SUFFIX
from lance_sql.writing import write


@dataclass(frozen=True)
class Insertion(Change):
    """INSERT INTO and INSERT OVERWRITE.

    query: whose rows are inserted
    columns: that its columns are, in their order; all columns of the table without it
    by_name: columns of the query go where their names say
    overwrite: the rows before go
    """

    query: exp.Expr
    columns: tuple[str, ...] | None
    by_name: bool
    overwrite: bool

    @property
    def replaces(self) -> bool:
        return self.overwrite

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        dataset = lance_sql.dataset.open(path)
        reader = engine.prepare(self.query).read()
        schema = dataset.schema
        if self.by_name:
            names = [column_in(name, dataset) for name in reader.schema.names]
        else:
            names = list(schema.names) if self.columns is None else [column_in(name, dataset) for name in self.columns]
        if len(names) != len(reader.schema.names):
            raise InvalidArgument(
                f"The query has {_columns(len(reader.schema.names))} for {_columns(len(names))} of {dataset.uri}: name "
                "them, as in INSERT INTO 'x.lance' (id, status) SELECT .., or say INSERT INTO 'x.lance' BY NAME"
            )
        if len(set(names)) < len(names):
            raise InvalidArgument("A column is inserted twice")
        rows = _in_order(reader, names, schema)
        return write(rows, path, mode="overwrite" if self.overwrite else "append")


@dataclass(frozen=True)
class Creation(Change):
    """CREATE TABLE .. AS and COPY .. TO.

    query: whose rows and columns the table has
    mode: of `lance_sql.write`
    """

    query: exp.Expr
    mode: Literal["create", "append", "overwrite"]

    @property
    def replaces(self) -> bool:
        return self.mode == "overwrite"

    def begins_with_table(self) -> bool:
        try:
            there = self.table()
        except TableNotFound:
            if self.mode == "append":
                raise
            return False
        if self.mode == "create":
            raise TableExists(
                f"There is a table at {self.path!r} already, version {there.version}. Say CREATE OR REPLACE TABLE, "
                "INSERT INTO, or another place."
            )
        return True

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        return write(engine.prepare(self.query).read(), path, mode=self.mode)


def insertion(node: exp.Insert) -> Insertion:
    """
    raises: UnsupportedFeature for clauses that are not known
    """
    path, _ = target(node.this, "INSERT")
    only(node, "INSERT", "this", "expression", "with_", "by_name", "overwrite")
    query = node.expression
    if not isinstance(query, exp.Query | exp.Values):
        raise UnsupportedFeature("INSERT takes a query or VALUES")
    if node.args.get("with_"):
        query = query.copy()
        query.set("with_", node.args["with_"].copy())
    columns = None
    if isinstance(node.this, exp.Schema):
        columns = tuple(each.name for each in node.this.expressions)
        if node.args.get("by_name"):
            raise UnsupportedFeature("INSERT .. BY NAME has no list of columns here: the query names them")
    return Insertion(path, as_query(query), columns, bool(node.args.get("by_name")), bool(node.args.get("overwrite")))


def creation(node: exp.Create) -> Creation:
    """
    raises: as `insertion`
    """
    path, _ = target(node.this, "CREATE TABLE")
    if node.args.get("kind") != "TABLE" or not isinstance(node.expression, exp.Query | exp.Values):
        raise UnsupportedFeature(f"CREATE {node.args.get('kind')} of {path}: only CREATE TABLE .. AS is known here")
    only(node, "CREATE TABLE", "this", "kind", "expression", "replace")
    return Creation(path, as_query(node.expression), "overwrite" if node.args.get("replace") else "create")


def copy(node: exp.Copy) -> Creation | None:
    """COPY .. TO a Lance table: one with FORMAT lance, or a path of its name; None for other files.

    raises: UnsupportedFeature for options that are not known
    """
    files = node.args.get("files") or []
    options = _options(node.args.get("params") or [])
    path = files[0].name if len(files) == 1 else ""
    named = options.pop("FORMAT", None)
    is_lance = named is not None and named.name.lower() == "lance"
    if not is_lance and (named is not None or not path.rstrip("/").lower().endswith(SUFFIX)):
        return None
    if node.args.get("kind"):
        raise UnsupportedFeature(f"COPY .. FROM a Lance table: INSERT INTO .. SELECT * FROM '{path}' reads it")
    mode = options.pop("MODE", None)
    chosen = "create" if mode is None else mode.name.lower()
    only(node, "COPY", "this", "kind", "files", "params", "credentials")
    if options or chosen not in ("create", "append", "overwrite"):
        name = next(iter(options), f"MODE {chosen}")
        raise UnsupportedFeature(f"COPY .. (FORMAT lance) takes MODE create, append or overwrite, not {name}")
    query = node.this
    if isinstance(query, exp.Subquery):
        query = query.this
    elif isinstance(query, exp.Table):
        query = exp.select("*").from_(query)
    return Creation(unversioned(path), as_query(query), chosen)  # type: ignore[arg-type]  # checked above


def _options(parameters: list[exp.Expr]) -> dict[str, exp.Expr | None]:
    """The options of COPY by their names; the parser takes MODE and its word apart where that is a word of SQL."""
    found: dict[str, exp.Expr | None] = {}
    left = iter(parameters)
    for each in left:
        value = each.args.get("expression")
        if each.name.upper() == "MODE" and value is None:
            following = next(left, None)
            value = None if following is None else following.this
        found[each.name.upper()] = value
    return found


def as_query(query: exp.Expr) -> exp.Expr:
    """VALUES as a query, which every engine has."""
    return exp.select("*").from_(exp.alias_(query, "rows", table=True)) if isinstance(query, exp.Values) else query


def _in_order(reader: pa.RecordBatchReader, names: Sequence[str], schema: pa.Schema) -> pa.RecordBatchReader:
    """The rows under the names of the table, plain values in its types; its other columns are NULL."""
    own = [schema.field(name) for name in names]
    is_plain = [
        given.type != field.type and not pa.types.is_nested(given.type) and not pa.types.is_nested(field.type)
        for given, field in zip(reader.schema, own, strict=True)
    ]
    fields = [
        (field if plain else given.with_name(field.name)).with_nullable(True)
        for given, field, plain in zip(reader.schema, own, is_plain, strict=True)
    ]
    missing = [field.with_nullable(True) for field in schema if field.name not in names]
    made = pa.schema([*fields, *missing])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            values = [
                assign(field.name, column, field) if plain else column
                for column, field, plain in zip(batch.columns, own, is_plain, strict=True)
            ]
            nulls = [pa.nulls(batch.num_rows, field.type) for field in missing]
            yield pa.RecordBatch.from_arrays([*values, *nulls], schema=made)

    return pa.RecordBatchReader.from_batches(made, batches())


def _columns(count: int) -> str:
    return f"{count} column{'' if count == 1 else 's'}"
