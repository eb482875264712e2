"""Joins by vectors: each row of a table of vectors, or of a list, with its nearest rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.filters import to_predicate
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.search.ranking import DISTANCE, QUERY_INDEX, Ranking
from lance_sql.reads.search.vector_query import MOST_QUERIES, VectorQuery, vector_column, vector_query
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U64

QUERY_ROW_ID: Final = "_query_rowid"


@dataclass(frozen=True)
class JoinQuery:
    """Nearest rows of each of many vectors.

    row_ids: of the rows with the vectors, u64[queries]; None for a list
    """

    query: VectorQuery
    row_ids: U64 | None = None
    leading: tuple[pa.Field, ...] = field(init=False)
    fields: tuple[pa.Field, ...] = (pa.field(DISTANCE, pa.float32()),)

    def __post_init__(self) -> None:
        ids = () if self.row_ids is None else (pa.field(QUERY_ROW_ID, pa.uint64(), nullable=False),)
        object.__setattr__(self, "leading", (pa.field(QUERY_INDEX, pa.int32(), nullable=False), *ids))

    def rank(self, snapshot: Snapshot, allowed: Predicate | None) -> Ranking:
        """Ranks like `Ranker.rank`."""
        ranking = self.query.rank(snapshot, allowed)
        if self.row_ids is None:
            return ranking
        ids = pa.array(self.row_ids).take(ranking.scores[QUERY_INDEX])
        return Ranking(ranking.addresses, {**ranking.scores, QUERY_ROW_ID: ids}, ranking.notes)

    def describe(self) -> str:
        """Describes like `Ranker.describe`."""
        return self.query.describe()


def join_query(
    snapshot: Snapshot,
    queries: Snapshot | Sequence[Sequence[float]],
    column: str | None = None,
    *,
    query_column: str | None = None,
    query_filter: str | None = None,
    k: int | None = 10,
    **options: Any,
) -> JoinQuery:
    """Returns the queries from a table, or from a list of vectors.

    queries: a version of a table, whose rows with a NULL vector are skipped, others are numbered in its order
    query_column: of that table; its only column of vectors without it
    query_filter: uses only these rows of it
    k: rows of each query
    options: of `vector_query`
    raises: InvalidArgument for invalid queries; as `vector_query` and `Dataset.scan`
    """
    if k is None:
        raise InvalidArgument("A join needs k: pass the number of rows for each query")
    if isinstance(queries, Snapshot):
        vectors, row_ids = _read(queries, query_column, query_filter)
    else:
        if query_column is not None or query_filter is not None:
            raise InvalidArgument("query_column and query_filter need a table of queries: leave them out")
        if not queries or not all(isinstance(each, Sequence) and not isinstance(each, str) for each in queries):
            raise InvalidArgument("queries must be the path of a table, or a list of vectors")
        vectors, row_ids = queries, None
    query = vector_query(snapshot, vectors, column, k=k, **options)
    if not query.is_many:
        raise InvalidArgument(
            f"Column {query.column.name!r} has several vectors per row, which a join does not support"
        )
    return JoinQuery(query, row_ids)


def _read(queries: Snapshot, column: str | None, filter: str | None) -> tuple[Any, U64]:
    """Returns the vectors [n, d] of a table, and the ids of their rows."""
    chosen = resolve(queries, [vector_column(queries) if column is None else column, system_columns.ROW_ID])
    type = chosen[0].arrow.type
    if not pa.types.is_fixed_size_list(type):
        raise InvalidArgument(f"{queries.label}: column {chosen[0].name!r} is {type}, not a vector")
    parts, count = [], 0
    for batch in Scan(queries, chosen, to_predicate(queries, filter), None, None).to_reader():
        batch = batch.filter(batch.column(0).is_valid())
        parts.append(batch)
        count += batch.num_rows
        if count > MOST_QUERIES:
            raise InvalidArgument(
                f"{queries.label} has more than {MOST_QUERIES:,} queries: limit them with query_filter"
            )
    if not count:
        raise InvalidArgument(f"{queries.label} has no vectors to use as queries")
    table = pa.Table.from_batches(parts)
    values = pc.list_flatten(table.column(0)).cast(pa.float64())
    if values.null_count:
        raise InvalidArgument(f"{queries.label}: column {chosen[0].name!r} has vectors with NULLs")
    vectors = values.to_numpy().reshape(count, type.list_size)
    return vectors, table.column(1).to_numpy()
