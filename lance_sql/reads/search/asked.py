"""Search requests of the user, as queries by vectors, by words, or by both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lance_sql.errors import InvalidArgument
from lance_sql.reads.search.hybrid import HybridQuery
from lance_sql.reads.search.text_query import TextQuery, text_query
from lance_sql.reads.search.vector_query import VectorQuery, vector_query
from lance_sql.table.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class Asked:
    """A search request for any version; see `Dataset.search`.

    scans_vectors: compares vectors exactly, without their index
    scans_words: searches words without their index
    """

    vector: Any
    text: str | Mapping[str, Any] | None
    column: str | None
    text_column: str | None
    k: int | None
    metric: str | None
    nprobes: int | None
    refine_factor: int | None
    distance_range: tuple[float | None, float | None] | None
    alpha: float
    oversample_factor: int
    fusion: str
    fast_search: bool = False
    scans_vectors: bool = False
    scans_words: bool = False

    def over(self, snapshot: Snapshot) -> VectorQuery | TextQuery | HybridQuery:
        """Returns the query over a version.

        raises: InvalidArgument for an invalid query; as `vector_query` and `text_query`
        """
        if self.vector is None and self.text is None:
            raise InvalidArgument("Give a vector, text, or both")
        if self.text is None:
            return self._by_vector(snapshot, self.k)
        if self.vector is None:
            return self._by_words(snapshot, self.k)
        for name, value in (("k", self.k), ("oversample_factor", self.oversample_factor)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidArgument(
                    f"{name}={value!r} is not a number of at least 1, which a search by vectors and words needs"
                )
        assert self.k is not None
        candidates = self.k * self.oversample_factor
        by_vector, by_words = self._by_vector(snapshot, candidates), self._by_words(snapshot, candidates)
        return HybridQuery(by_vector, by_words, self.k, alpha=self.alpha, fusion=self.fusion)

    def _by_vector(self, snapshot: Snapshot, k: int | None) -> VectorQuery:
        return vector_query(
            snapshot,
            self.vector,
            self.column,
            k=k,
            metric=self.metric,
            nprobes=self.nprobes,
            refine_factor=self.refine_factor,
            use_index=not self.scans_vectors,
            fast_search=self.fast_search,
            distance_range=self.distance_range,
        )

    def _by_words(self, snapshot: Snapshot, k: int | None) -> TextQuery:
        assert self.text is not None
        return text_query(
            snapshot,
            self.text,
            self.text_column,
            k=k,
            use_index=not self.scans_words,
            fast_search=self.fast_search,
        )
