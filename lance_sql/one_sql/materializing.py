"""Statements on materialized views, in the syntax of Postgres, Databricks and Snowflake.

CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] t AS SELECT ..     lance_sql.materialize
REFRESH MATERIALIZED VIEW t [FULL]                                       View.refresh
DROP MATERIALIZED VIEW [IF EXISTS] t                                     as DROP TABLE, for views alone
"""

from __future__ import annotations

from dataclasses import dataclass

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import TableExists, UnsupportedFeature
from lance_sql.one_sql import in_catalogs
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.tasks import Task
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.one_sql.writing_statements import Change
from lance_sql.table import address


@dataclass(frozen=True)
class Creation(Change):
    """CREATE MATERIALIZED VIEW.

    query: as typed
    or_replace: a view of another query is replaced
    if_not_exists: an existing view is kept
    """

    query: str
    or_replace: bool
    if_not_exists: bool

    replaces = False
    operation = "refresh"

    def begins_with_table(self) -> bool:
        return self.is_there()

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        from lance_sql.one_sql.views.view import make

        settings = _settings(engine)
        if self.is_there() and not self.or_replace:
            if self.if_not_exists:
                return self.table()
            raise TableExists(
                f"{self.path} exists already: use REFRESH MATERIALIZED VIEW '{self.path}', or CREATE OR REPLACE"
            )
        return make(self.query, path, replace=self.or_replace, settings=settings).dataset


@dataclass(frozen=True)
class Refreshing(Change):
    """REFRESH MATERIALIZED VIEW."""

    full: bool

    replaces = False
    operation = "refresh"

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        from lance_sql.one_sql.views import View

        return View(lance_sql.opening.open(path), _settings(engine)).refresh(full=self.full).dataset


def _settings(engine: Engine) -> dict[str, str]:
    """Returns the settings of the session for computing the rows.

    raises: UnsupportedFeature for another engine, and for parameters, which a refresh does not have
    """
    from lance_sql.one_sql.views.query import settings_of

    if not engine.adapter.computes_views:
        raise UnsupportedFeature(f"{engine.title} cannot compute materialized views: pass engine='duckdb'")
    if engine.parameters:
        raise UnsupportedFeature("A materialized view cannot have parameters: write the values into its query")
    return settings_of(engine.target)


def refresh(read: TokenReader) -> Change:
    """Reads REFRESH MATERIALIZED VIEW."""
    path = read.own_table("REFRESH MATERIALIZED VIEW")
    full = read.accept("FULL")
    read.end()
    return Refreshing(address.of_newest(path), full)


def drop(read: TokenReader) -> Task:
    """Reads DROP MATERIALIZED VIEW."""
    if_exists = read.accept("IF", "EXISTS")
    table = read.own_table_name("DROP MATERIALIZED VIEW")
    read.end()
    return in_catalogs.removal(table, if_exists, of_view=True)


def create(read: TokenReader) -> Change:
    """Reads CREATE MATERIALIZED VIEW."""
    if_not_exists = read.accept("IF", "NOT", "EXISTS")
    path = read.own_table("CREATE MATERIALIZED VIEW")
    read.expect("AS")
    return Creation(address.of_newest(path), read.rest("a query"), "REPLACE" in read.spelling, if_not_exists)
