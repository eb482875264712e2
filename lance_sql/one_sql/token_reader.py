"""Reader of the words of a statement, one by one, for statements that the parser treats as opaque commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import Dialect

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql import named_tables
from lance_sql.one_sql.clauses import name_at, time_type
from lance_sql.one_sql.dialects import tokenize_commands
from lance_sql.providers.attached import Place
from lance_sql.providers.unmarked_folders import way_to_name
from lance_sql.table.version_names import as_version

_NAMES: Final = (TokenType.IDENTIFIER, TokenType.STRING)
_OPENING: Final = ("(", "[")
_CLOSING: Final = (")", "]")


@dataclass(frozen=True, slots=True)
class TableName:
    """Table named by a statement.

    path: of a Lance table; None for a table of the engine
    text: as typed
    place: in an attached catalog, if the name is in one
    """

    path: str | None
    text: str
    place: Place | None = None


class TokenReader:
    """Reads a statement from its first word to its last.

    raises, in each method that expects something: InvalidArgument with what was expected
    """

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.text = text
        self.dialect = dialect
        self._tokens = tokenize_commands(text, dialect)
        while self._tokens and self._tokens[-1].token_type == TokenType.SEMICOLON:
            self._tokens.pop()
        self._position = 0
        self.spelling: tuple[str, ...] = ()
        self.is_of_lance = False
        """Whether a Lance table was named so far."""

    @property
    def is_at_end(self) -> bool:
        return self._position >= len(self._tokens)

    @property
    def first_word(self) -> str:
        """First word of the statement, in upper case."""
        return self._tokens[0].text.upper() if self._tokens else ""

    def next_words(self, count: int = 1) -> tuple[str, ...]:
        """Returns the next words in upper case; quoted tokens are ""."""
        words: list[str] = []
        for token in self._tokens[self._position : self._position + count]:
            words += [""] if token.token_type in _NAMES else token.text.upper().split() or [""]
        return tuple(words[:count])

    def accept(self, *words: str) -> bool:
        """Consumes these words if they come next; returns whether they do."""
        seen: list[str] = []
        position = self._position
        while len(seen) < len(words) and position < len(self._tokens):
            token = self._tokens[position]
            seen += [""] if token.token_type in _NAMES else token.text.upper().split()
            position += 1
        if tuple(seen) != words:
            return False
        self._position = position
        return True

    def begins_with(self, spelling: str) -> bool:
        """Whether the statement begins with these words, which are then consumed; they are `spelling` from then on."""
        words = tuple(spelling.split())
        self.spelling = words
        return self.accept(*words)

    def accept_one(self, *words: str) -> str | None:
        """Consumes one of these words; returns it, or None."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise self.surprised(" ".join(words))

    def table(self) -> TableName:
        """Reads a path in quotes, or a name with dots."""
        if self.is_at_end:
            raise self.surprised("a table")
        named = name_at(self._tokens, self._position, is_expected=True)
        if named is None:
            raise self.surprised("a table")
        start = self._tokens[self._position].start
        self._position = named.end
        path = named_tables.path_of_name(named.parts, is_quoted=named.is_quoted)
        text = self.text[start : self._tokens[named.end - 1].end + 1]
        self.is_of_lance |= path is not None
        return TableName(path, text, named_tables.place_of_name(named.parts))

    def own_table(self, statement: str) -> str:
        """Reads the path of a Lance table, as `own_table_name`."""
        path = self.own_table_name(statement).path
        assert path is not None
        return path

    def own_table_name(self, statement: str) -> TableName:
        """Reads a Lance table, in a statement that no engine has.

        raises: UnsupportedFeature for a table of the engine
        """
        table = self.table()
        if table.path is None:
            otherwise = way_to_name(table.text)
            raise UnsupportedFeature(
                f"{statement} applies to Lance tables; "
                + (otherwise or f"{table.text} is not one: write its path in quotes, such as 'x.lance'")
            )
        return table

    def column_of_table(self) -> tuple[str, str] | None:
        """Reads 'x.lance'.column: the path of a Lance table, and the column; None for a table of the engine."""
        named = None if self.is_at_end else name_at(self._tokens, self._position, is_expected=True)
        if named is None:
            raise self.surprised("a table and a column")
        self._position = named.end
        path = named_tables.path_of_name(named.parts[:-1])
        self.is_of_lance |= path is not None
        return None if path is None else (path, named.parts[-1])

    def name(self, what: str) -> str:
        """Reads the name of a column, an index or a tag."""
        if self.is_at_end or self._tokens[self._position].text in (*_OPENING, *_CLOSING, ","):
            raise self.surprised(what)
        parts = [self._take().text]
        while self.accept("."):
            parts.append(self._take().text)
        return ".".join(parts)

    def names(self, what: str) -> list[str]:
        """Reads names separated by commas, with or without parentheses."""
        closes = self.accept("(")
        names = [self.name(what)]
        while self.accept(","):
            names.append(self.name(what))
        if closes:
            self.expect(")")
        return names

    def value(self, what: str) -> str:
        """Reads a text in quotes, or a number or word."""
        if self.is_at_end:
            raise self.surprised(what)
        sign = "-" if self.accept("-") else ""
        return sign + self._take().text

    def time(self) -> str:
        """Reads a time in quotes, with its type before or after it."""
        zone, length = time_type(self.next_words(4))
        for _ in range(length):
            self._take()
        text = self.value("a time")
        if self.accept("::"):
            zone, _ = time_type((self._take().text.upper(),))
        return named_tables.moment(text) if zone else text

    def version(self) -> int | str:
        """Reads the number of a version, or the name of a tag."""
        text = self.value("a version")
        number = as_version(text)
        return text if number is None else number

    def rest(self, expected: str) -> str:
        """Reads the rest of the statement, as typed.

        expected: describes the rest, for the error if there is none
        """
        if self.is_at_end:
            raise self.surprised(expected)
        start = self._tokens[self._position].start
        self._position = len(self._tokens)
        return self.text[start : self._tokens[-1].end + 1]

    def expression(self, *ends: str) -> str:
        """Reads the text before one of these words, a comma or a closing parenthesis, as typed."""
        return self._until(ends, _OPENING, _CLOSING, "an expression")

    def type(self, *ends: str) -> str:
        """Reads a type, as typed: like an expression, in which < and > are parentheses, as in MAP<STRING, INT>."""
        return self._until(ends, (*_OPENING, "<"), (*_CLOSING, ">"), "a type")

    def _until(self, ends: Sequence[str], opening: Sequence[str], closing: Sequence[str], expected: str) -> str:
        start, level = self._position, 0
        while not self.is_at_end:
            word = self.next_words()[0]
            if level == 0 and word in (*ends, ",", *closing):
                break
            level += (word in opening) - (word in closing)
            self._position += 1
        if start == self._position:
            raise self.surprised(expected)
        return self.text[self._tokens[start].start : self._tokens[self._position - 1].end + 1]

    def properties(self) -> dict[str, str]:
        """Reads properties: ('key' = 'value', ..)."""
        properties = {}
        self.expect("(")
        while True:
            key = self.name("a key")
            self.expect("=")
            properties[key] = self.value("a value")
            if not self.accept(","):
                break
        self.expect(")")
        return properties

    def options(self) -> dict[str, Any]:
        """Reads options: (name = value, ..) with numbers, true, false, and texts."""
        options: dict[str, Any] = {}
        self.expect("(")
        while not self.accept(")"):
            name = self.name("the name of an option").lower()
            self.expect("=")
            text = self.value("a value")
            try:
                options[name] = json.loads(text.lower())
            except ValueError:
                options[name] = text
            if not self.accept(","):
                self.expect(")")
                break
        return options

    def end(self) -> None:
        """Checks that the statement ends here."""
        if not self.is_at_end:
            raise self.surprised("the end")

    def surprised(self, expected: str) -> InvalidArgument:
        if self.is_at_end:
            actual, where = "the end", len(self.text)
        else:
            token = self._tokens[self._position]
            actual, where = repr(self.text[token.start : token.end + 1]), token.start
        return InvalidArgument(
            f"Not SQL: {expected} is expected at column {where + 1}, not {actual}, in: {self.text.strip()[:200]}"
        )

    def _take(self) -> Token:
        if self.is_at_end:
            raise self.surprised("a name")
        self._position += 1
        return self._tokens[self._position - 1]
