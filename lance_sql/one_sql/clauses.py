"""Clauses that no dialect parses, rewritten to table functions, which every dialect parses.

    orders.lance@41                                          'orders.lance@41', as an identifier in quotes
    <table> CHANGES FROM VERSION 3 TO VERSION 5              lance_changes('<table>', start_version => 3, ...)
    <table> CHANGES FROM VERSION 3 EXCLUSIVE                 lance_changes('<table>', since => 3)
    <table> CHANGES FROM TIMESTAMP '...' ... WITH (deduplicationMode = 'netChanges')
    <table> FOR SYSTEM_VERSION AS OF 41                      <table> VERSION AS OF 41
    SUMMARIZE '<table>'                                      SUMMARIZE FROM '<table>'

Source: SQL of Spark 4.2, CHANGES; of Trino and Dremio, FOR SYSTEM_VERSION.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql.dialects import tokenize
from lance_sql.one_sql.named_tables import FORMAT, is_path, path_of_name
from lance_sql.one_sql.text_edits import edited, over
from lance_sql.values.sql_text import literal

_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING)
_WORDS: Final = ("changes", "system_version", "summarize", "desc", "table", "insert")
_DESCRIBING: Final = ("DESCRIBE", "DESC", "SUMMARIZE")
TIME_TYPES: Final = (
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "TIMESTAMP_S",
    "TIMESTAMP_MS",
    "TIMESTAMP_US",
    "TIMESTAMP_NS",
    "DATETIME",
)
_OPTIONS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "deduplicationmode": {
        "none": ["mode => 'all'"],
        "dropcarryovers": ["mode => 'all'", "drop_unchanged => true"],
        "netchanges": ["mode => 'net'"],
    },
    "computeupdates": {"true": []},
}


_Edit: TypeAlias = tuple[int, int, str]
"""First token, end and text, as for `text_edits.over`."""


@dataclass(frozen=True, slots=True)
class Name:
    """Dotted name.

    parts: between the dots
    end: the token after it
    has_version: the last part ends with a version that was not in quotes
    is_quoted: a part is in quotes
    """

    parts: tuple[str, ...]
    end: int
    has_version: bool
    is_quoted: bool = False

    @property
    def path(self) -> str:
        """Parts as a path, without the format prefix of Spark."""
        is_of_spark = len(self.parts) == 2 and self.parts[0].lower() == FORMAT
        return self.parts[1] if is_of_spark and (self.is_quoted or is_path(self.parts[1])) else ".".join(self.parts)


def rewrite(text: str, dialect: Dialect) -> str:
    """Rewrites the clauses in a text; returns other text unchanged.

    raises: InvalidArgument for an incomplete clause; UnsupportedFeature for bounds that are not constants
    """
    lowered = text.lower()
    if "@" not in text and not any(word in lowered for word in _WORDS):
        return text
    tokens = tokenize(text, dialect)
    return edited(text, [over(tokens, *edit) for edit in _edits(tokens, dialect)])


def _edits(tokens: list[Token], dialect: Dialect) -> Iterator[_Edit]:
    position = 0
    while position < len(tokens):
        said = _words(tokens, position)
        if said[:4] == ["FOR", "SYSTEM_VERSION", "AS", "OF"]:
            end = position + len(_split(tokens, position, *said[:4]))
            yield position, end, "VERSION AS OF"
            position = end
            continue
        described = _described(tokens, position) if position == 0 else None
        if described is not None:
            yield described
            position = described[1]
            continue
        if said[:2] in (["INSERT", "INTO"], ["INSERT", "OVERWRITE"]):
            yield from _inserting(tokens, position + 2)
        name = name_at(tokens, position)
        if name is None:
            position += 1
            continue
        path, end, has_version = name.path, name.end, name.has_version
        words = _words(tokens, end)
        # `changes` alone may be the alias of a column
        bound = words[2] if len(words) > 2 else ""
        if words[:2] == ["CHANGES", "FROM"] and (bound in ("", "VERSION", "TIMESTAMP") or bound.isdecimal()):
            edit = _changes(tokens, position, end, path)
            yield edit
            end = edit[1]
        elif has_version:
            whole = [path] if is_path(path) else name.parts
            yield position, end, ".".join(exp.to_identifier(part, quoted=True).sql(dialect) for part in whole)
        position = end


def name_at(tokens: list[Token], start: int, *, is_expected: bool = False) -> Name | None:
    """Returns the table name that begins at a token, with dots and with a version after an @.

    is_expected: keywords also count as names
    """
    if tokens[start].token_type not in _NAMES and not (is_expected and tokens[start].text.isidentifier()):
        return None
    end = start + 1
    while (
        end + 1 < len(tokens)
        and tokens[end].token_type == TokenType.DOT
        and (tokens[end + 1].token_type in _NAMES or tokens[end + 1].text.isidentifier())
    ):
        end += 2
    parts = [token.text for token in tokens[start:end] if token.token_type != TokenType.DOT]
    is_quoted = any(token.token_type in _NAMES[1:] for token in tokens[start:end])
    is_path_of_lance = parts[-1].lower() == "lance" and len(parts) > 1
    is_at = end < len(tokens) and tokens[end].text[:1] == "@" and tokens[end].start == tokens[end - 1].end + 1
    is_table = is_at and (is_path_of_lance or path_of_name(parts, is_quoted=is_quoted) is not None)
    if is_table and end + 1 < len(tokens) and tokens[end].text == "@" and tokens[end + 1].start == tokens[end].end + 1:
        return Name((*parts[:-1], f"{parts[-1]}@{tokens[end + 1].text}"), end + 2, True)
    # some tokenizers read the @ and the name after it as one parameter
    if is_table and len(tokens[end].text) > 1:
        return Name((*parts[:-1], parts[-1] + tokens[end].text), end + 1, True)
    return Name(tuple(parts), end, False, is_quoted)


def _words(tokens: list[Token], start: int, count: int = 4) -> list[str]:
    """Returns the next words in upper case; in some dialects a token has several words."""
    words: list[str] = []
    for token in tokens[start : start + count]:
        words += ["''"] if token.token_type == TokenType.STRING else token.text.upper().split()
    return words


def _changes(tokens: list[Token], first: int, end: int, path: str) -> _Edit:
    """Rewrites a CHANGES clause to a call of `lance_changes`."""
    position = end + len(_split(tokens, end, "CHANGES", "FROM"))
    start, is_exclusive, position = _bound(tokens, position)
    arguments = [f"{'since' if is_exclusive else 'start_version'} => {start}"]
    if _words(tokens, position)[:1] == ["TO"]:
        stop, is_exclusive, position = _bound(tokens, position + 1)
        if is_exclusive:
            if not stop.isdecimal():
                raise UnsupportedFeature(f"CHANGES .. TO {stop} EXCLUSIVE: EXCLUSIVE needs a version number")
            stop = str(int(stop) - 1)
        arguments.append(f"end_version => {stop}")
    if _words(tokens, position)[:2] == ["WITH", "("]:
        options, position = _options(tokens, position + 2)
        arguments += options
    return first, position, f"lance_changes({literal(path)}, {', '.join(arguments)})"


def _split(tokens: list[Token], start: int, *words: str) -> list[Token]:
    """Returns the tokens that consist of these words."""
    matched: list[Token] = []
    seen: list[str] = []
    while len(seen) < len(words) and start + len(matched) < len(tokens):
        token = tokens[start + len(matched)]
        matched.append(token)
        seen += token.text.upper().split()
    if tuple(seen) != words:
        raise InvalidArgument(f"Not SQL: {' '.join(words)} is expected, not {' '.join(seen) or 'the end'}")
    return matched


def _bound(tokens: list[Token], position: int) -> tuple[str, bool, int]:
    """Returns a bound of a range as SQL, whether it is exclusive, and where it ends."""
    words = _words(tokens, position)
    if words[:1] not in (["VERSION"], ["TIMESTAMP"]):
        raise InvalidArgument(
            f"Not SQL: CHANGES needs VERSION or TIMESTAMP before a bound, not {' '.join(words[:1])!r}"
        )
    is_time = words[0] == "TIMESTAMP"
    position += 1
    zone, length = time_type(_words(tokens, position)) if is_time else ("", 0)
    position += length
    if position >= len(tokens):
        raise InvalidArgument("Not SQL: CHANGES ends before its bound")
    token = tokens[position]
    if token.token_type == TokenType.STRING:
        value = zone + literal(token.text)
    elif token.token_type == TokenType.NUMBER and token.text.isdecimal() and not is_time:
        value = token.text
    else:
        raise UnsupportedFeature(f"A bound of CHANGES must be a number, a tag or a time in quotes, not {token.text!r}")
    position += 1
    said = _words(tokens, position)[:1]
    return value, said == ["EXCLUSIVE"], position + (said in (["EXCLUSIVE"], ["INCLUSIVE"]))


def _described(tokens: list[Token], position: int) -> _Edit | None:
    """Rewrites DESCRIBE, SUMMARIZE or TABLE of a Lance table to FROM, which accepts a version."""
    word = tokens[position].text.upper()
    end = position + 1
    if word in _DESCRIBING and end < len(tokens) and tokens[end].text.upper() == "TABLE":
        end += 1
    if word not in (*_DESCRIBING, "TABLE") or end >= len(tokens) or not _is_of_lance(name_at(tokens, end)):
        return None
    return position, end, "FROM" if word == "TABLE" else f"{word} FROM"


def _inserting(tokens: list[Token], position: int) -> Iterator[_Edit]:
    """Rewrites clauses of INSERT into a Lance table that the parser lacks: BY POSITION, and FROM in parentheses."""
    position += position < len(tokens) and tokens[position].text.upper() == "TABLE"
    name = name_at(tokens, position) if position < len(tokens) else None
    if name is None or not _is_of_lance(name):
        return
    end = name.end
    if _words(tokens, end, 2) == ["BY", "POSITION"]:
        yield end, end + 2, ""
        end += 2
    if _words(tokens, end, 2) == ["(", "FROM"]:
        yield end, end + 1, "SELECT * FROM ("


def _is_of_lance(name: Name | None) -> bool:
    return name is not None and path_of_name(name.parts, is_quoted=name.is_quoted) is not None


def time_type(words: Sequence[str]) -> tuple[str, int]:
    """Reads the type before a quoted time: returns the prefix for a time with a zone, and the number of words."""
    if not words or words[0] not in (*TIME_TYPES, "DATE"):
        return "", 0
    has_zone = words[0] == "TIMESTAMPTZ" or tuple(words[1:4]) == ("WITH", "TIME", "ZONE")
    return "TIMESTAMPTZ " if has_zone else "", 4 if tuple(words[2:4]) == ("TIME", "ZONE") else 1


def _options(tokens: list[Token], position: int) -> tuple[list[str], int]:
    """Returns the options of WITH as arguments, and where they end."""
    arguments: list[str] = []
    while position + 2 < len(tokens) and tokens[position].token_type != TokenType.R_PAREN:
        key, equals, value = tokens[position : position + 3]
        option = _OPTIONS.get(key.text.lower(), {}).get(value.text.lower())
        if equals.text != "=" or option is None:
            raise UnsupportedFeature(
                f"CHANGES .. WITH ({key.text} = {value.text}): only deduplicationMode and computeUpdates = true are"
                " supported"
            )
        arguments += option
        position += 3
        if position < len(tokens) and tokens[position].token_type == TokenType.COMMA:
            position += 1
    if position >= len(tokens):
        raise InvalidArgument("Not SQL: WITH ( .. is not closed")
    return arguments, position + 1
