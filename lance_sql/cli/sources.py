"""Sources of rows for verbs that write: a file, a URI, a Lance table, or an SQL query."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click

from lance_sql.errors import InvalidArgument
from lance_sql.values.sql_text import literal

_TEXT: Final = (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst")


@contextmanager
def source_rows(source: str, *, fits_a_table: bool = False) -> Iterator[Any]:
    """Yields an Arrow reader of the rows; Ctrl-C interrupts reading.

    fits_a_table: columns of a CSV file without rows have no type, so that they fit those of a table
    raises: click.UsageError for SQL that has no result; InvalidArgument for an empty file, and for a CSV file that ends
        inside a quoted value; UnsupportedFeature for types that DuckDB does not export unchanged
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
            if source.lower().endswith(_TEXT):
                _check_quotes(connection, source, relation.columns)
            if fits_a_table and source.lower().endswith(_TEXT) and not relation.limit(1).fetchall():
                import pyarrow as pa

                # DuckDB 1.5 has no columns without a type
                yield pa.table({name: pa.nulls(0) for name in relation.columns}).to_reader()
                return
        from lance_sql.format.schema.duckdb_types import exportable

        yield exportable(relation).to_arrow_reader()


def _check_quotes(connection: Any, source: str, names: Sequence[str]) -> None:
    """Raises for a file in which DuckDB takes quotes for parts of names, because it finds no end of a quoted value."""
    quoted = next((name for name in names if len(name) > 1 and name[0] == name[-1] == '"'), None)
    if quoted is None or connection.sql(f"SELECT Quote FROM sniff_csv({literal(source)})").fetchall() == [('"',)]:
        return
    raise InvalidArgument(
        f"{source!r} has a quoted value without an end, so that the column {quoted[1:-1]!r} would keep its quotes: the"
        " file may be cut off. To load it as it is, pass \"FROM read_csv('..', quote = '')\""
    )
