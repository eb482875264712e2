"""Interface of the sources of evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.values.row_ranges import RowRanges


@dataclass(frozen=True)
class Evidence:
    """Result of a source for the candidate rows.

    source: name of the source
    candidates: the rows that it does not prune
    notes: used and unusable parts, for `Scan.explain`
    passing: rows for which the whole predicate is known to be true, including deleted ones, as numbers with the
        fragment's index above the offset (`known_rows`); they need not be candidates
    """

    source: str
    candidates: Candidates
    notes: tuple[str, ...] = ()
    passing: RowRanges | None = None


class PruningSource(Protocol):
    """A source of evidence about a filter that does not read the values of rows."""

    @property
    def name(self) -> str:
        """Name in `Scan.explain`."""
        ...

    def narrow(self, candidates: Candidates, predicate: Predicate) -> Evidence | None:
        """Returns the rows for which the predicate is not known to be false or unknown; None if nothing is known.

        raises: CorruptFile, UnsupportedFeature for damage of the data itself
        """
        ...
