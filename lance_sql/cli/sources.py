"""Sources of rows for verbs that write: a file, a URI, a Lance table, or an SQL query."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from lance_sql.errors import InvalidArgument, TableNotFound
from lance_sql.values.local_paths import shown
from lance_sql.values.sql_text import literal

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT: Final = (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst")
_JSON: Final = (".json", ".json.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


@contextmanager
def source_rows(source: str, table: Callable[[], pa.Schema] | None = None) -> Iterator[Any]:
    """Yields an Arrow reader of the rows; Ctrl-C interrupts reading.

    table: returns the columns of the table that the rows are for; those of CSV and JSON files take their types
    raises: click.UsageError for SQL that has no result; InvalidArgument for an empty file, and for a CSV file that ends
        inside a quoted value; UnsupportedFeature for types that DuckDB does not export unchanged
    """
    import lance_sql
    from lance_sql.cli.interrupts import interruptible

    is_query = any(character.isspace() for character in source) and not os.path.exists(source)
    connection = lance_sql.connect()
    with interruptible(connection):
        if not is_query:
            _check_place(source)
        relation = connection.sql(source if is_query else "FROM " + literal(source))
        if relation is None:
            raise click.UsageError("The SQL has no result: give a query, or a file.")
        if not is_query:
            if os.path.isfile(source) and not os.path.getsize(source):
                raise InvalidArgument(f"{source!r} is empty, and names no columns: leave it out")
            if source.lower().endswith(_TEXT):
                _check_quotes(connection, source, relation.columns)
            if table is not None and source.lower().endswith(_TEXT) and not relation.limit(1).fetchall():
                import pyarrow as pa

                # DuckDB 1.5 has no columns without a type
                yield pa.table({name: pa.nulls(0) for name in relation.columns}).to_reader()
                return
            if table is not None and source.lower().endswith((*_TEXT, *_JSON)):
                relation = _with_types(connection, source, relation, table())
        from lance_sql.format.schema.duckdb_types import exportable

        yield exportable(relation).to_arrow_reader()


def _check_place(source: str) -> None:
    """
    raises: TableNotFound for a path without anything at it, unless it is a pattern, a URI or a Lance table
    """
    if not (os.path.exists(source) or "://" in source or ".lance" in source or set("*?[") & set(source)):
        raise TableNotFound(f"No file or folder {shown(source)}: check the path, or pass a query in quotes")


def _with_types(connection: Any, source: str, relation: Any, table: pa.Schema) -> Any:
    from lance_sql.cli import table_types

    is_csv = source.lower().endswith(_TEXT)
    found = dict(zip(relation.columns, map(str, relation.types), strict=True))
    types = table_types.fitted(found, table, connection, is_csv=is_csv)
    if types == found:
        return relation
    given = ", ".join(f"{literal(name)}: {literal(type)}" for name, type in types.items())
    function, option = ("read_csv", "types") if is_csv else ("read_json", "columns")
    return connection.sql(f"FROM {function}({literal(source)}, {option} = {{{given}}})")


def _check_quotes(connection: Any, source: str, names: Sequence[str]) -> None:
    """Raises for a file in which DuckDB takes quotes for parts of names, because it finds no end of a quoted value."""
    quoted = next((name for name in names if len(name) > 1 and name[0] == name[-1] == '"'), None)
    if quoted is None or connection.sql(f"SELECT Quote FROM sniff_csv({literal(source)})").fetchall() == [('"',)]:
        return
    raise InvalidArgument(
        f"{source!r} has a quoted value without an end, so that the column {quoted[1:-1]!r} would keep its quotes: the"
        " file may be cut off. To load it as it is, pass \"FROM read_csv('..', quote = '')\""
    )
