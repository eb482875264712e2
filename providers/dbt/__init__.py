"""A plugin of dbt-duckdb: Lance tables and their changes as sources, models as versions of Lance tables.

    profiles.yml    plugins: [{module: lance_sql.providers.dbt, alias: lance}]
    packages.yml    packages: [{local: ...}], with the folder that `python -m lance_sql.providers.dbt` prints
    a source        meta: {plugin: lance, path: orders.lance, version: 41}
                    meta: {plugin: lance, path: orders.lance, cursor: spent}
    a model         config(materialized='lance', location='spent.lance', unique_key='customer')

A model with rows from a cursor names it (`cursor`). The commit of its rows records that, and advances the cursor. A
failed run therefore loses no changes, and a repeated one applies none twice. A run that gives a model a part of the
rows, with `--empty` or `--sample`, leaves cursors and existing tables alone. `--full-refresh` replaces all rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import pyarrow as pa
from dbt.adapters.duckdb.plugins import BasePlugin

import lance_sql
from lance_sql.changes.feed import ChangeFeed
from lance_sql.errors import InvalidArgument, TableNotFound, UnsupportedFeature
from lance_sql.jobs.applying import missing
from lance_sql.providers import register
from lance_sql.providers.dbt.cursors import ModelRun, source_of
from lance_sql.providers.table_functions import PLACE
from lance_sql.store.access import access_options

__all__ = ["PACKAGE", "Plugin"]

PACKAGE: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "package")
"""The folder of the dbt package with the materialization."""

_OF_SOURCES: Final = (*PLACE, "plugin", "path", "cursor", "start", "mode", "materialization", "save_mode")
_STRATEGIES: Final = ("overwrite", "append", "merge", "apply_changes")
_OTHER_ROWS: Final = (
    *("incremental_predicates", "predicates", "merge_clauses", "merge_exclude_columns", "merge_insert_condition"),
    *("merge_on_using_columns", "merge_update_columns", "merge_update_condition", "merge_update_set_expressions"),
)
"""Options of dbt's incremental models that choose rows or columns."""

_OF_APPLYING: Final = (
    *("sequence_by", "delete_when", "except_columns", "ignore_null_updates", "scd"),
    *("track_history_on", "track_history_except"),
)


@dataclass
class _Reading:
    """Changes of a source, the same ones for all models of this run.

    place: the URI of the table and the name of the cursor
    block: moves the cursor when the model that consumes the changes leaves it
    """

    place: tuple[str, str]
    block: AbstractContextManager[ChangeFeed]
    feed: ChangeFeed
    rows: pa.Table


class Plugin(BasePlugin):  # type: ignore[misc]  # dbt has no types here
    """The plugin. dbt-duckdb creates one for each run."""

    def initialize(self, plugin_config: Mapping[str, Any]) -> None:
        """
        plugin_config: `storage_options`, `allow_bases`, `cache` and `checksums`, as for `lance_sql.open`
        """
        self._access = access_options(plugin_config)
        self._readings: dict[str, _Reading] = {}
        self._lock = Lock()
        self._connection: Any = None

    def configure_connection(self, conn: Any) -> None:
        """Adds `lance_scan` and the other table functions."""
        self._connection = register(conn)

    def configure_cursor(self, cursor: Any) -> None:
        """Adds the table functions to each connection of the database."""
        register(cursor)

    def load(self, source_config: Any) -> Any:
        """Reads the rows of a source: a version of a table, or with `cursor` the changes since its last run.

        raises: InvalidArgument for unknown options; TableNotFound, VersionNotFound
        """
        options = dict(source_config.meta)
        unknown = sorted(set(options) - {*_OF_SOURCES} - _OF_DBT)
        if unknown:
            raise InvalidArgument(
                f"Source {source_config.name}: unknown meta {unknown[0]!r}; meta: {', '.join(_OF_SOURCES)}"
            )
        if "path" not in options:
            raise InvalidArgument(f"Source {source_config.name}: meta has no path of a Lance table")
        travel = {name: options[name] for name in PLACE if options.get(name) is not None}
        dataset = lance_sql.open(options["path"], **self._access, **travel)
        if "cursor" not in options:
            from lance_sql.providers.duckdb.tables import table

            return table(dataset)
        with self._lock:
            return self._changes(source_config.table_name(), dataset, options)

    def _changes(self, source: str, dataset: lance_sql.Dataset, options: Mapping[str, Any]) -> pa.Table:
        """Reads the changes of a source, once a run.

        raises: InvalidArgument if another source reads from the cursor
        """
        name = str(options["cursor"])
        if source not in self._readings:
            place = (dataset.uri, name)
            for other, reading in self._readings.items():
                if reading.place == place:
                    raise InvalidArgument(
                        f"Sources {other} and {source} read from one cursor {name!r}: give each a cursor of its own"
                    )
            cursor = dataset.cursors.open(name, start=options.get("start", "earliest"))
            block = cursor.read(mode=options.get("mode", "net"), target=options.get("target"), **self._access)
            feed = block.__enter__()
            self._readings[source] = _Reading(place, block, feed, feed.scan().to_table())
        return self._readings[source].rows

    def _existing(self, target: str) -> lance_sql.Dataset | None:
        """Returns a table if it exists."""
        try:
            return lance_sql.open(target, **self._access)
        except TableNotFound:
            return None

    def store(self, target_config: Any) -> None:
        """Writes the rows of a model, in one commit.

        raises: InvalidArgument for invalid options; CommitConflict if another run has processed the changes first
        """
        model, path = ModelRun(**target_config.config), target_config.location.path
        connection = self._connection.cursor()
        rows = connection.sql(f"FROM {target_config.relation}").to_arrow_table()
        source = None
        if model.cursor is not None:
            source = source_of(model, lambda sql: connection.get_table_names(sql, qualified=True))
        if model.is_partial:
            if self._existing(path) is None:
                self._write(path, rows.slice(0, 0), model, {})
            return
        if source is None:
            self._write(path, rows, model, {})
            return
        with self._lock:
            reading = self._readings[source]
        rest = missing(reading.feed, self._existing(path))
        if rest is not reading.feed and rest.end >= rest.start:
            raise InvalidArgument(
                f"Model {model.name}: {path} has the changes of the cursor {model.cursor!r} up to version"
                f" {rest.start - 1} already: add target: {path} to the meta of the source"
            )
        if rest is reading.feed:
            self._write(path, rows, model, dict(rest.properties))
        reading.block.__exit__(None, None, None)

    def _write(self, path: str, rows: pa.Table, model: ModelRun, properties: Mapping[str, str]) -> None:
        config, keys = model.config, model.keys
        strategy = _strategy(model)
        if strategy == "merge":
            _check_keys(model, rows)
        target: Any = self._existing(path)
        if model.is_whole and target is not None:
            if strategy == "apply_changes" or model.cursor is not None:
                raise InvalidArgument(
                    f"Model {model.name}: --full-refresh would replace {path} by changes: drop the table and the cursor"
                )
            strategy = "overwrite"
        evolves = target is not None and strategy in ("append", "merge") and _evolves(model, rows, target)
        options: dict[str, Any] = dict(self._access)
        if strategy == "apply_changes":
            given = {name: config.get(name) for name in _OF_APPLYING if config.get(name) is not None}
            lance_sql.apply_changes(target or path, rows, keys, properties=properties, **given, **options)
        elif target is None:
            lance_sql.write(rows, path, mode="create", properties=properties, **options)
        elif strategy == "overwrite":
            lance_sql.write(rows, path, mode="overwrite", properties=properties, **options)
        elif strategy == "append":
            lance_sql.write(rows, path, mode="append", properties=properties, merge_schema=evolves, **options)
        else:
            if evolves:
                target = target.add_columns([field for field in rows.schema if field.name not in target.schema.names])
            target.merge(rows, keys, properties=properties)

    def default_materialization(self) -> str:
        """Returns "view": the rows of a source are read when a model uses them."""
        return "view"


def _strategy(model: ModelRun) -> str:
    """Returns how the rows of a model become those of the table.

    raises: InvalidArgument for an unknown strategy, and one without its key; UnsupportedFeature for options of other
        strategies of dbt
    """
    for option in _OTHER_ROWS:
        if model.config.get(option) is not None:
            raise UnsupportedFeature(
                f"Model {model.name}: {option} is not supported in a lance model: write it into the model's query"
            )
    strategy = model.config.get("strategy") or model.config.get("incremental_strategy")
    if strategy is None:
        # new rows alone must not replace the others
        return "merge" if model.keys else "append" if model.asks else "overwrite"
    if strategy not in _STRATEGIES:
        raise InvalidArgument(f"Model {model.name}: strategy={strategy!r} is not one of {', '.join(_STRATEGIES)}")
    if strategy in ("merge", "apply_changes") and not model.keys:
        raise InvalidArgument(f"Model {model.name}: strategy={strategy!r} needs a unique_key")
    return str(strategy)


def _check_keys(model: ModelRun, rows: pa.Table) -> None:
    """
    raises: InvalidArgument for a key that is NULL, which would be inserted again by each run
    """
    for key in model.keys:
        if key in rows.column_names and rows[key].null_count:
            raise InvalidArgument(
                f"Model {model.name}: unique_key {key!r} is NULL in {rows[key].null_count} rows, and NULL equals no"
                " key: leave these rows out, or give them a value"
            )


def _evolves(model: ModelRun, rows: pa.Table, target: lance_sql.Dataset) -> bool:
    """Whether rows bring columns that the table gets, by `on_schema_change`. By default, the write raises an error.

    raises: UnsupportedFeature for "sync_all_columns"
    """
    # "ignore" is dbt's default, and would leave out columns without a word
    choice = model.config.get("on_schema_change") or "ignore"
    if choice == "sync_all_columns":
        raise UnsupportedFeature(
            f"Model {model.name}: on_schema_change={choice!r} is not supported: use append_new_columns, and drop"
            " columns by hand"
        )
    return choice == "append_new_columns" and not set(target.schema.names).issuperset(rows.column_names)


_OF_DBT: Final = frozenset({"target", "enabled", "freshness", "loaded_at_field", "event_time", "loaded_at_query"})
"""Options that dbt adds to those of a source, and the target table for changes of a cursor."""
