"""Recognition by tokens of statements that the parser cannot parse.

DuckDB receives its own statements as typed. A statement that changes a Lance table, or reads one at a version, is not
DuckDB's. If it cannot be parsed, the error is raised here, because DuckDB does not have that table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect

from lance_sql.one_sql.clauses import Name, name_at
from lance_sql.one_sql.dialects import tokenize, tokenize_commands
from lance_sql.one_sql.named_tables import is_path, path_of_name
from lance_sql.one_sql.spellings import TARGETS, VERSIONS
from lance_sql.one_sql.text_edits import edited, over, own_words
from lance_sql.values.typed_sql import OwnQuery, OwnWords

_READS: Final = ("FROM", "JOIN", ",", "TABLE", "DESCRIBE", "DESC", "SUMMARIZE", "PIVOT", "UNPIVOT")
_WITH_FROM: Final = ("EXTRACT", "OVERLAY", "SUBSTRING", "TRIM")
"""Functions with FROM between their arguments."""
_QUERIES: Final = (
    "SELECT",
    "FROM",
    "WITH",
    "VALUES",
    "TABLE",
    "PIVOT",
    "UNPIVOT",
    "DESCRIBE",
    "DESC",
    "SUMMARIZE",
    "(",
)


def is_ours(text: str, dialect: Dialect) -> bool:
    """Whether a statement changes a Lance table, or reads one at a version."""
    tokens = tokenize_commands(text, dialect)
    words = _words(tokens)
    for position in range(len(tokens)):
        for target in map(str.split, TARGETS):
            if words[position : position + len(target)] == target:
                start = position + len(target)
                start += start < len(words) and words[start] == "TABLE"
                if _lance_table(tokens, start) is not None:
                    return True
        named = _lance_table(tokens, position)
        if named is not None and any(
            words[named.end : named.end + len(each)] == each for each in map(str.split, VERSIONS)
        ):
            return True
    return False


def query(text: str, dialect: Dialect) -> OwnWords | None:
    """Returns a query whose Lance tables are replaced by names; None for other statements, and for queries with table
    functions of this project.

    raises: InvalidArgument for an unclosed text or comment
    """
    tokens = tokenize(text, dialect)
    if not tokens or tokens[0].text.upper() not in _QUERIES:
        return None
    if any(token.text.lower().startswith("lance_") for token in tokens):
        return None
    edits = []
    for named, first in _tables(tokens):
        path = path_of_name(named.parts, is_quoted=named.is_quoted)
        node = exp.Table(this=exp.to_identifier(path, quoted=True))
        node.meta["is_named"] = True
        edits.append(over(tokens, first, named.end, node))
    return own_words(text, edits, kind=OwnQuery)


def in_quotes(text: str, dialect: Dialect) -> str:
    """Returns the text with quotes around unquoted paths, in places of tables, and with paths for tables of a catalog
    that have a version.

    raises: as `query`
    """
    tokens = tokenize(text, dialect)
    edits = []
    for named, first in _tables(tokens):
        path = path_of_name(named.parts, is_quoted=named.is_quoted) or named.path
        if len(named.parts) > 1 and (is_path(named.path) or "@" in named.parts[-1]):
            quoted = "'" + path.replace("'", "''") + "'"
            edits.append(over(tokens, first, named.end, quoted))
    return edited(text, edits)


def prefix(text: str, dialect: Dialect) -> tuple[str, str]:
    """Splits a text into EXPLAIN or PREPARE with its options, and the statement after it; else the prefix is empty."""
    tokens = tokenize_commands(text, dialect)
    words = _words(tokens)
    end = 0
    if words[:1] == ["EXPLAIN"]:
        end = 1 + (words[1:2] == ["ANALYZE"])
        if words[end : end + 1] == ["("] and ")" in words and words[end + 1 : end + 2] not in (["SELECT"], ["FROM"]):
            end = words.index(")") + 1
    elif words[:1] == ["PREPARE"] and "AS" in words:
        end = words.index("AS") + 1
    if not end or end >= len(tokens):
        return "", text
    cut = tokens[end].start
    return text[:cut], text[cut:]


def _tables(tokens: Sequence[Token]) -> Iterator[tuple[Name, int]]:
    position = 0
    calls: list[str] = []
    while position < len(tokens):
        before = tokens[position - 1].text.upper() if position else ""
        if tokens[position].token_type == TokenType.L_PAREN:
            calls.append(before)
        elif tokens[position].token_type == TokenType.R_PAREN:
            del calls[-1:]
        is_read = before in _READS and (calls[-1:] or [""])[0] not in _WITH_FROM
        named = _lance_table(tokens, position) if is_read else None
        if named is not None and (tokens[position].token_type != TokenType.STRING or not _is_value(tokens, position)):
            yield named, position
            position = named.end
        position += 1


def _is_value(tokens: Sequence[Token], position: int) -> bool:
    """Whether a text after a comma is a value and not a table, as in a list of values."""
    return tokens[position - 1].text == ","


def _lance_table(tokens: Sequence[Token], position: int) -> Name | None:
    """Returns the name of the Lance table at a token; None if there is none."""
    named = name_at(list(tokens), position) if position < len(tokens) else None
    if named is None or path_of_name(named.parts, is_quoted=named.is_quoted) is None:
        return None
    return named


def _words(tokens: Sequence[Token]) -> list[str]:
    """Returns the words in upper case; quoted tokens are empty."""
    quoted = (TokenType.STRING, TokenType.IDENTIFIER, TokenType.HEREDOC_STRING)
    return ["" if token.token_type in quoted else token.text.upper() for token in tokens]
