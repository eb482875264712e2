"""The parser of DuckDB's SQL: short forms of MERGE, a query in parentheses that begins with FROM, and bytes.

sqlglot parses `own (FROM t.lance)` in INSERT as a list of columns, and does not support `THEN UPDATE BY NAME`. It
receives equivalent tokens instead; positions in the text are unchanged.

DuckDB alone reads the bytes of `'\\x41'::BLOB`: other engines would take the four letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from sqlglot import Token, TokenType, exp
from sqlglot.parsers.duckdb import DuckDBParser

_ORDERS: Final = ("NAME", "POSITION")
_BYTES: Final = re.compile(r"\\x([0-9A-Fa-f]{2})|([^\\])", re.ASCII)


class Parser(DuckDBParser):
    """Supports MERGE's THEN UPDATE and THEN INSERT with BY NAME and BY POSITION, and THEN ERROR."""

    CONFLICT_ACTIONS: ClassVar = {**DuckDBParser.CONFLICT_ACTIONS, "ERROR": ()}

    def parse(self, raw_tokens: list[Token], sql: str) -> list[exp.Expr | None]:
        """Returns the trees of the statements."""
        words = [token.text.upper() for token in raw_tokens]
        tokens = raw_tokens
        if "MERGE" in words:
            tokens = list(_actions(tokens))
        if "INSERT" in words:
            tokens = list(_queries(tokens))
        trees = list(super().parse(tokens, sql))
        return [_with_bytes(tree) for tree in trees] if "\\x" in sql else trees


def _with_bytes(tree: exp.Expr | None) -> exp.Expr | None:
    """Replaces texts with escaped bytes that are cast to BLOB by the bytes."""
    return None if tree is None else tree.transform(_unescaped, copy=False)


def _unescaped(node: exp.Expr) -> exp.Expr:
    value = node.this
    is_text = isinstance(node, exp.Cast) and isinstance(value, exp.Literal) and value.is_string
    if not is_text or not node.args["to"].is_type("varbinary", "binary", "blob") or "\\x" not in value.name:
        return node
    parts = _BYTES.findall(value.name)
    if sum(4 if byte else 1 for byte, _ in parts) != len(value.name):
        return node
    return exp.Unhex(this=exp.Literal.string("".join(byte or f"{ord(letter):02x}" for byte, letter in parts)))


def _actions(tokens: Sequence[Token]) -> Iterator[Token]:
    """Replaces BY NAME by a star, which means columns by their names; removes BY POSITION."""
    position = 0
    while position < len(tokens):
        yield tokens[position]
        position += 1
        words = [token.text.upper() for token in tokens[position - 2 : position + 2]]
        if len(words) < 4 or words[0] != "THEN" or words[1] not in ("UPDATE", "INSERT"):
            continue
        if words[2] == "BY" and words[3] in _ORDERS:
            if words[3] == "NAME":
                if words[1] == "UPDATE":
                    yield _like(tokens[position], TokenType.SET, "SET")
                yield _like(tokens[position], TokenType.STAR, "*")
            position += 2
            if words[1] == "INSERT" and tokens[position : position + 1] and tokens[position].text == "*":
                position += 1


def _queries(tokens: Sequence[Token]) -> Iterator[Token]:
    """Doubles the parentheses around a query that begins with FROM after the table of INSERT."""
    depths: list[int] = []
    depth, is_table = 0, False
    for position, token in enumerate(tokens):
        following = tokens[position + 1].text.upper() if position + 1 < len(tokens) else ""
        if token.token_type == TokenType.INTO:
            is_table = True
        elif token.token_type == TokenType.L_PAREN:
            depth += 1
            if is_table and following == "FROM":
                yield _like(token, TokenType.L_PAREN, "(")
                depths.append(depth)
            is_table = False
        elif token.token_type == TokenType.R_PAREN:
            if depths[-1:] == [depth]:
                depths.pop()
                yield _like(token, TokenType.R_PAREN, ")")
            depth -= 1
        yield token


def _like(token: Token, kind: TokenType, text: str) -> Token:
    """Returns another token at the same position."""
    return Token(kind, text, line=token.line, col=token.col, start=token.start, end=token.end)
