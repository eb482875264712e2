"""Statements on a connection of DuckDB: which of them are about Lance tables, and running these."""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any, Final

import pyarrow as pa
from sqlglot import TokenType

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql.dialects import dialect_of, tokenize
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.named_tables import Lookup, looked_up_in
from lance_sql.one_sql.running import write
from lance_sql.one_sql.statements import Statement, for_duckdb, of_lance
from lance_sql.providers import attached, duckdb_queries

_PARAMETER: Final = "__lance_parameter_"


def parts(text: str, lookup: Lookup | None) -> list[Statement | str] | None:
    """The statements of a text: those about Lance tables, and the text of the others for DuckDB; None where all of it
    is DuckDB's as it was typed.

    lookup: of the tables of catalogs

    raises: InvalidArgument, UnsupportedFeature for statements about Lance tables that make no sense
    """
    with looked_up_in(lookup):
        statements = for_duckdb(text)
    texts = [part for part in statements if isinstance(part, str)]
    if len(texts) == len(statements) and "".join(texts) == text.strip():
        return None
    return statements


def leave(connection: Any, statement: Statement, parameters: Any) -> None:
    """Carries a statement out, and leaves what it did as the result of the connection."""
    duckdb_queries.leave(connection, _run(connection, statement, parameters))


def relation(connection: Any, statement: Statement, parameters: Any) -> Any:
    """Carries a statement out; what it did, as a relation of DuckDB."""
    return connection.from_arrow(_run(connection, statement, parameters))


def _run(connection: Any, statement: Statement, parameters: Any) -> pa.Table:
    given: Mapping[str, Any] = {}
    if parameters:
        if statement.task is not None:
            raise UnsupportedFeature("A statement about a table as a whole has no parameters")
        text, given = _named(statement.text, parameters)
        with looked_up_in(attached.lookup(connection)):
            named = of_lance(text, dialect_of("duckdb"), in_own_words=True)
        assert named is not None, "a statement with other names for its parameters"
        statement = named
    engine = Engine("duckdb", connection, True, given)
    if statement.task is not None:
        if statement.task.question is not None:
            _check_no_transaction(connection)
        return statement.task.run(engine)
    assert statement.change is not None, "no query"
    _check_no_transaction(connection)
    change = statement.change
    # TRUNCATE says of itself that it means all rows
    if change.is_for_all_rows and statement.text.lstrip()[:8].upper() != "TRUNCATE":
        raise InvalidArgument(f"This {change.verb} every row of {change.path}: say WHERE true if that is meant")
    with looked_up_in(attached.lookup(connection)), duckdb_queries.seeing(_variables_of_caller()):
        return write(change, engine, statement.text, all_rows=True).to_table()


def _variables_of_caller() -> Mapping[str, Any]:
    """The variables of the innermost frame outside of this package and of DuckDB."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("duckdb", "lance_sql"):
        frame = frame.f_back
    return {} if frame is None else ChainMap(dict(frame.f_locals), frame.f_globals)


def _check_no_transaction(connection: Any) -> None:
    """
    raises: InvalidArgument within a transaction, which would not hold for the Lance table
    """
    if duckdb_queries.is_in_transaction(connection):
        raise InvalidArgument(
            "A Lance table is changed by a commit of its own, which ROLLBACK would not undo: end the transaction first"
        )


def _named(text: str, parameters: Any) -> tuple[str, Mapping[str, Any]]:
    """A text whose parameters all have names, since its parts are run in another order, and the values by these."""
    values = dict(parameters) if isinstance(parameters, Mapping) else None
    if values is None and (isinstance(parameters, str) or not isinstance(parameters, Sequence)):
        raise InvalidArgument("Parameters are a list of values, or a dict by their names")
    if values is None:
        values = {f"{_PARAMETER}{number}": value for number, value in enumerate(parameters, 1)}
    tokens = tokenize(text, dialect_of("duckdb"))
    pieces, start, count = [], 0, 0
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type == TokenType.PLACEHOLDER:
            count += 1
            pieces += [text[start : token.start], f"${_PARAMETER}{count}"]
            start = token.end + 1
        elif token.token_type == TokenType.PARAMETER and following is not None and following.text.isdecimal():
            pieces += [text[start : token.start], f"${_PARAMETER}{following.text}"]
            start = following.end + 1
    named = "".join([*pieces, text[start:]])
    unused = [name for name in values if f"${name}" not in named]
    if unused or count > len(values):
        raise InvalidArgument(f"{len(values)} values are given for the parameters of {text.strip()[:200]}")
    return named, values
