"""Conversion of SQL text to a predicate: the condition of a WHERE clause; see `sql_dialect`.

The forms are a closed table. Other forms raise an error that names them; no part of a filter is ever skipped.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lance_sql.errors import ColumnNotFound, InvalidArgument, UnsupportedFeature
from lance_sql.values import kinds

from .tree import Predicate


def from_sql(text: str, schema: pa.Schema, *, table: str = "the table") -> Predicate:
    """Parses a SQL condition into a predicate.

    Constants take the column's type exactly: nothing overflows or is rounded. A timestamp without a zone is UTC if
    the column has a zone.

    schema: the columns that the filter may use; table: name of the table in messages
    raises: ColumnNotFound; InvalidArgument for text that is not a condition, or types that cannot be compared;
    UnsupportedFeature for unsupported SQL

    >>> schema = pa.schema([("qty", pa.int64()), ("day", pa.date32())])
    >>> str(from_sql("qty > 1.5 AND day < '2024-01-31'", schema))
    "qty > 1 AND day < '2024-01-31'"
    """
    if not text.strip():
        raise InvalidArgument("The filter is empty: leave it out to take all rows, or give a condition in SQL")
    # Importing the parser takes a tenth of a second: only SQL filters need it.
    import sqlglot

    from .sql_conditions import Conditions
    from .sql_dialect import FilterSql

    try:
        node = sqlglot.parse_one(text, dialect=FilterSql, into=sqlglot.exp.Condition)
    except sqlglot.errors.SqlglotError as error:
        raise InvalidArgument(f"Cannot read the filter {text!r}: {_reason(error)}") from error
    except RecursionError:
        raise UnsupportedFeature("The filter is nested too deeply") from None
    if "~" in text and node.find(sqlglot.exp.RegexpLike) and any("~" in token.text for token in _operators(text)):
        # the parser converts it to regexp_matches, which also matches a part of the text
        raise UnsupportedFeature("The operator ~ is not supported in a filter: write regexp_full_match(column, '...')")
    try:
        return Conditions(schema, table).predicate(node)
    except ColumnNotFound as error:
        if (unquoted := _unquoted(node, schema)) is None:
            raise
        said = str(error).partition(". Closest")[0].partition(". Columns")[0].partition(". Hidden")[0]
        raise ColumnNotFound(f"{said}. Text needs quotes: {unquoted}") from None
    except RecursionError:
        raise UnsupportedFeature("The filter is nested too deeply") from None


def _unquoted(node: Any, schema: pa.Schema) -> str | None:
    """Returns the first comparison of a text column with a bare word that names no column, with quotes added."""
    from sqlglot import exp

    from .sql_dialect import FilterSql

    for comparison in node.find_all(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.In):
        column = comparison.this
        others = comparison.expressions if isinstance(comparison, exp.In) else [comparison.expression]
        words = [each for each in others if isinstance(each, exp.Column) and not each.table]
        if not isinstance(column, exp.Column) or column.name not in schema.names or not words:
            continue
        if kinds.is_text(kinds.decoded(schema.field(column.name).type)) and not any(
            word.name in schema.names for word in words
        ):
            for word in words:
                word.replace(exp.Literal.string(word.name))
            return str(comparison.sql(dialect=FilterSql))
    return None


def _operators(text: str) -> list[Any]:
    """Returns the tokens of the text that are neither words nor constants."""
    import sqlglot

    from .sql_dialect import FilterSql

    constants = ("STRING", "NUMBER", "IDENTIFIER", "VAR")
    return [token for token in sqlglot.tokenize(text, dialect=FilterSql) if token.token_type.name not in constants]


def _reason(error: Exception) -> str:
    """Returns the parser's error without its markup: the problem, and the column."""
    cause = error.__cause__ or error
    details = getattr(cause, "errors", None) or getattr(error, "errors", None)
    if not details or not details[0].get("description"):
        return str(cause).partition("\n")[0]
    first = details[0]
    description = str(first["description"])
    if description.startswith("Required keyword"):
        description = "something is missing"
    return f"{description.lower()} at column {first.get('col', '?')}"
