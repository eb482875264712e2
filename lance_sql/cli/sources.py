"""Sources of rows for verbs that write: a file, a URI, a Lance table, or an SQL query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from lance_sql.errors import InvalidArgument
from lance_sql.format.schema.duckdb_types import exportable
from lance_sql.values.sql_text import literal

_TEXT: Final = (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst")


@contextmanager
def source_rows(source: str, *, fits_a_table: bool = False) -> Iterator[Any]:
    """Yields a DuckDB relation with the rows; Ctrl-C interrupts reading it.

    fits_a_table: columns of a CSV file without rows have no type, so that they fit those of a table
    raises: click.UsageError for SQL that has no result; InvalidArgument for an empty file; UnsupportedFeature for types
        that DuckDB does not export unchanged
    """
    import lance_sql
    from lance_sql.cli.interrupts import interruptible

    is_query = any(character.isspace() for character in source) and not os.path.exists(source)
    connection = lance_sql.connect()
    with interruptible(connection):
        relation = connection.sql(source if is_query else "FROM " + literal(source))
        if relation is None:
            raise click.UsageError("The SQL has no result: give a query, or a file.")
        if not is_query:
            if os.path.isfile(source) and not os.path.getsize(source):
                raise InvalidArgument(f"{source!r} is empty, and names no columns: leave it out")
            if fits_a_table and source.lower().endswith(_TEXT) and not relation.limit(1).fetchall():
                relation = relation.project(
                    ", ".join(f'NULL AS "{name.replace(chr(34), chr(34) * 2)}"' for name in relation.columns)
                )
        yield exportable(relation)
