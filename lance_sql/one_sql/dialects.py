"""Dialects that statements are written in and translated to; parsing and generation of their text."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextvars import ContextVar
from typing import ClassVar, Final

import sqlglot
from sqlglot import Token, exp, transforms
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.spark import Spark
from sqlglot.generator import Generator
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.generators.spark import SparkGenerator

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql import duckdb_parser, duckdb_tokens
from lance_sql.one_sql.json_conditions import keep_path


class OwnWords(exp.Expression):
    """Part of a statement as typed, with nodes between its texts: one more text than nodes."""

    arg_types: ClassVar = {"texts": True, "expressions": False}


class OwnQuery(OwnWords, exp.Query):
    """Query as typed, with nodes between its texts."""


def joined(parts: Iterable[str | exp.Expr], kind: type[OwnWords] = OwnWords) -> OwnWords:
    """Joins texts and nodes into one part; inlines the texts of own words."""
    texts, nodes = [""], list[exp.Expr]()
    for part in parts:
        if isinstance(part, str):
            texts[-1] += part
        elif isinstance(part, OwnWords):
            texts[-1] += part.args["texts"][0]
            for node, text in zip(part.expressions, part.args["texts"][1:], strict=True):
                nodes.append(node.copy())
                texts.append(text)
        else:
            nodes.append(part.copy())
            texts.append("")
    return kind(texts=texts, expressions=nodes)


def _print_words(generator: Generator, node: OwnWords) -> str:
    printed: str = node.args["texts"][0]
    for each, text in zip(node.expressions, node.args["texts"][1:], strict=True):
        # a quoted text may be replaced by a word
        before = " " if printed[-1:].isalnum() else ""
        after = " " if text[:1].isalnum() else ""
        printed += f"{before}{generator.sql(each)}{after}{text}"
    return printed


class LanceDuckDB(DuckDB):
    """SQL of DuckDB, with parts that stay as typed. Its name for sqlglot is "lanceduckdb"."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Parses a path to a member of JSON."""
        return keep_path(super().to_json_path(path), path, "duckdb")

    Tokenizer = duckdb_tokens.Tokenizer
    Parser = duckdb_parser.Parser

    class Generator(DuckDBGenerator):
        """Writes own words unchanged."""

        TRANSFORMS: ClassVar = {**DuckDBGenerator.TRANSFORMS, OwnWords: _print_words, OwnQuery: _print_words}


class LanceSpark(Spark):
    """SQL of Spark 4, with parts that stay as typed. Its name for sqlglot is "lancespark"."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Parses a path to a member of JSON."""
        return keep_path(super().to_json_path(path), path, "spark")

    class Tokenizer(Spark.Tokenizer):
        """Tokens of Spark, in which a doubled quote is a quote: sqlglot reads two texts side by side."""

        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    class Generator(SparkGenerator):
        """Writes own words unchanged."""

        TRANSFORMS: ClassVar = {**SparkGenerator.TRANSFORMS, OwnWords: _print_words, OwnQuery: _print_words}


class DataFusion(Postgres):
    """SQL of DataFusion: that of Postgres except for some functions. Its name for sqlglot is "datafusion"."""

    class Generator(PostgresGenerator):
        """Writes functions that have other names in DataFusion."""

        TRANSFORMS: ClassVar = {
            **PostgresGenerator.TRANSFORMS,
            # keeps QUALIFY: the usual rewrite loses the order
            exp.Select: transforms.preprocess([transforms.eliminate_semi_and_anti_joins]),
            exp.ArrayContains: lambda self, node: self.func("array_has", node.this, node.expression),
            exp.ArraySize: lambda self, node: self.func("array_length", node.this),
            exp.CountIf: lambda self, node: f"count(*) FILTER (WHERE {self.sql(node, 'this')})",
            exp.IntDiv: lambda self, node: f"CAST(trunc({self.binary(node, '/')}) AS BIGINT)",
            exp.AnyValue: lambda self, node: self.func("first_value", node.this),
            exp.IgnoreNulls: lambda self, node: f"{self.sql(node, 'this')} IGNORE NULLS",
            # DataFusion reads a following AND or OR as part of the second value
            exp.NullSafeEQ: lambda self, node: f"({self.binary(node, 'IS NOT DISTINCT FROM')})",
            exp.NullSafeNEQ: lambda self, node: f"({self.binary(node, 'IS DISTINCT FROM')})",
        }


_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
# unknown syntax is handled here, and reported once
logging.getLogger("sqlglot").addFilter(lambda record: not _quiet.get())

_OWN: Final = {"duckdb": LanceDuckDB, "datafusion": DataFusion, "spark": LanceSpark}
ENGINES: Final = ("duckdb", "datafusion", "spark")
TITLES: Final = {"duckdb": "DuckDB", "datafusion": "DataFusion", "spark": "Spark"}


def dialect_of(name: str) -> Dialect:
    """
    raises: InvalidArgument for a dialect that sqlglot does not have
    """
    if name in _OWN:
        return _OWN[name]()
    try:
        return Dialect.get_or_raise(name)
    except ValueError as error:
        raise InvalidArgument(
            f"dialect={name!r} is not supported: pass duckdb, datafusion, spark or another dialect of sqlglot"
        ) from error


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


def generate(tree: exp.Expr, engine: str) -> str:
    """Generates the statement in the dialect of an engine.

    raises: UnsupportedFeature, naming the engine, for syntax that its dialect lacks
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


def _plainly(error: dict[str, str]) -> str:
    """Returns the error description without the parser's own objects."""
    return error["description"].partition(" but got <Token")[0]
