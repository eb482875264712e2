"""Recognizing and running statements on Lance tables on a DuckDB connection."""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Mapping
from types import FrameType
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql.changing import Modification
from lance_sql.one_sql.dialects import dialect_of
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.named_tables import looked_up_in
from lance_sql.one_sql.parameters import by_name, put
from lance_sql.one_sql.running import write
from lance_sql.one_sql.statements import Statement, for_duckdb, of_lance
from lance_sql.providers import attached
from lance_sql.providers.adapter import named as named_engine
from lance_sql.providers.duckdb import queries as duckdb_queries
from lance_sql.providers.duckdb.names import DuckDBNames
from lance_sql.runtime import observing
from lance_sql.store.access import within

_PARAMETER: Final = "__lance_parameter_"


def parts(text: str, names: attached.Names) -> list[Statement | str] | None:
    """Splits a text into statements on Lance tables and texts for DuckDB; returns None if DuckDB runs all of it as
    typed.

    names: of the connection

    raises: InvalidArgument, UnsupportedFeature for invalid statements on Lance tables
    """
    with looked_up_in(names):
        statements = for_duckdb(text)
    texts = [part for part in statements if isinstance(part, str)]
    if len(texts) == len(statements) and "".join(texts) == text.strip():
        return None
    return statements


def leave(connection: Any, statement: Statement, parameters: Any) -> None:
    """Runs a statement, and sets its summary as the result of the connection."""
    duckdb_queries.leave(connection, _run(connection, statement, parameters))


def relation(connection: Any, statement: Statement, parameters: Any) -> Any:
    """Runs a statement; returns its summary as a DuckDB relation."""
    return connection.from_arrow(_run(connection, statement, parameters))


def _run(connection: Any, statement: Statement, parameters: Any) -> pa.Table:
    with within(attached.access_of(connection)):
        return _summary(connection, statement, parameters)


def _summary(connection: Any, statement: Statement, parameters: Any) -> pa.Table:
    given: Mapping[str, Any] = {}
    text = statement.text
    if parameters:
        if statement.task is not None:
            raise UnsupportedFeature("A statement about a whole table cannot have parameters: write the values into it")
        named_text, given = _named(statement.text, parameters)
        with looked_up_in(DuckDBNames(connection)):
            named = of_lance(named_text, dialect_of("duckdb"), in_own_words=True)
        if named is None:
            raise InvalidArgument(
                f"A parameter stands in the wrong place: use parameters for values only, in {text.strip()[:200]}"
            )
        statement = named
    engine = Engine(named_engine("duckdb"), connection, True, given)
    if statement.task is not None:
        with observing.recorded("statement", engine="duckdb", statement=text.strip()):
            return statement.task.perform(engine)
    assert statement.change is not None, "no query"
    change = statement.change
    # DELETE of all rows is what scripts and tools send, as TRUNCATE; a whole UPDATE is rather a forgotten condition
    if change.is_for_all_rows and isinstance(change, Modification):
        raise InvalidArgument(f"This {change.verb} every row of {change.path}: add WHERE true to confirm")
    with looked_up_in(DuckDBNames(connection)), duckdb_queries.seeing(_variables_of_caller()):
        return write(change, engine, text, all_rows=True).to_table()


def _variables_of_caller() -> Mapping[str, Any]:
    """Returns the variables of the innermost frame outside this package and of DuckDB."""
    frame: FrameType | None = sys._getframe(1)
    ours = {"lance_sql", *named_engine("duckdb").modules}
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ours:
        frame = frame.f_back
    return {} if frame is None else ChainMap(dict(frame.f_locals), frame.f_globals)


def _named(text: str, parameters: Any) -> tuple[str, Mapping[str, Any]]:
    """Names all parameters of a text, since its parts run in another order; returns the text and the values by name.

    raises: InvalidArgument if the numbers of values and parameters differ
    """
    given = by_name(parameters)
    values = {f"{_PARAMETER}{number}": value for number, value in enumerate(given.values(), 1)}
    names = dict(zip(given, (f"${name}" for name in values), strict=True))
    return put(text, dialect_of("duckdb"), names), values
