"""Nearest rows of a version, by an index or exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.search import exact, indexed
from lance_sql.reads.search.ranking import DISTANCE, QUERY_INDEX, Ranking
from lance_sql.reads.search.vector_segments import NO_INDEX, ColumnIndex, column_index
from lance_sql.table.snapshot import Snapshot

if TYPE_CHECKING:
    from lance_sql.reads.search.vector_query import VectorQuery


def rank(query: VectorQuery, snapshot: Snapshot, allowed: Predicate | None) -> Ranking:
    """Returns the nearest rows; see `Ranker.rank`."""
    index = column_index(snapshot, query) if query.metric is None or _may_use(query, snapshot) else NO_INDEX
    metric = query.metric or index.metric or query.default_metric
    if index.segments and metric == index.metric and _may_use(query, snapshot):
        answer = indexed.search(query, snapshot, allowed, index, metric)
        if answer is not None:
            return ranking(query, answer[0], (*answer[1], *index.notes))
        index = replace(index, notes=(*index.notes, f"index {index.name}: it has a row twice, and is not used"))
    nearest = exact.new_nearest(query, query.k)
    exact.search(query, snapshot, allowed, metric, nearest)
    return ranking(
        query, nearest, (f"{metric}, every row that may be in the result is compared", *_why(query, index, metric))
    )


def _may_use(query: VectorQuery, snapshot: Snapshot) -> bool:
    """Whether an index may be searched: it does not help if all rows are wanted."""
    return query.use_index and snapshot.use_indices and query.k is not None


def _why(query: VectorQuery, index: ColumnIndex, metric: str) -> tuple[str, ...]:
    """Returns the reason why an existing index was not used."""
    if index.segments and index.metric != metric:
        return (f"index {index.name}: its metric is {index.metric}",)
    return index.notes if query.use_index else ()


def ranking(query: VectorQuery, nearest: _kernels.NearestRows, notes: tuple[str, ...]) -> Ranking:
    """Returns the collected rows, whose numbers are addresses."""
    rows, distances, numbers = [], [], []
    for number in range(query.num_queries):
        addresses, far = indexed.result(nearest, number)
        rows.append(addresses)
        distances.append(far)
        numbers.append(np.full(len(addresses), number, np.int32))
    scores = {DISTANCE: pa.array(np.concatenate(distances))}
    if query.is_many:
        scores[QUERY_INDEX] = pa.array(np.concatenate(numbers))
    return Ranking(np.concatenate(rows), scores, notes)
