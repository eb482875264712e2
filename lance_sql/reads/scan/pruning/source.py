"""What a source of evidence is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.values.row_ranges import RowRanges


@dataclass(frozen=True)
class Evidence:
    """What a source has left of the rows.

    source: its name
    candidates: the rows that it does not rule out
    notes: what it used, and what it could not use, for `Scan.explain`
    passing: rows of which it knows that the whole predicate is true, those of deleted rows among them, as numbers with
        the fragment's index above the offset (`known_rows`); they need not be candidates
    """

    source: str
    candidates: Candidates
    notes: tuple[str, ...] = ()
    passing: RowRanges | None = None


class Source(Protocol):
    """Something that knows of rows, without reading their values, whether a filter is true for them."""

    @property
    def name(self) -> str:
        """How `Scan.explain` calls it."""
        ...

    def narrow(self, candidates: Candidates, predicate: Predicate) -> Evidence | None:
        """Those rows of which it does not know that the predicate is false or unknown; None where it knows nothing.

        raises: CorruptFile, UnsupportedFeature for damage of what the rows themselves are made of
        """
        ...
