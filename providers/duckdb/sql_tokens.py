"""The tokenizer of DuckDB's SQL: the tag of a dollar-quoted text is a name, and a parameter needs no space.

sqlglot reads `$a,$` in `VALUES ($a,$b)` as the tag of such a text, `?::` in `?::BIGINT` as an operator, and `2E` in
`$2ELSE` as a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar, Final

from sqlglot import Token, TokenType
from sqlglot.dialects.duckdb import DuckDB

_MASKED: Final = re.compile(r"\$(?:[^\W\d]\w*)?\$|[$?]\d+[^\W\d]")
_LEXEME: Final = re.compile(
    r"""
      [eE]'(?:[^'\\]|\\.|'')*'              # a text with escapes
    | '(?:[^']|'')*'
    | "(?:[^"]|"")*"
    | --[^\n]*
    | (?P<comment>/\*)
    | (?P<tag>\$(?:[^\W\d]\w*)?\$)
    | [$?](?P<number>\d+)
    | \$?\w[\w$]*                           # a name, a number or a parameter
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT: Final = re.compile(r"/\*|\*/")
_NO_LINE_END: Final = re.compile(r"[^\n]")


class Tokenizer(DuckDB.Tokenizer):
    """Tokenizer with its own search for dollar-quoted texts and numbered parameters."""

    HEREDOC_STRINGS: ClassVar = []
    KEYWORDS: ClassVar = {word: type for word, type in DuckDB.Tokenizer.KEYWORDS.items() if word != "?::"}

    def tokenize(self, sql: str) -> list[Token]:
        """Returns the tokens of a text."""
        if _MASKED.search(sql) is not None:
            return list(self._with_masks(sql))
        tokens = super().tokenize(sql)
        for token, following in pairwise(tokens):
            # ?1 is $1
            is_number = following.token_type == TokenType.NUMBER and following.start == token.end + 1
            if token.token_type == TokenType.PLACEHOLDER and is_number:
                token.token_type = TokenType.PARAMETER
        return tokens

    def _with_masks(self, sql: str) -> Iterator[Token]:
        """Yields the tokens of a text; masks parts that sqlglot misreads, at the same positions."""
        pieces, position = [], 0
        masked = {start: (end, content, number) for start, end, content, number in _spans(sql)}
        for start, (end, _, number) in masked.items():
            inner = " " * (end - start - 1) if number else _NO_LINE_END.sub("x", sql[start + 1 : end - 1])
            pieces += [sql[position:start], f"?{inner}" if number else f"'{inner}'"]
            position = end
        for token in super().tokenize("".join([*pieces, sql[position:]])):
            end, content, number = masked.get(token.start, (0, "", False))
            if not end:
                yield token
            elif number:
                token.token_type = TokenType.PARAMETER
                yield token
                place = {"line": token.line, "col": token.col, "start": token.start + 1, "end": end - 1}
                yield Token(TokenType.NUMBER, content, **place, comments=token.comments)
                token.comments = []
            else:
                token.token_type, token.text = TokenType.HEREDOC_STRING, content
                yield token


def _spans(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yields dollar-quoted texts and numbered parameters: start, end, content, and whether it is a number.

    Skips unclosed texts.
    """
    position = 0
    while (lexeme := _LEXEME.search(text, position)) is not None:
        position = lexeme.end()
        if lexeme["comment"]:
            position = _behind_comment(text, position)
        elif lexeme["number"]:
            yield lexeme.start(), position, lexeme["number"], True
        elif lexeme["tag"]:
            end = text.find(lexeme["tag"], position)
            if end >= 0:
                content, position = text[position:end], end + len(lexeme["tag"])
                yield lexeme.start(), position, content, False


def _behind_comment(text: str, position: int) -> int:
    """Returns the end of a comment, which may contain nested comments."""
    depth = 1
    while depth and (bound := _COMMENT.search(text, position)) is not None:
        depth += 1 if bound[0] == "/*" else -1
        position = bound.end()
    return position if not depth else len(text)
