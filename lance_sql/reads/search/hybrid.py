"""Hybrid search by vectors and by words: the best rows of each side, in one order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.search.ranking import DISTANCE, SCORE, Ranking
from lance_sql.reads.search.text_query import TextQuery
from lance_sql.reads.search.vector_query import VectorQuery
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U64

HYBRID_SCORE: Final = "_hybrid_score"
FUSIONS: Final = ("linear", "rrf")
_RANK_CONSTANT: Final = 60.0

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HybridQuery:
    """Both queries, each with the candidates of its side.

    alpha: weight of the distance, of 1
    fusion: linear, of values normalized to 0..1 among the candidates of a side; or rrf, by the ranks of rows there
    """

    vector: VectorQuery
    text: TextQuery
    k: int
    alpha: float = 0.5
    fusion: str = "linear"
    leading: tuple[pa.Field, ...] = ()
    fields: tuple[pa.Field, ...] = (
        pa.field(DISTANCE, pa.float32()),
        pa.field(SCORE, pa.float32()),
        pa.field(HYBRID_SCORE, pa.float32()),
    )

    def __post_init__(self) -> None:
        if self.fusion not in FUSIONS:
            raise InvalidArgument(f"fusion={self.fusion!r} is neither linear nor rrf")
        if self.vector.is_many:
            raise InvalidArgument("A text query needs a single query vector: pass one vector")

    def rank(self, snapshot: Snapshot, allowed: Predicate | None) -> Ranking:
        """Ranks like `Ranker.rank`."""
        near, alike = self.vector.rank(snapshot, allowed), self.text.rank(snapshot, allowed)
        addresses = np.union1d(near.addresses, alike.addresses)
        distances, scores = (
            _aligned(addresses, side.addresses, side.scores[name].to_numpy())
            for side, name in ((near, DISTANCE), (alike, SCORE))
        )
        if self.fusion == "rrf":
            ranks = [
                _aligned(addresses, side.addresses, 1 / (np.arange(len(side.addresses)) + _RANK_CONSTANT))
                for side in (near, alike)
            ]
            total = np.nansum(ranks, axis=0) if len(addresses) else np.empty(0)
        else:
            alpha = min(max(self.alpha, 0.0), 1.0)
            total = alpha * np.nan_to_num(1 - _normalised(distances)) + (1 - alpha) * np.nan_to_num(_normalised(scores))
        order = np.lexsort((addresses, -total))[: self.k]
        return Ranking(
            addresses[order],
            {
                DISTANCE: pa.array(distances[order], pa.float32(), from_pandas=True),
                SCORE: pa.array(scores[order], pa.float32(), from_pandas=True),
                HYBRID_SCORE: pa.array(total[order], pa.float32()),
            },
            (*near.notes, *alike.notes, f"{len(near.addresses)} rows by vectors, {len(alike.addresses)} by words"),
        )

    def describe(self) -> str:
        """Describes like `Ranker.describe`."""
        return f"{self.k} rows, {self.fusion}, of {self.vector.describe()}, and of {self.text.describe()}"


def _aligned(addresses: U64, of: U64, values: npt.NDArray[np.floating]) -> F64:
    """Returns the values aligned to the rows; NaN for rows without one."""
    aligned = np.full(len(addresses), np.nan)
    aligned[np.searchsorted(addresses, of)] = values
    return aligned


def _normalised(values: F64) -> F64:
    """Scales values from 0 for the smallest to 1 for the greatest; one half if all are equal."""
    numbers = values[~np.isnan(values)]
    if len(numbers) == 0:
        return values
    low, high = numbers.min(), numbers.max()
    if low == high:
        return np.where(np.isnan(values), np.nan, 0.5)
    normalised: F64 = (values - low) / (high - low)
    return normalised
