"""The parser of DuckDB's SQL: short forms of MERGE, and a query in parentheses that begins with FROM.

sqlglot parses `own (FROM t.lance)` in INSERT as a list of columns, and does not support `THEN UPDATE BY NAME`. It
receives equivalent tokens instead; positions in the text are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from sqlglot import Token, TokenType, exp
from sqlglot.parsers.duckdb import DuckDBParser

_ORDERS: Final = ("NAME", "POSITION")


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
        return list(super().parse(tokens, sql))


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
