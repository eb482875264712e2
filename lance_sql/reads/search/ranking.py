"""Search results: ranked rows with scores.

Evidence only prunes rows; a ranking orders the rows that a filter, the deletions and the version allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from lance_sql.reads.scan.predicates import Predicate
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U64

DISTANCE: Final = "_distance"
SCORE: Final = "_score"
QUERY_INDEX: Final = "query_index"


@dataclass(frozen=True)
class Ranking:
    """Ranked rows, best first.

    addresses: of the rows, u64[n]
    scores: the values of each of `Ranker.fields`, of n rows
    notes: used and unusable parts, with the reasons, for `explain`
    """

    addresses: U64
    scores: Mapping[str, pa.Array]
    notes: tuple[str, ...] = ()


class Ranker(Protocol):
    """A query that ranks rows. It is a value, independent of any version."""

    @property
    def leading(self) -> tuple[pa.Field, ...]:
        """Own columns before those of the table."""
        ...

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """Score columns, after those of the table."""
        ...

    def rank(self, snapshot: Snapshot, allowed: Predicate | None) -> Ranking:
        """Returns the best of the live rows of a version.

        allowed: excludes rows for which this is not true
        raises: CorruptFile, UnsupportedFeature
        """
        ...

    def describe(self) -> str:
        """Describes the query in one line."""
        ...
