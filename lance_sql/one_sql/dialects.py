"""The dialects that statements are written in and translated to, and how their text becomes trees."""

from __future__ import annotations

from typing import ClassVar, Final

import sqlglot
from sqlglot import Token, exp, transforms
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator

from lance_sql.errors import InvalidArgument, UnsupportedFeature


class DataFusion(Postgres):
    """The SQL of DataFusion, which is Postgres' but for some functions. Its name for sqlglot is "datafusion"."""

    class Generator(PostgresGenerator):
        """Writes what DataFusion calls otherwise."""

        TRANSFORMS: ClassVar = {
            **PostgresGenerator.TRANSFORMS,
            # QUALIFY stays: what it becomes elsewhere loses the order
            exp.Select: transforms.preprocess([transforms.eliminate_semi_and_anti_joins]),
            exp.ArrayContains: lambda self, node: self.func("array_has", node.this, node.expression),
            exp.ArraySize: lambda self, node: self.func("array_length", node.this),
            exp.CountIf: lambda self, node: f"count(*) FILTER (WHERE {self.sql(node, 'this')})",
            exp.IntDiv: lambda self, node: f"CAST(trunc({self.binary(node, '/')}) AS BIGINT)",
            exp.AnyValue: lambda self, node: self.func("first_value", node.this),
        }


ENGINES: Final = ("duckdb", "datafusion", "spark")
TITLES: Final = {"duckdb": "DuckDB", "datafusion": "DataFusion", "spark": "Spark"}


def dialect_of(name: str) -> Dialect:
    """
    raises: InvalidArgument for a dialect that sqlglot does not have
    """
    if name == "datafusion":
        return DataFusion()
    try:
        return Dialect.get_or_raise(name)
    except ValueError as error:
        raise InvalidArgument(
            f"dialect={name!r} is not known; there are datafusion, duckdb, spark and others"
        ) from error


def tokenize(text: str, dialect: Dialect) -> list[Token]:
    """
    raises: InvalidArgument for a text or a comment that is open at the end
    """
    try:
        return list(dialect.tokenize(text))
    except sqlglot.errors.SqlglotError as error:
        raise _not_sql(error) from error


def parse(text: str, dialect: Dialect) -> list[exp.Expr]:
    """The statements of a text.

    raises: InvalidArgument for what is not SQL in this dialect
    """
    try:
        return [found for found in dialect.parse(text) if found is not None]
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise _not_sql(error) from error


def generate(tree: exp.Expr, engine: str) -> str:
    """The statement in the dialect of an engine.

    raises: UnsupportedFeature, naming the engine, for what its dialect cannot say
    """
    try:
        return dialect_of(engine).generate(
            tree, normalize_functions=False, unsupported_level=sqlglot.ErrorLevel.RAISE, copy=True
        )
    except sqlglot.errors.UnsupportedError as error:
        raise UnsupportedFeature(f"{TITLES[engine]} does not run this statement: {error}") from error


def _not_sql(error: Exception) -> InvalidArgument:
    details = getattr(error, "errors", None)
    if details:
        first = details[0]
        near = f" near {first['highlight']!r}" if first.get("highlight") else ""
        return InvalidArgument(f"Not SQL: line {first['line']}, column {first['col']}{near}: {_plainly(first)}")
    return InvalidArgument(f"Not SQL: {str(error).splitlines()[0] if str(error) else type(error).__name__}")


def _plainly(found: dict[str, str]) -> str:
    """What is wrong, without the parser's own objects."""
    return found["description"].partition(" but got <Token")[0]
