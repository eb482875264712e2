"""Sources of rows for verbs that write: a file, a URI, a Lance table, or an SQL query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from lance_sql.values.sql_text import literal


@contextmanager
def source_rows(source: str) -> Iterator[Any]:
    """Yields a DuckDB relation with the rows; Ctrl-C interrupts reading it.

    raises: click.UsageError for SQL that has no result
    """
    import lance_sql
    from lance_sql.cli.interrupts import interruptible

    is_query = any(character.isspace() for character in source) and not os.path.exists(source)
    connection = lance_sql.connect()
    with interruptible(connection):
        relation = connection.sql(source if is_query else "FROM " + literal(source))
        if relation is None:
            raise click.UsageError("The SQL has no result: give a query, or a file.")
        yield relation
