"""What a search gives: rows in an order, with numbers that say why.

Evidence only rules rows out; a ranking puts those in order that a filter, the deletions and the version allow.
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
    """Rows, best first.

    addresses: of the rows, u64[n]
    scores: for each of `Ranker.fields` its values, of n rows
    notes: what was used, and what could not be used and why, for `explain`
    """

    addresses: U64
    scores: Mapping[str, pa.Array]
    notes: tuple[str, ...] = ()


class Ranker(Protocol):
    """A query, which puts rows in order. A value: it holds nothing of a version."""

    @property
    def leading(self) -> tuple[pa.Field, ...]:
        """Columns of its own in front of the table's."""
        ...

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """Its numbers, behind the table's columns."""
        ...

    def rank(self, snapshot: Snapshot, allowed: Predicate | None) -> Ranking:
        """The best of the live rows of a version.

        allowed: rows for which this is not true do not take part
        raises: CorruptFile, UnsupportedFeature
        """
        ...

    def describe(self) -> str:
        """The query in one line."""
        ...
