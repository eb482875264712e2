"""Sources of rows for verbs that write: a file, a URI, a Lance table, or an SQL query."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from lance_sql.cli.text_files import ALL_COLUMNS, CSV, TEXT, check_csv, files_of, from_files
from lance_sql.errors import InvalidArgument, TableNotFound
from lance_sql.values.local_paths import shown
from lance_sql.values.sql_text import literal

if TYPE_CHECKING:
    import pyarrow as pa

_JSON: Final = (".json", ".json.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


@contextmanager
def source_rows(source: str, table: Callable[[], pa.Schema] | None = None) -> Iterator[Any]:
    """Yields an Arrow reader of the rows; Ctrl-C interrupts reading.

    table: returns the columns of the table that the rows are for; those of CSV and JSON files take their types
    raises: click.UsageError for SQL that has no result; InvalidArgument for an empty file, and for a CSV file of which
        something would be left out; UnsupportedFeature for types that DuckDB does not export unchanged
    """
    import lance_sql
    from lance_sql.cli.interrupts import interruptible

    is_query = any(character.isspace() for character in source) and not os.path.exists(source)
    connection = lance_sql.connect()
    with interruptible(connection):
        if not is_query:
            _check_place(source)
        relation = connection.sql(source if is_query else from_files(source))
        is_csv = not is_query and source.lower().endswith(TEXT)
        if relation is None:
            raise click.UsageError("The SQL has no result: give a query, or a file.")
        if not is_query:
            if os.path.isfile(source) and not os.path.getsize(source):
                raise InvalidArgument(f"{source!r} is empty, and names no columns: leave it out")
            if is_csv:
                check_csv(connection, files_of(connection, source), relation.columns)
            if table is not None and is_csv and not relation.limit(1).fetchall():
                import pyarrow as pa

                # DuckDB 1.5 has no columns without a type
                yield pa.table({name: pa.nulls(0) for name in relation.columns}).to_reader()
                return
            if table is not None and (is_csv or source.lower().endswith(_JSON)):
                relation = _with_types(connection, source, relation, table(), is_csv=is_csv)
        from lance_sql.format.schema.duckdb_types import exportable

        yield exportable(relation).to_arrow_reader()


def _check_place(source: str) -> None:
    """
    raises: TableNotFound for a path without anything at it, unless it is a pattern, a URI or a Lance table
    """
    if not (os.path.exists(source) or "://" in source or ".lance" in source or set("*?[") & set(source)):
        raise TableNotFound(f"No file or folder {shown(source)}: check the path, or pass a query in quotes")


def _with_types(connection: Any, source: str, relation: Any, table: pa.Schema, *, is_csv: bool) -> Any:
    from lance_sql.cli import table_types

    found = dict(zip(relation.columns, map(str, relation.types), strict=True))
    types = table_types.fitted(found, table, connection, is_csv=is_csv)
    if types == found:
        return relation
    given = ", ".join(f"{literal(name)}: {literal(type)}" for name, type in types.items())
    if is_csv:
        return connection.sql(f"FROM read_csv({literal(source)}{ALL_COLUMNS}{CSV}, types = {{{given}}})")
    return connection.sql(f"FROM read_json({literal(source)}, columns = {{{given}}})")
