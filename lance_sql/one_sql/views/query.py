"""The query of a view, computed in DuckDB over the newest versions of its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, TableNotFound, sentence
from lance_sql.format.casts.lossless import is_lossless
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.jobs.writing import write
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.dialects import dialect_of, parse
from lance_sql.one_sql.engines import Engine, Prepared, engine_of, opened
from lance_sql.one_sql.own_words import Words
from lance_sql.one_sql.references import Reference, reference
from lance_sql.one_sql.views import broken_query, definition
from lance_sql.one_sql.views.definition import Definition, SourceVersion
from lance_sql.one_sql.views.shape import Functions, Shape, is_plain, shape
from lance_sql.opening import open as open_dataset
from lance_sql.providers.sources import Source
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.location import table_name
from lance_sql.values import kinds
from lance_sql.values.sql_text import literal
from lance_sql.values.typed_sql import OwnQuery, joined

_CALL: Final = re.compile(r"[a-z_]\w*(?=\s*\()")
_COLLATION: Final = "default_collation"
_SETTINGS: Final = (
    "TimeZone",
    "Calendar",
    _COLLATION,
    "default_null_order",
    "default_order",
    "integer_division",
    "ieee_floating_point_ops",
)
"""Settings of DuckDB that affect the result of a query."""


def settings_of(connection: Any) -> dict[str, str]:
    """Returns the settings of a DuckDB connection that affect the result of a query."""
    names = ", ".join(f"'{name}'" for name in _SETTINGS)
    rows = connection.sql(f"SELECT name, value FROM duckdb_settings() WHERE name IN ({names})").fetchall()
    return {name: value or "" for name, value in sorted(rows)}


class ViewQuery:
    """Query of a view, and its tables at their newest versions.

    text: of the query
    settings: of the session that it is computed in; by default, those of a new connection
    recorded: the definition with the paths of the tables
    view: the path of the view
    """

    def __init__(
        self,
        text: str,
        settings: Mapping[str, str] | None = None,
        recorded: Definition | None = None,
        view: str = "",
    ) -> None:
        self.text = text.strip()
        self.engine: Engine = engine_of("duckdb", None, None, None)
        for name, value in (settings or {}).items():
            self.engine.target.execute(f"SET {name} = {literal(value)}")
        self.dialect = dialect_of("duckdb")
        rewritten = rewrite(self.text, self.dialect)
        trees = parse(rewritten, self.dialect)
        if len(trees) != 1 or not isinstance(trees[0], exp.Query):
            order = " (the query comes first, then the table)" if self.text.rstrip("/").endswith(".lance") else ""
            raise InvalidArgument(f'A view needs one query, such as "SELECT ..", not {self.text[:200]!r}{order}')
        self.tree: exp.Query = trees[0]
        self._words = Words(rewritten, self.dialect, self.tree)
        paths = (
            {} if recorded is None else {each.name: definition.absolute(each.path, view) for each in recorded.sources}
        )
        self._recorded, self._view = recorded, view
        self.tables: dict[str, Dataset] = {}
        self.is_complete = True
        """Whether the rows depend only on the newest versions of the tables."""
        for node in self.tree.find_all(exp.Table):
            table_reference = reference(node)
            if table_reference is None or not is_plain(table_reference):
                self.is_complete = False
            elif table_reference.path not in self.tables:
                name = str(table_reference.path)
                self.tables[name] = self._source(paths.get(name, name))

    def _source(self, path: str) -> Dataset:
        try:
            return open_dataset(path)
        except TableNotFound as error:
            if self._recorded is None:
                raise
            raise TableNotFound(
                f"The view {table_name(self._view)} reads a table that is gone: {sentence(str(error))} Restore it, or"
                " drop the view (DROP MATERIALIZED VIEW)"
            ) from None

    @contextmanager
    def _in_its_words(self) -> Iterator[None]:
        """
        raises: InvalidArgument for a query that does not fit its tables
        """
        try:
            yield
        except Exception as error:
            better = broken_query.explained(error, self.tables, self._recorded, self._view)
            if better is None:
                raise
            raise better from None

    @cached_property
    def settings(self) -> dict[str, str]:
        """Settings of the engine."""
        return settings_of(self.engine.target)

    @property
    def time_zone(self) -> str:
        """Time zone of the engine, in which it converts between times and days."""
        return self.settings["TimeZone"]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the result.

        raises: InvalidArgument for duplicate names
        """
        with self._in_its_words():
            names = self.prepared().names
        folded = [name.casefold() for name in names]
        twice = [name for name in names if folded.count(name.casefold()) > 1]
        if twice:
            raise InvalidArgument(f"Two columns of the view are named {twice[0]!r}: rename one with AS")
        return names

    def prepared(self) -> Prepared:
        """Prepares the query over all rows, as typed."""
        return self.engine.prepare(self._words.all(self.tree), is_typed=False, opening=self._opened)

    def _opened(self, table_reference: Reference) -> Source:
        return Source(self.tables[str(table_reference.path)]) if is_plain(table_reference) else opened(table_reference)

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """Schema of the result; computes no rows."""
        query = joined(["SELECT * FROM (", self._words.all(self.tree), "\n) LIMIT 0"], OwnQuery)
        with self._in_its_words():
            return self.engine.prepare(query, is_typed=False, opening=self._opened).reader().schema

    def changed_type(self, view: Dataset) -> str | None:
        """Describes a column whose type in the view cannot hold the values of the query, with both types; None if there
        is none."""
        now = from_arrow(pa.schema([field.with_nullable(True) for field in self.arrow_schema])).arrow
        for own, wanted in zip(view.schema, now, strict=True):
            if not is_lossless(wanted.type, own.type) or _is_cut(wanted.type, own.type):
                return f"{own.name}, which is {own.type} in the view and {wanted.type} in the query"
        return None

    def create(self, path: str) -> None:
        """Creates an empty table with the columns of the query."""
        fields = [field.with_nullable(True) for field in self.arrow_schema]
        # Arrow cannot create empty tables of all types
        _ = from_arrow(pa.schema(fields))
        _ = write(pa.schema(fields).empty_table(), path, mode="create")

    def sources(self, view: str) -> tuple[SourceVersion, ...]:
        """Returns the versions of the tables to record for the view's new rows."""
        return tuple(
            SourceVersion(name, definition.relative(dataset.uri, view), dataset.version, definition.timestamp(dataset))
            for name, dataset in self.tables.items()
        )

    def shape(self) -> Shape | str:
        """Returns the shape of the query; or the reason why all rows must be read."""
        if self.settings.get(_COLLATION):
            return f"the setting {_COLLATION} is {self.settings[_COLLATION]}"
        columns = {name: dataset.schema.names for name, dataset in self.tables.items()}
        taken = next(filter(_is_own, (*self.names, *chain.from_iterable(columns.values()))), None)
        if taken is not None:
            return f"the name of the column {taken!r} is used to follow changes"
        kind = shape(self.tree, self.text, self.dialect, _functions(), columns)
        if isinstance(kind, Shape) and len(kind.select.expressions) != len(self.names):
            return "a part of it becomes several columns"
        return kind


def _is_own(name: str) -> bool:
    """Whether a column of a user has a name that the queries for changes use themselves."""
    return name.lower().startswith(_OWN) or name.lower() in (ROW_ID, ROW_ADDRESS)


_OWN: Final = "__lance_"


def _is_cut(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether times of one type have a finer unit than those of the other."""
    if not (pa.types.is_timestamp(source) and pa.types.is_timestamp(target)):
        return False
    return kinds.UNITS.index(source.unit) > kinds.UNITS.index(target.unit)


@cache
def _functions() -> Functions:
    """Returns the names of DuckDB's functions."""
    connection = engine_of("duckdb", None, None, None).target
    texts = (
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'",
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'",
    )
    volatile, aggregates = ({row[0].lower() for row in connection.sql(text).fetchall()} for text in texts)
    query = "SELECT function_name, macro_definition FROM duckdb_functions() WHERE macro_definition IS NOT NULL"
    calls = {name.lower(): set(_CALL.findall(text.lower())) for name, text in connection.sql(query).fetchall()}
    # macros have the properties of the functions that they call
    for functions in (volatile, aggregates):
        while more := {name for name, called in calls.items() if name not in functions and called & functions}:
            functions |= more
    return Functions(volatile, aggregates)
