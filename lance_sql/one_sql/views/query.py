"""The query of a view, computed in DuckDB over the newest versions of its tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from lance_sql.dataset import Dataset
from lance_sql.dataset import open as open_dataset
from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.lossless import is_lossless
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.jobs.writing import write
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.dialects import OwnQuery, dialect_of, joined, parse
from lance_sql.one_sql.engines import Engine, Prepared, engine_of, opened
from lance_sql.one_sql.own_words import Words
from lance_sql.one_sql.references import Reference, reference
from lance_sql.one_sql.views import definition
from lance_sql.one_sql.views.definition import Definition, SourceVersion
from lance_sql.one_sql.views.shape import Functions, Shape, is_plain, shape
from lance_sql.providers.sources import Source

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
"""Settings of DuckDB that what a query gives depends on."""


def settings_of(connection: Any) -> dict[str, str]:
    """The settings of a DuckDB connection that what a query gives depends on."""
    names = ", ".join(f"'{name}'" for name in _SETTINGS)
    rows = connection.sql(f"SELECT name, value FROM duckdb_settings() WHERE name IN ({names})").fetchall()
    return {name: value or "" for name, value in sorted(rows)}


class ViewQuery:
    """The query of a view, and its tables at their newest versions.

    text: of the query
    settings: of the session that it is computed in; those of a new connection without them
    recorded: the definition, which says where the tables are
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
            quoted = value.replace("'", "''")
            self.engine.target.execute(f"SET {name} = '{quoted}'")
        self.dialect = dialect_of("duckdb")
        rewritten = rewrite(self.text, self.dialect)
        trees = parse(rewritten, self.dialect)
        if len(trees) != 1 or not isinstance(trees[0], exp.Query):
            raise InvalidArgument(f"A view is of one query, not of {self.text[:200]!r}")
        self.tree: exp.Query = trees[0]
        self._words = Words(rewritten, self.dialect, self.tree)
        paths = (
            {} if recorded is None else {each.name: definition.absolute(each.path, view) for each in recorded.sources}
        )
        self.tables: dict[str, Dataset] = {}
        self.is_complete = True
        """Whether the rows depend on nothing but the newest versions of the tables."""
        for node in self.tree.find_all(exp.Table):
            table_reference = reference(node)
            if table_reference is None or not is_plain(table_reference):
                self.is_complete = False
            elif table_reference.path not in self.tables:
                name = str(table_reference.path)
                self.tables[name] = open_dataset(paths.get(name, name))

    @cached_property
    def settings(self) -> dict[str, str]:
        """Those of the engine."""
        return settings_of(self.engine.target)

    @property
    def time_zone(self) -> str:
        """That of the engine, by which it takes moments for days, and the other way round."""
        return self.settings["TimeZone"]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the columns of the result.

        raises: InvalidArgument for two of one name
        """
        names = self.prepared().names
        folded = [name.casefold() for name in names]
        twice = [name for name in names if folded.count(name.casefold()) > 1]
        if twice:
            raise InvalidArgument(f"Two columns of the view are called {twice[0]!r}: name one of them with AS")
        return names

    def prepared(self) -> Prepared:
        """The query over all rows, in the words that were typed."""
        return self.engine.prepare(self._words.all(self.tree), is_typed=False, opening=self._opened)

    def _opened(self, table_reference: Reference) -> Source:
        return Source(self.tables[str(table_reference.path)]) if is_plain(table_reference) else opened(table_reference)

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The columns of the result; no row is computed."""
        query = joined(["SELECT * FROM (", self._words.all(self.tree), "\n) LIMIT 0"], OwnQuery)
        return self.engine.prepare(query, is_typed=False, opening=self._opened).reader().schema

    def changed_type(self, view: Dataset) -> str | None:
        """A column whose type in the view does not hold the values of the query, and both types; None where there is
        none."""
        now = from_arrow(pa.schema([field.with_nullable(True) for field in self.arrow_schema])).arrow
        for own, wanted in zip(view.schema, now, strict=True):
            if not is_lossless(wanted.type, own.type) or _is_cut(wanted.type, own.type):
                return f"{own.name}, which is {own.type} in the view and {wanted.type} in the query"
        return None

    def create(self, path: str, storage_options: Mapping[str, Any] | None) -> None:
        """Makes an empty table with the columns of the query."""
        fields = [field.with_nullable(True) for field in self.arrow_schema]
        # Arrow makes no empty table of every type
        _ = from_arrow(pa.schema(fields))
        _ = write(pa.schema(fields).empty_table(), path, storage_options=storage_options, mode="create")

    def sources(self, view: str) -> tuple[SourceVersion, ...]:
        """The versions of the tables that the view has the rows of from now on."""
        return tuple(
            SourceVersion(name, definition.relative(dataset.uri, view), dataset.version, definition.timestamp(dataset))
            for name, dataset in self.tables.items()
        )

    def shape(self) -> Shape | str:
        """The shape of the query; or why all rows are to be read."""
        if self.settings.get(_COLLATION):
            return f"the setting {_COLLATION} is {self.settings[_COLLATION]}"
        columns = {name: dataset.schema.names for name, dataset in self.tables.items()}
        kind = shape(self.tree, self.text, self.dialect, _functions(), columns)
        if isinstance(kind, Shape) and len(kind.select.expressions) != len(self.names):
            return "a part of it becomes several columns"
        return kind


_UNITS: Final = ("s", "ms", "us", "ns")


def _is_cut(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether times of one type have digits that those of the other have not."""
    if not (pa.types.is_timestamp(source) and pa.types.is_timestamp(target)):
        return False
    return _UNITS.index(source.unit) > _UNITS.index(target.unit)


@cache
def _functions() -> Functions:
    """Those of DuckDB."""
    connection = engine_of("duckdb", None, None, None).target
    texts = (
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'",
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'",
    )
    volatile, aggregates = ({row[0].lower() for row in connection.sql(text).fetchall()} for text in texts)
    query = "SELECT function_name, macro_definition FROM duckdb_functions() WHERE macro_definition IS NOT NULL"
    calls = {name.lower(): set(_CALL.findall(text.lower())) for name, text in connection.sql(query).fetchall()}
    # macros are what they are made of
    for functions in (volatile, aggregates):
        while more := {name for name, called in calls.items() if name not in functions and called & functions}:
            functions |= more
    return Functions(volatile, aggregates)
