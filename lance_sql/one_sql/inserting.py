"""INSERT, CREATE TABLE .. AS and COPY .. TO: a query runs in the engine, and its rows stream into a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypedDict

import pyarrow as pa
from sqlglot import exp

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, TableExists, TableNotFound, UnsupportedFeature, sentence
from lance_sql.format.schema.types import declared_field
from lance_sql.jobs.writing import begin_write, write
from lance_sql.one_sql import in_catalogs
from lance_sql.one_sql.engines import Engine, Prepared
from lance_sql.one_sql.free_columns import is_default
from lance_sql.one_sql.named_tables import SUFFIX
from lance_sql.one_sql.references import path_of, place_of
from lance_sql.one_sql.table_properties import FILE_VERSION, TableProperties, table_properties
from lance_sql.one_sql.writing_statements import Change, column_in, only, target
from lance_sql.providers.sources import Source
from lance_sql.table import address
from lance_sql.table.commit_summary import VIEW
from lance_sql.values.local_paths import shown
from lance_sql.values.nullability import nullable
from lance_sql.values.typed_sql import OwnQuery, OwnWords, joined
from lance_sql.writes.statements.row_changes import assembled, typed

_OF_COPY: Final = (
    "COMPRESSION",
    "COMPRESSION_LEVEL",
    "DATA_STORAGE_VERSION",
    "MAX_ROWS_PER_FILE",
    "MAX_BYTES_PER_FILE",
    "WRITE_EMPTY_FILE",
)
"""Options of COPY besides MODE."""


class Limits(TypedDict, total=False):
    """Limits of a data file, as of `lance_sql.write`."""

    max_rows_per_file: int
    max_bytes_per_file: int


@dataclass(frozen=True)
class Insertion(Change):
    """INSERT INTO and INSERT OVERWRITE.

    query: returns the rows to insert
    columns: the target columns, in the order of the query; all columns of the table by default
    by_name: columns of the query are matched by name
    overwrite: existing rows are removed
    """

    query: exp.Expr
    columns: tuple[str, ...] | None
    by_name: bool
    overwrite: bool

    @property
    def replaces(self) -> bool:
        return self.overwrite

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        try:
            dataset = lance_sql.opening.open(path)
        except TableNotFound as error:
            error.message = sentence(error.message) + f" To create it: CREATE TABLE '{self.path}' AS SELECT .."
            raise
        schema = dataset.schema
        given = _names_of(self.query, engine)
        if self.by_name:
            names = [column_in(name, dataset) for name in given]
        else:
            names = list(schema.names) if self.columns is None else [column_in(name, dataset) for name in self.columns]
        if len(names) != len(given):
            raise InvalidArgument(
                f"The query has {_columns(len(given))} for {_columns(len(names))} of {shown(dataset.uri)}: name them,"
                " as in INSERT INTO 'x.lance' (id, status) SELECT .., or use INSERT INTO 'x.lance' BY NAME"
            )
        if len(set(names)) < len(names):
            raise InvalidArgument("A column is inserted twice")
        types = engine.column_types(Source(dataset))
        rows = _in_order(_prepared(self.query, [types.get(name) for name in names], engine).reader(), names, schema)
        if not self.overwrite:
            return write(rows, path, mode="append", create=False)
        columns = pa.schema(map(declared_field, dataset.snapshot.manifest.schema.fields), schema.metadata)
        return begin_write(columns, path, mode="overwrite").write(rows)


@dataclass(frozen=True)
class Creation(Change):
    """CREATE TABLE .. AS and COPY .. TO.

    query: returns the rows and columns of the table
    mode, compression, compression_level, limits: of `lance_sql.write`
    if_not_exists: leaves an existing table alone; if_exists: only replaces one
    properties: of the table
    """

    query: exp.Expr
    mode: Literal["create", "append", "overwrite"]
    compression: str | None = None
    compression_level: int | None = None
    if_not_exists: bool = False
    if_exists: bool = False
    properties: TableProperties = field(default_factory=TableProperties)
    limits: Limits = field(default_factory=Limits)

    @property
    def replaces(self) -> bool:
        return self.mode == "overwrite"

    def begins_with_table(self) -> bool:
        try:
            existing = self.table()
        except TableNotFound:
            if self.mode == "append" or self.if_exists:
                raise
            return False
        if self.mode == "create" and not self.if_not_exists:
            raise TableExists(
                f"Table {self.path!r} exists already, at version {existing.version}: use CREATE OR REPLACE TABLE,"
                " INSERT INTO, or another path"
            )
        if self.mode == "overwrite" and VIEW in existing.snapshot.manifest.config:
            raise InvalidArgument(
                f"{self.path} is a materialized view: use CREATE OR REPLACE MATERIALIZED VIEW, or drop the view first"
            )
        return True

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        # refuses an existing table in the words of SQL
        if self.begins_with_table() and self.if_not_exists:
            return lance_sql.opening.open(path)
        rows = engine.prepare(as_query(self.query)).reader()
        if self.mode != "append":
            # an engine derives NOT NULL from literals and counts, which later rows need not keep
            wanted = self.properties.schema([*map(nullable, rows.schema)])
            rows = rows.cast(wanted.with_metadata(rows.schema.metadata))
        return write(
            rows,
            path,
            mode=self.mode,
            create=self.mode != "append",
            compression=self.compression,
            compression_level=self.compression_level,
            file_version=self.properties.file_version,
            stable_row_ids=self.properties.stable_row_ids,
            config=self.properties.config,
            **self.limits,
        )


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
            raise UnsupportedFeature("INSERT .. BY NAME cannot have a list of columns: name them in the query")
    return Insertion(path, query, columns, bool(node.args.get("by_name")), bool(node.args.get("overwrite")))


def creation(node: exp.Create) -> Change:
    """
    raises: as `insertion`
    """
    place = place_of(node.this)
    path = target(node.this, "CREATE TABLE")[0] if place is None else node.this.sql("duckdb")
    if node.args.get("kind") != "TABLE" or not isinstance(node.expression, exp.Query | exp.Values):
        raise UnsupportedFeature(f"CREATE {node.args.get('kind')} of {path} is not supported: use CREATE TABLE .. AS")
    only(node, "CREATE TABLE", "this", "kind", "expression", "replace")
    change = Creation(path, node.expression, "overwrite" if node.args.get("replace") else "create")
    return change if place is None else in_catalogs.made(place, path, change)


def copy(node: exp.Copy) -> Creation | None:
    """Parses COPY .. TO a Lance table, with FORMAT lance or a path ending with .lance; returns None for other files.

    raises: UnsupportedFeature for unknown options; InvalidArgument for a file of another format that would have the
        name of a table
    """
    table = node.this.this if isinstance(node.this, exp.Schema) else node.this
    if node.args.get("kind") and path_of(table) is not None:
        raise UnsupportedFeature(
            f"COPY .. FROM a file into a Lance table is not supported: write INSERT INTO '{path_of(table)}' FROM"
            " 'x.csv'"
        )
    files = node.args.get("files") or []
    options = _options(node.args.get("params") or [])
    path = files[0].name if len(files) == 1 else ""
    named = options.pop("FORMAT", None)
    is_lance = named is not None and named.name.lower() == "lance"
    if not is_lance:
        if not path.rstrip("/").lower().endswith(SUFFIX):
            return None
        if named is not None and not node.args.get("kind"):
            raise InvalidArgument(f"COPY .. TO {path} would write another format: add (FORMAT lance)")
        if named is not None:
            return None
    if node.args.get("kind"):
        raise UnsupportedFeature(
            f"COPY .. FROM a Lance table is not supported: write INSERT INTO .. SELECT * FROM '{path}'"
        )
    mode = options.pop("MODE", None)
    chosen = "create" if mode is None else mode.name.lower()
    compression, level = options.pop("COMPRESSION", None), options.pop("COMPRESSION_LEVEL", None)
    limits = _limits(options)
    version = options.pop("DATA_STORAGE_VERSION", None)
    properties = table_properties({} if version is None else {FILE_VERSION: version.name})
    # an empty query creates an empty table
    if (empty := options.pop("WRITE_EMPTY_FILE", None)) is not None and str(empty.this).lower() not in ("true", "1"):
        raise UnsupportedFeature("COPY .. (FORMAT lance, WRITE_EMPTY_FILE false) is not supported: leave it out")
    only(node, "COPY", "this", "kind", "files", "params", "credentials")
    if options or chosen not in ("create", "append", "overwrite"):
        name = next(iter(options), f"MODE {chosen}")
        raise UnsupportedFeature(
            f"COPY .. (FORMAT lance) takes MODE create, append or overwrite, {', '.join(_OF_COPY)}, not {name}"
        )
    query = node.this
    if isinstance(query, exp.Subquery):
        query = query.this
    elif isinstance(query, exp.Table):
        query = exp.select("*").from_(query)
    return Creation(
        address.of_newest(path),
        query,
        chosen,  # type: ignore[arg-type]  # checked above
        None if compression is None else compression.name.lower(),
        _whole("compression_level", level),
        properties=properties,
        limits=limits,
    )


def _limits(options: dict[str, exp.Expr | None]) -> Limits:
    """Takes the limits of a data file from the options of COPY."""
    limits = Limits()
    if (rows := _whole("max_rows_per_file", options.pop("MAX_ROWS_PER_FILE", None))) is not None:
        limits["max_rows_per_file"] = rows
    if (size := _whole("max_bytes_per_file", options.pop("MAX_BYTES_PER_FILE", None))) is not None:
        limits["max_bytes_per_file"] = size
    return limits


def _whole(name: str, value: exp.Expr | None) -> int | None:
    """
    raises: InvalidArgument for an option that is not a whole number
    """
    if value is not None and not value.name.isdigit():
        raise InvalidArgument(f"{name.upper()} must be a number, not {value.name!r}")
    return None if value is None else int(value.name)


def _options(parameters: list[exp.Expr]) -> dict[str, exp.Expr | None]:
    """Returns the options of COPY by name; the parser splits MODE and its value if the value is an SQL keyword."""
    options: dict[str, exp.Expr | None] = {}
    left = iter(parameters)
    for each in left:
        value = each.args.get("expression")
        if each.name.upper() in ("MODE", *_OF_COPY) and value is None:
            following = next(left, None)
            value = None if following is None else following.this
        options[each.name.upper()] = value
    return options


def as_query(query: exp.Expr) -> exp.Expr:
    """Converts VALUES to a query, which every engine supports."""
    return exp.select("*").from_(exp.alias_(query, "rows", table=True)) if isinstance(query, exp.Values) else query


def _names_of(query: exp.Expr, engine: Engine) -> Sequence[str]:
    """Returns the columns of a query, or generated names for the values of VALUES.

    raises: InvalidArgument for rows of several lengths
    """
    if not isinstance(query, exp.Values):
        return engine.prepare(query).names
    lengths = {len(_values(row)) for row in query.expressions}
    if len(lengths) != 1:
        raise InvalidArgument("The rows of VALUES have several lengths")
    return [f"col{number}" for number in range(lengths.pop())]


def _values(row: exp.Expr) -> list[exp.Expr]:
    values: list[exp.Expr] = row.expressions if isinstance(row, exp.Tuple) else [row.this]
    return values


def _prepared(query: exp.Expr, types: Sequence[str | None], engine: Engine) -> Prepared:
    """Prepares a query with its values cast to the table's types.

    types: of the columns of the query; None if the engine does not cast
    """
    if None in types:
        return engine.prepare(as_query(query), is_typed=False)
    if engine.adapter.casts_rows and not isinstance(query, exp.Values):
        return engine.prepare(query, is_typed=False, types=types)
    return engine.prepare(_cast(query, types, engine), is_typed=False)


def _cast(query: exp.Expr, types: Sequence[str | None], engine: Engine) -> exp.Expr:
    """Returns a query that casts the values of another one; casts VALUES one by one, since rows may differ in types."""
    if isinstance(query, exp.Values):
        rows = [
            [_value(each, type, engine) for each, type in zip(_values(row), types, strict=True)]
            for row in query.expressions
        ]
        if isinstance(rows[0][0], OwnWords):
            # there may be many rows, and joining texts is fast
            parts = itertools.chain.from_iterable(("(", *_with_commas(row), "), ") for row in rows[:-1])
            return joined(["VALUES ", *parts, "(", *_with_commas(rows[-1]), ")"], OwnQuery)
        return as_query(exp.Values(expressions=[exp.Tuple(expressions=row) for row in rows]))
    names = [f"c{number}" for number in range(len(types))]
    alias = exp.TableAlias(this=exp.to_identifier("rows"), columns=[exp.to_identifier(name) for name in names])
    subquery = exp.Subquery(this=query.copy(), alias=alias)
    columns = [exp.alias_(engine.cast(exp.column(name), type), name) for name, type in zip(names, types, strict=True)]
    return exp.select(*columns).from_(subquery)


def _with_commas(values: Sequence[exp.Expr]) -> Iterator[exp.Expr | str]:
    for number, value in enumerate(values):
        yield from (", ", value) if number else (value,)


def _value(node: exp.Expr, type: str | None, engine: Engine) -> exp.Expr:
    # columns have no other
    return engine.cast(exp.null() if is_default(node) else node, type)


def _in_order(reader: pa.RecordBatchReader, names: Sequence[str], schema: pa.Schema) -> pa.RecordBatchReader:
    """Returns the rows with the names and types of the table; its other columns are NULL."""
    written = pa.schema([field.with_nullable(True) for field in schema])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            given = typed(schema, dict(zip(names, batch.columns, strict=True)))
            yield from assembled(written, given, None, batch.num_rows).to_batches()

    return pa.RecordBatchReader.from_batches(written, batches())


def _columns(count: int) -> str:
    return f"{count} column{'' if count == 1 else 's'}"
