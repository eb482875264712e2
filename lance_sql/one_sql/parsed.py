"""A statement, parsed once."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.dialects import parse
from lance_sql.one_sql.own_words import Words


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement with its tree.

    text: with table functions in place of the clauses of time travel
    """

    text: str
    dialect: Dialect
    tree: exp.Expr

    @classmethod
    def of(cls, text: str, dialect: Dialect) -> Parsed:
        """Parses one statement.

        raises: InvalidArgument for text that is not SQL, for invalid clauses, and for several statements
        """
        rewritten = rewrite(text, dialect)
        trees = parse(rewritten, dialect)
        if len(trees) != 1:
            raise InvalidArgument(f"Cannot run {len(trees)} statements at once: pass one at a time")
        return cls(rewritten, dialect, trees[0])

    def words(self, in_own_words: bool) -> Words | None:
        """Returns the words of the statement for an engine that runs them as typed; None for others."""
        return Words(self.text, self.dialect, self.tree) if in_own_words else None
