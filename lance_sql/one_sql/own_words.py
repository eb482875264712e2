"""Parts of a statement as the user typed them, for the engine of their dialect.

Printing a parsed statement changes functions: `a ~ 'b'` becomes another test, and a macro named `len` is not called. So
the parts that an engine computes stay text, in which only Lance tables are replaced by names. The tree determines the
parts; the tokens determine their positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect

from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.clauses import TIME_TYPES
from lance_sql.one_sql.dialects import tokenize
from lance_sql.one_sql.references import WITH_SYSTEM_COLUMNS, references
from lance_sql.one_sql.text_edits import Edit, own_words
from lance_sql.values.typed_sql import OwnQuery, OwnWords, shown

_OPENING: Final = ("(", "[", "{")
_CLOSING: Final = (")", "]", "}")


class Words:
    """Words of one statement.

    text, dialect: of the statement
    tree: of the same text; without it, tables are not searched
    """

    def __init__(self, text: str, dialect: Dialect, tree: exp.Expr | None) -> None:
        tokens = tokenize(text, dialect)
        while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
            tokens.pop()
        self.text = text
        self.tokens = tokens
        # quoted texts are no keywords
        self._words = [text[token.start : token.end + 1].upper() for token in tokens]
        self._levels = list(_levels(self._words))
        self._tables = [] if tree is None else list(self._spans(tree))

    def __len__(self) -> int:
        return len(self.tokens)

    def piece(
        self,
        first: int,
        end: int,
        tree: exp.Expr | None = None,
        kind: type[OwnWords] = OwnWords,
        columns: Iterable[exp.Column] = (),
    ) -> OwnWords:
        """Returns the words from one token to another one, exclusive.

        tree: their parsed tree, attached for later use
        columns: columns among the words that become nodes, so that they can be qualified
        raises: InvalidArgument if the range is empty
        """
        if not first < end <= len(self.tokens):
            raise InvalidArgument("Not SQL: an expression is missing")
        start, stop = self.tokens[first].start, self.tokens[end - 1].end + 1
        named = [Edit(column.this.meta["start"], column.this.meta["end"] + 1, column) for column in columns]
        words = own_words(self.text, [*self._tables, *named], start, stop, kind)
        words.meta["tree"] = tree
        return words

    def all(self, tree: exp.Expr) -> OwnWords:
        """Returns the whole statement, which is a query."""
        return self.piece(0, len(self.tokens), tree, OwnQuery)

    def word(self, position: int) -> str:
        """Returns a token as typed, in upper case; "" after the last."""
        return self._words[position] if position < len(self._words) else ""

    def find(self, words: Sequence[str], start: int, end: int | None = None) -> int:
        """Returns the first of some keywords outside all parentheses and CASE; the end if there is none."""
        end = len(self.tokens) if end is None else end
        level = self._levels[start] if start < len(self.tokens) else 0
        for position in range(start, end):
            if self._levels[position] == level and self._words[position] in words and self._is_keyword(position):
                return position
        return end

    def closing(self, opening: int) -> int:
        """Returns the parenthesis that closes another one."""
        level = self._levels[opening]
        for position in range(opening + 1, len(self.tokens)):
            if self._levels[position] == level and self._words[position] in _CLOSING:
                return position
        raise InvalidArgument("Not SQL: a parenthesis is not closed")

    def split(self, first: int, end: int) -> list[tuple[int, int]]:
        """Splits a range of tokens at commas."""
        parts = []
        while first < end:
            comma = self.find((",",), first, end)
            parts.append((first, comma))
            first = comma + 1
        return parts

    def position_behind(self, table: exp.Expr | None) -> int:
        """Returns the token after the name of the table that a statement writes to."""
        parts = table.parts if isinstance(table, exp.Table) else []
        last = max((part.meta.get("end", -1) for part in parts), default=-1)
        return sum(token.end <= last for token in self.tokens)

    def _is_keyword(self, position: int) -> bool:
        # IS DISTINCT FROM begins no clause, and a name after a dot is a column
        before = self._words[position - 1] if position else ""
        return not (self._words[position] == "FROM" and before == "DISTINCT") and before != "."

    def _spans(self, tree: exp.Expr) -> Iterator[Edit]:
        """Yields the position of each Lance table, and its node. The node has the alias only if it is between the table
        and its version; otherwise the alias is among the words."""
        for table, table_reference in references(tree):
            start, end, alias = self.span(table)
            node = exp.Table(
                **{key: table.args.get(key) for key in ("this", "db", "catalog", "version", "when")}
            ).copy()
            if alias is not None:
                node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
            node.meta["is_named"] = bool(table.alias)
            node.meta["beside"] = names_beside(table)
            node.meta[WITH_SYSTEM_COLUMNS] = table_reference.function == "lance_scan"
            yield Edit(start, end, node)

    def span(self, table: exp.Table) -> tuple[int, int, str | None]:
        """Returns the range of a table and its version in the text; and its alias, if that is between the two."""
        names = [part.this if isinstance(part, exp.Func) and not part.meta else part for part in table.parts]
        starts = [name.meta["start"] for name in names if isinstance(name, exp.Expr) and "start" in name.meta]
        if len(starts) < len(names):
            raise InvalidArgument(f"Not SQL: {shown(table)} is not in the place of a table")
        last = max(name.meta["end"] for name in names)
        position = sum(token.end < last for token in self.tokens)
        if isinstance(table.this, exp.Func):
            position = self.closing(position + 1)
        end = self._behind_version(table, position + 1)
        alias = table.args["alias"].this if table.alias else None
        is_inside = (
            alias is not None and alias.meta.get("start", end) < self.tokens[end - 1].start and end > position + 1
        )
        return min(starts), self.tokens[end - 1].end + 1, alias.name if is_inside and alias is not None else None

    def _behind_version(self, table: exp.Table, position: int) -> int:
        """Returns the end of AT (VERSION => 3) or VERSION AS OF 3, if there is one."""
        if table.args.get("when"):
            while self.word(position) != "AT":
                position += 1
            return self.closing(position + 1) + 1
        if not table.args.get("version"):
            return position
        while self.word(position) not in ("OF", ""):
            position += 1
        position += 1
        if self.word(position) in ("-", "CAST", "DATE", *TIME_TYPES):
            position += 1
        if self.word(position) in ("WITH", "WITHOUT"):
            # TIME ZONE
            position += 3
        position = self.closing(position) if self.word(position) == "(" else position
        while self.word(position + 1) == "::":
            position += 2
        return position + 1


def _levels(words: Sequence[str]) -> Iterator[int]:
    """Yields the nesting depth of each word in parentheses and CASE; opening and closing words are outside."""
    level = 0
    before = ""
    for word in words:
        opens = word in _OPENING or (word == "CASE" and before != ".")
        closes = word in _CLOSING or (word == "END" and before != ".")
        level -= closes
        yield level
        level += opens
        before = word


def names_beside(table: exp.Table) -> frozenset[str]:
    """Returns the names of the other tables of the same FROM."""
    scope = table.find_ancestor(exp.Select, exp.Update, exp.Delete, exp.Merge)
    if scope is None:
        return frozenset()
    kinds = (exp.Select, exp.Update, exp.Delete, exp.Merge)
    tables = (each for each in scope.find_all(exp.Table) if each.find_ancestor(*kinds) is scope)
    return frozenset((each.alias or each.name).lower() for each in tables if each is not table)
