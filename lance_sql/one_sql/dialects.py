"""Dialects that statements are written in and translated to; parsing and generation of their text."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from dataclasses import replace

import sqlglot
from sqlglot import Token, exp
from sqlglot.dialects.dialect import Dialect

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.providers.adapter import FOLDERS, Adapter, every, named
from lance_sql.providers.syntax import Syntax

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
# unknown syntax is handled here, and reported once
logging.getLogger("sqlglot").addFilter(lambda record: not _quiet.get())


def syntax_of(name: str) -> Syntax:
    """Returns the SQL of an engine, or that of another dialect.

    raises: InvalidArgument for a dialect that sqlglot does not have
    """
    if name in FOLDERS:
        return named(name).syntax
    try:
        dialect = Dialect.get_or_raise(name)
    except ValueError as error:
        raise InvalidArgument(
            f"dialect={name!r} is not supported: pass {', '.join(FOLDERS)} or another dialect of sqlglot"
        ) from error
    like = next((each.syntax for each in every() if name in each.syntax.similar), Syntax(type(dialect)))
    return replace(like, dialect=lambda: dialect)


def dialect_of(name: str) -> Dialect:
    """
    raises: as `syntax_of`
    """
    dialect: Dialect = syntax_of(name).dialect()
    return dialect


def tokenize(text: str, dialect: Dialect) -> list[Token]:
    """
    raises: InvalidArgument for an unclosed text or comment
    """
    try:
        return list(dialect.tokenize(text))
    except sqlglot.errors.SqlglotError as error:
        raise _not_sql(error) from error


def tokenize_commands(text: str, dialect: Dialect) -> list[Token]:
    """Returns the tokens of a statement, including the text after commands, which the tokenizer keeps as one token.

    raises: as `tokenize`
    """
    all_tokens: list[Token] = []
    start = 0
    while True:
        # the padding keeps the positions of tokens
        tokens = tokenize(" " * start + text[start:], dialect)
        if len(tokens) != 2 or tokens[0].token_type not in dialect.tokenizer_class.COMMANDS:
            return [*all_tokens, *tokens]
        all_tokens.append(tokens[0])
        start = tokens[0].end + 1


def parse(text: str, dialect: Dialect) -> list[exp.Expr]:
    """Parses the statements of a text.

    raises: InvalidArgument for text that is not SQL in this dialect
    """
    token = _quiet.set(True)
    try:
        return [tree for tree in dialect.parse(text) if tree is not None]
    except RecursionError as error:
        raise InvalidArgument(
            "The statement is nested too deeply to be read: name inner parts by WITH, or write them into a table first"
        ) from error
    except sqlglot.errors.SqlglotError as error:
        raise _not_sql(error) from error
    finally:
        _quiet.reset(token)


def generate(tree: exp.Expr, engine: Adapter) -> str:
    """Generates the statement in the dialect of an engine.

    raises: UnsupportedFeature, naming the engine, for syntax that its dialect lacks
    """
    try:
        dialect: Dialect = engine.syntax.dialect()
        return dialect.generate(tree, normalize_functions=False, unsupported_level=sqlglot.ErrorLevel.RAISE, copy=True)
    except sqlglot.errors.UnsupportedError as error:
        raise UnsupportedFeature(f"{engine.title} does not run this statement: {error}") from error


def _not_sql(error: Exception) -> InvalidArgument:
    details = getattr(error, "errors", None)
    if details:
        first = details[0]
        near = f" near {first['highlight']!r}" if first.get("highlight") else ""
        return InvalidArgument(f"Not SQL: line {first['line']}, column {first['col']}{near}: {_plainly(first)}")
    return InvalidArgument(f"Not SQL: {str(error).splitlines()[0] if str(error) else type(error).__name__}")


def _plainly(error: dict[str, str]) -> str:
    """Returns the error description without the parser's own objects."""
    return error["description"].partition(" but got <Token")[0]
