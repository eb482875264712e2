"""The nearest rows of a version: by the best way that there is to find them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.scan.predicates import Predicate
from lance_sql.search import exact
from lance_sql.search.ranking import DISTANCE, QUERY_INDEX, Ranking
from lance_sql.table.snapshot import Snapshot

if TYPE_CHECKING:
    from lance_sql.search.vector_query import VectorQuery


def rank(query: VectorQuery, snapshot: Snapshot, allowed: Predicate | None) -> Ranking:
    """The nearest rows; see `Ranker.rank`."""
    metric = query.metric or query.default_metric
    nearest = exact.new_nearest(query, query.k)
    exact.search(query, snapshot, allowed, metric, nearest)
    return ranking(query, nearest, (f"{metric}, every row that may be in the result is compared",))


def ranking(query: VectorQuery, nearest: _kernels.NearestRows, notes: tuple[str, ...]) -> Ranking:
    """The rows that were shown, whose numbers are addresses."""
    rows, distances, numbers = [], [], []
    for number in range(query.num_queries):
        count = nearest.count(number)
        found, far = np.empty(count, np.uint64), np.empty(count, np.float32)
        nearest.result(number, found, far)
        rows.append(found)
        distances.append(far)
        numbers.append(np.full(count, number, np.int32))
    scores = {DISTANCE: pa.array(np.concatenate(distances))}
    if query.is_many:
        scores[QUERY_INDEX] = pa.array(np.concatenate(numbers))
    return Ranking(np.concatenate(rows), scores, notes)
