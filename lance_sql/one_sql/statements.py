"""Statements: queries, and changes of Lance tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlglot import Dialect, TokenType, exp

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql import (
    applying,
    attaching,
    by_tokens,
    calls,
    changing,
    definitions,
    indexing,
    inserting,
    materializing,
    merging,
    other_products,
    questions,
    upkeep,
)
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.dialects import dialect_of, tokenize
from lance_sql.one_sql.in_duckdb import in_duckdb
from lance_sql.one_sql.named_tables import is_parsed_by_engine, is_path
from lance_sql.one_sql.own_parts import put_words
from lance_sql.one_sql.parsed import Parsed
from lance_sql.one_sql.references import path_of, place_of
from lance_sql.one_sql.spellings import OF_ENGINES, STATEMENTS
from lance_sql.one_sql.tasks import Task
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.one_sql.writing_statements import Change
from lance_sql.providers.duckdb.syntax import LanceDuckDB

_QUERIES: Final = (exp.Query, exp.Values, exp.Pivot, exp.Summarize)
_ANSWERED: Final = (exp.Describe, exp.Show)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement.

    text: as typed
    tree: the sqlglot tree of a query
    change: a change of the rows or columns of a Lance table
    task: another operation on a table, or a request for metadata
    """

    text: str
    tree: exp.Expr | None
    change: Change | None = None
    task: Task | None = None


def understand(text: str, dialect: Dialect, *, in_own_words: bool = False) -> Statement:
    """
    in_own_words: the engine has this dialect, and computes the parts as typed
    raises: InvalidArgument for text that is not SQL, and for several statements; UnsupportedFeature for statements that
        are neither queries nor changes of Lance tables
    """
    found = _of_lance(text, dialect, in_own_words=in_own_words)
    if isinstance(found, Statement):
        return found
    if isinstance(found, InvalidArgument):
        other_products.refuse(text)
        rewritten = rewrite(text, dialect) if in_own_words and len(split(text, dialect)) == 1 else ""
        query = by_tokens.query(rewritten, dialect) if rewritten and is_parsed_by_engine(rewritten) else None
        if query is None:
            raise found
        return Statement(text, query)
    tree, words = found.tree, found.words(in_own_words)
    if isinstance(tree, _QUERIES) or (words is not None and isinstance(tree, _ANSWERED)):
        other_products.refuse(text)
        return Statement(text, tree if words is None else words.all(tree))
    other_products.refuse(text)
    if words is not None:
        put_words(tree, words)
    return Statement(text, None, _change(tree))


def of_lance(text: str, dialect: Dialect, *, in_own_words: bool = False) -> Statement | None:
    """Parses a statement on a Lance table that is not a query; returns None for every other text, even if it is no SQL.

    raises: as `understand`
    """
    found = _of_lance(text, dialect, in_own_words=in_own_words)
    return found if isinstance(found, Statement) else None


def _of_lance(text: str, dialect: Dialect, *, in_own_words: bool) -> Statement | Parsed | InvalidArgument:
    """Parses a statement, once; returns the tree, or the error, of another one than `of_lance` returns."""
    understood = _about_table(TokenReader(text, dialect), in_own_words)
    if isinstance(understood, Change):
        return Statement(text, None, change=understood)
    if understood is not None:
        return Statement(text, None, task=understood)
    try:
        parsed = Parsed.of(text, dialect)
    except InvalidArgument as error:
        if by_tokens.is_ours(text, dialect):
            other_products.refuse(text)
            raise
        return error
    if not writes(parsed.tree):
        return parsed
    tree, words = parsed.tree, parsed.words(in_own_words)
    if isinstance(tree, exp.Insert):
        other_products.refuse(text, inserts=True)
    if words is not None:
        put_words(tree, words)
    return Statement(text, None, _change(tree))


def _about_table(read: TokenReader, in_own_words: bool) -> Change | Task | None:
    """Reads a statement on a whole table; returns None for others, and for those on tables of the engine."""
    if (called := calls.call(read)) is not None:
        return called
    verb = next((STATEMENTS[spelling] for spelling in _LONGEST_FIRST if read.begins_with(spelling)), None)
    if verb is None:
        return None
    try:
        if verb == "describe":
            return questions.describe(read, describes=in_own_words and isinstance(read.dialect, LanceDuckDB))
        if verb == "apply changes":
            return applying.apply(read, partial(_query, dialect=read.dialect, in_own_words=in_own_words))
        if verb == "create table":
            return definitions.create_table(read, partial(_query, dialect=read.dialect, in_own_words=in_own_words))
        return _VERBS[verb](read)
    except InvalidArgument:
        if read.is_of_lance or read.first_word not in OF_ENGINES:
            raise
        # syntax of the engine that is unknown here
        return None


_VERBS: Final[Mapping[str, Callable[[TokenReader], Change | Task | None]]] = {
    "alter index": indexing.alter_index,
    "alter table": definitions.alter_table,
    "analyze": upkeep.analyze,
    "attach": attaching.attach,
    "comment": definitions.comment,
    "create index": indexing.create_index,
    "create view": materializing.create,
    "detail": questions.detail,
    "detach": attaching.detach,
    "drop index": indexing.drop_index,
    "drop table": upkeep.drop_table,
    "drop view": materializing.drop,
    "history": questions.history,
    "optimize": upkeep.optimize,
    "refresh view": materializing.refresh,
    "reindex": indexing.reindex,
    "restore": upkeep.restore,
    "show": questions.show,
    "show create table": questions.show_create_table,
    "show tables": questions.show_tables,
    "vacuum": upkeep.vacuum,
}
_LONGEST_FIRST: Final = sorted(STATEMENTS, key=lambda spelling: -len(spelling.split()))


def _query(text: str, dialect: Dialect, in_own_words: bool) -> exp.Expr:
    """Parses a query that is a part of a statement."""
    parsed = Parsed.of(text, dialect)
    tree, words = parsed.tree, parsed.words(in_own_words)
    if not isinstance(tree, _QUERIES):
        raise InvalidArgument(f"Not a query but {_kind(tree)}: {text[:200]}")
    return tree if words is None else words.all(tree)


def writes(tree: exp.Expr) -> bool:
    """Whether a statement changes a Lance table, or would with supported options."""
    if isinstance(tree, exp.Copy):
        try:
            return inserting.copy(tree) is not None
        except UnsupportedFeature:
            return True
    if isinstance(tree, exp.TruncateTable):
        return any(path_of(table) is not None for table in tree.expressions)
    if not isinstance(tree, exp.Insert | exp.Update | exp.Delete | exp.Merge | exp.Create):
        return False
    if isinstance(tree, exp.Create) and tree.args.get("kind") != "TABLE":
        return False
    table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if isinstance(tree, exp.Create) and tree.find(exp.TemporaryProperty) is not None:
        # a name refers to a table of the engine
        return isinstance(table, exp.Table) and is_path(".".join(part.name for part in table.parts))
    return path_of(table) is not None or (isinstance(tree, exp.Create) and place_of(table) is not None)


def for_duckdb(text: str) -> list[Statement | str]:
    """Splits a text for a DuckDB connection with the table functions: into statements on Lance tables that DuckDB does
    not run, and the text of the others, rewritten for DuckDB.

    raises: as `understand`, for statements about Lance tables
    """
    dialect = dialect_of("duckdb")
    try:
        pieces = split(text, dialect) or [text]
    except InvalidArgument:
        # DuckDB raises the error
        return [text]
    parts: list[Statement | str] = []
    for piece in pieces:
        found = _of_lance(piece, dialect, in_own_words=True)
        if not isinstance(found, Statement):
            other_products.refuse(piece)
            prefix, inner = by_tokens.prefix(piece, dialect)
            if prefix and of_lance(inner, dialect, in_own_words=True) is not None:
                word = prefix.split()[0].upper()
                way = (
                    "lance_sql.sql(.., dry_run=True) rehearses one" if word == "EXPLAIN" else "execute takes parameters"
                )
                raise UnsupportedFeature(f"{word} cannot contain a statement that changes a Lance table: {way}")
            known = found if isinstance(found, Parsed) and not prefix else None
            parts.append(prefix + in_duckdb(inner, dialect, known))
        else:
            parts.append(found)
    return parts


def split(text: str, dialect: Dialect) -> list[str]:
    """Splits a text at semicolons into statements, each as typed.

    raises: InvalidArgument for an unclosed text or comment
    """
    pieces = []
    start: int | None = None
    for token in tokenize(text, dialect):
        if token.token_type == TokenType.SEMICOLON:
            if start is not None:
                pieces.append(text[start : token.start])
            start = None
        elif start is None:
            start = token.start
    if start is not None:
        pieces.append(text[start:])
    return [piece.strip() for piece in pieces]


def _change(tree: exp.Expr) -> Change:
    change: Change | None = None
    match tree:
        case exp.Insert():
            change = inserting.insertion(tree)
        case exp.Create() if isinstance(tree.expression, exp.Expr) and tree.args.get("kind") == "TABLE":
            change = inserting.creation(tree)
        case exp.Copy():
            change = inserting.copy(tree)
        case exp.Delete():
            change = changing.deletion(tree)
        case exp.TruncateTable():
            change = changing.truncation(tree)
        case exp.Update():
            change = changing.modification(tree)
        case exp.Merge():
            change = merging.merge(tree)
    if change is None:
        raise UnsupportedFeature(f"lance_sql.sql does not run {_kind(tree)}: run it in the engine itself")
    return change


def _kind(statement: exp.Expr) -> str:
    """Returns the name of a kind of statement."""
    if isinstance(statement, exp.Command):
        return str(statement.this).upper()
    kind = statement.args.get("kind")
    return " ".join(filter(None, (type(statement).__name__.upper(), kind.upper() if isinstance(kind, str) else "")))
