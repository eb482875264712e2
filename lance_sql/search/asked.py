"""What a user asks for, as a query: by vectors, by words, or by both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lance_sql.errors import InvalidArgument
from lance_sql.search.hybrid import HybridQuery
from lance_sql.search.text_query import TextQuery, text_query
from lance_sql.search.vector_query import VectorQuery, vector_query
from lance_sql.table.snapshot import Snapshot


def asked_query(
    snapshot: Snapshot,
    vector: Any = None,
    text: str | Mapping[str, Any] | None = None,
    *,
    column: str | None = None,
    text_column: str | None = None,
    k: int | None = 10,
    of_vectors: Mapping[str, Any] | None = None,
    of_words: Mapping[str, Any] | None = None,
    oversample_factor: int = 4,
    of_both: Mapping[str, Any] | None = None,
) -> VectorQuery | TextQuery | HybridQuery:
    """A query over a version.

    of_vectors, of_words, of_both: further arguments of `vector_query`, of `text_query` and of `HybridQuery`
    oversample_factor: so many times k candidates of each side, where there are both
    raises: InvalidArgument for a query that makes no sense; as `vector_query` and `text_query`
    """
    if vector is None and text is None:
        raise InvalidArgument("Give a vector, text, or both")
    candidates = k
    if vector is not None and text is not None:
        for name, value in (("k", k), ("oversample_factor", oversample_factor)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidArgument(
                    f"{name}={value!r} is not a number of at least 1, which a search by vectors and words needs"
                )
        assert k is not None
        candidates = k * oversample_factor
    by_vector, by_words = None, None
    if vector is not None:
        by_vector = vector_query(snapshot, vector, column, k=candidates, **(of_vectors or {}))
    if text is not None:
        by_words = text_query(snapshot, text, text_column, k=candidates, **(of_words or {}))
    if by_vector is not None and by_words is not None:
        assert k is not None
        return HybridQuery(by_vector, by_words, k, **(of_both or {}))
    found = by_vector or by_words
    assert found is not None
    return found
