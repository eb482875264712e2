"""Running a statement in an engine."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from sqlglot import exp

from lance_sql.errors import InvalidArgument, MissingDependency, UnsupportedFeature
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.dialects import ENGINES, TITLES, dialect_of, parse
from lance_sql.one_sql.references import Reference
from lance_sql.one_sql.rows import Rows
from lance_sql.one_sql.translation import translate
from lance_sql.providers.sources import Source, open_source

_MODULES: Final[Mapping[str, str]] = {
    "duckdb": "duckdb",
    "_duckdb": "duckdb",
    "datafusion": "datafusion",
    "pyspark": "spark",
}
_QUERIES: Final = (exp.Query, exp.Values, exp.Pivot, exp.Summarize)


def sql(
    text: str,
    engine: str | None = None,
    *,
    dialect: str | None = None,
    connection: Any = None,
    session: Any = None,
) -> Rows:
    """Runs a query over Lance tables, the same in every engine.

    Tables are 'orders.lance', 'orders.lance@41', orders.lance@audited without quotes, `lance_scan('orders.lance',
    version => 41)` and the other table functions with the arguments that they have in DuckDB; `VERSION AS OF 41`,
    `TIMESTAMP AS OF '...'` and `CHANGES FROM VERSION 5 TO VERSION 9` of Spark, and `AT (VERSION => 41)`, follow a path.
    All are opened before the query runs: it sees one version of each.

    text: one statement
    engine: "duckdb", "datafusion" or "spark"; the one that `connection` or `session` belongs to, else "duckdb"
    dialect: that the text is written in, by its name in sqlglot; the engine's own without it
    connection, session: of the engine, with its own tables and views: a DuckDB connection, a SessionContext, or a
        SparkSession; a new one, or Spark's active one, without it
    returns: rows with Arrow's stream interface, and `to_table()`
    raises: InvalidArgument for what is not SQL, and for arguments that make no sense; UnsupportedFeature, naming the
        engine and the construct, for what the engine does not have; TableNotFound, VersionNotFound; errors of DuckDB
        and Spark for text in their own dialects

    >>> lance_sql.sql("SELECT count(*) AS n FROM 'examples/orders.lance' VERSION AS OF 4", "datafusion").to_pylist()
    [{'n': 400}]
    """
    given, engine = _engine(engine, connection, session)
    written = engine if dialect is None else dialect.lower()
    spoken = dialect_of(written)
    statements = parse(rewrite(text, spoken), spoken)
    if len(statements) != 1:
        raise InvalidArgument(f"One statement is run at a time, and these are {len(statements)}")
    statement = statements[0]
    if not isinstance(statement, _QUERIES):
        raise UnsupportedFeature(f"lance_sql.sql does not run {_kind(statement)}: give it to the engine itself")
    return run_query(statement, engine, given, is_own_dialect=written == engine)


def run_query(query: exp.Expr, engine: str, given: Any, *, is_own_dialect: bool) -> Rows:
    """
    given: a connection or a session; None for one to be made
    raises: as `sql`
    """
    provider = _provider(engine)
    target = provider.target(given)
    translated = translate(query, engine, opened)
    try:
        read = provider.prepare(target, translated.sql, translated.sources)
    except provider.Errors as error:
        if is_own_dialect and engine != "datafusion":
            raise
        message = str(error).strip().splitlines()[0]
        raise UnsupportedFeature(f"{TITLES[engine]} does not run this statement: {message}") from error
    return Rows(engine, translated.sql, read)


def opened(found: Reference) -> Source:
    """What a reference stands for, now.

    raises: as `open_source`
    """
    arguments = {name: list(value) if isinstance(value, tuple) else value for name, value in found.arguments}
    if not isinstance(found.path, str):
        raise UnsupportedFeature(f"{found.function} takes one path here, not a list")
    return open_source(found.function, found.path, arguments)


def _engine(engine: str | None, connection: Any, session: Any) -> tuple[Any, str]:
    """The connection or session that was given, if any, and the engine that is meant."""
    if connection is not None and session is not None:
        raise InvalidArgument("Give one of connection and session")
    given = connection if connection is not None else session
    if given is None:
        engine = "duckdb" if engine is None else engine
    else:
        module = type(given).__module__.partition(".")[0]
        if module not in _MODULES:
            kind = f"{type(given).__module__}.{type(given).__qualname__}"
            raise InvalidArgument(f"A {kind} is no DuckDB connection, SessionContext or SparkSession")
        if engine not in (None, _MODULES[module]):
            raise InvalidArgument(f"engine={engine!r}, and the connection is one of {TITLES[_MODULES[module]]}")
        engine = _MODULES[module]
    if engine not in ENGINES:
        raise InvalidArgument(f"engine={engine!r} is not one of {', '.join(map(repr, ENGINES))}")
    return given, engine


def _provider(engine: str) -> Any:
    try:
        return import_module(f"lance_sql.providers.{engine}_queries")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _MODULES:
            raise
        raise MissingDependency(f"{TITLES[engine]} is not installed: pip install 'lance-sql[{engine}]'") from error


def _kind(statement: exp.Expr) -> str:
    """What a statement is called."""
    if isinstance(statement, exp.Command):
        return str(statement.this).upper()
    kind = statement.args.get("kind")
    return " ".join(filter(None, (type(statement).__name__.upper(), str(kind).upper() if kind else "")))
