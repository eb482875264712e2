"""What a statement is: a query, or a change of a Lance table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import Dialect, TokenType, exp

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql import changing, inserting, merging
from lance_sql.one_sql.changes import Change
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.dialects import parse, tokenize
from lance_sql.one_sql.own_parts import put_words
from lance_sql.one_sql.own_words import Words
from lance_sql.one_sql.references import path_of

_QUERIES: Final = (exp.Query, exp.Values, exp.Pivot, exp.Summarize)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement.

    text: as it was typed
    tree: of sqlglot
    change: what it does to a Lance table; None for a query
    needs_translation: no engine runs the text as it is
    """

    text: str
    tree: exp.Expr
    change: Change | None
    needs_translation: bool


def understand(text: str, dialect: Dialect, *, in_own_words: bool = False) -> Statement:
    """
    in_own_words: an engine whose dialect this is computes the parts as they were typed
    raises: InvalidArgument for what is not SQL, and for several statements; UnsupportedFeature for statements that are
        neither queries nor changes of Lance tables
    """
    rewritten = rewrite(text, dialect)
    trees = parse(rewritten, dialect)
    if len(trees) != 1:
        raise InvalidArgument(f"One statement is run at a time, and these are {len(trees)}")
    tree = trees[0]
    words = Words(rewritten, dialect, tree) if in_own_words else None
    travels = any(table.args.get("version") or table.args.get("when") for table in tree.find_all(exp.Table))
    if isinstance(tree, _QUERIES):
        return Statement(text, tree if words is None else words.all(tree), None, rewritten != text or travels)
    if words is not None:
        put_words(tree, words)
    return Statement(text, tree, _change(tree), needs_translation=True)


def writes(tree: exp.Expr) -> bool:
    """Whether a statement changes a Lance table, or is meant to."""
    if isinstance(tree, exp.Copy):
        try:
            return inserting.copy(tree) is not None
        except UnsupportedFeature:
            return True
    if isinstance(tree, exp.TruncateTable):
        return any(path_of(table) is not None for table in tree.expressions)
    if not isinstance(tree, exp.Insert | exp.Update | exp.Delete | exp.Merge | exp.Create):
        return False
    table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    return path_of(table) is not None


def split(text: str, dialect: Dialect) -> list[str]:
    """The statements of a text, each as it was typed; semicolons are between them.

    raises: InvalidArgument for a text or a comment that is open at the end
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
    found: Change | None = None
    match tree:
        case exp.Insert():
            found = inserting.insertion(tree)
        case exp.Create() if isinstance(tree.expression, exp.Expr) and tree.args.get("kind") == "TABLE":
            found = inserting.creation(tree)
        case exp.Copy():
            found = inserting.copy(tree)
        case exp.Delete():
            found = changing.deletion(tree)
        case exp.TruncateTable():
            found = changing.truncation(tree)
        case exp.Update():
            found = changing.modification(tree)
        case exp.Merge():
            found = merging.merge(tree)
    if found is None:
        raise UnsupportedFeature(f"lance_sql.sql does not run {_kind(tree)}: give it to the engine itself")
    return found


def _kind(statement: exp.Expr) -> str:
    """What a statement is called."""
    if isinstance(statement, exp.Command):
        return str(statement.this).upper()
    kind = statement.args.get("kind")
    return " ".join(filter(None, (type(statement).__name__.upper(), str(kind).upper() if kind else "")))
