"""Statements of DuckDB in a text, each with its whole text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Whole:
    """Statement that DuckDB splits into several, with its whole text; like `duckdb.Statement`."""

    query: str
    type: Any
    expected_result_type: list[Any]


def of_duckdb(connection: Any, text: str) -> list[Any]:
    """Returns DuckDB's statements of a text. DuckDB 1.5 splits a PIVOT into several, and cuts its text anywhere.

    raises: DuckDB's own errors
    """
    import duckdb

    statements: list[Any] = connection.extract_statements(text)
    if all(each.query.strip() for each in statements):
        return statements
    from lance_sql.one_sql.dialects import dialect_of
    from lance_sql.one_sql.statements import split

    whole: list[Any] = []
    for piece in split(text, dialect_of("duckdb")):
        made = connection.extract_statements(piece)
        *_, last = made
        if last.type == duckdb.StatementType.TRANSACTION and len(made) > 1:
            made = [Whole(piece, duckdb.StatementType.CREATE, [duckdb.ExpectedResultType.CHANGED_ROWS])]
        elif len(made) > 1:
            made = [Whole(piece, last.type, last.expected_result_type)]
        whole += made
    return whole
