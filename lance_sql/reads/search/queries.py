"""Queries of a search as values, for any version of any table: by vector, by words, or by both.

>>> lance_sql.words("quick fox", column="body")
Words(text='quick fox', column='body', use_index=None, fast_search=False)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, TypedDict

from lance_sql.errors import InvalidArgument
from lance_sql.reads.search.hybrid import HybridQuery
from lance_sql.reads.search.text_query import TextQuery, text_query
from lance_sql.reads.search.vector_query import VectorQuery, vector_query
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.argument_kinds import misfit
from lance_sql.values.keywords import check_keywords, suggests_keywords


@dataclass(frozen=True, eq=False)
class Nearest:
    """A query by vector; see `nearest`."""

    vector: Any
    column: str | None = None
    metric: str | None = None
    nprobes: int | None = None
    refine_factor: int | None = None
    distance_range: tuple[float | None, float | None] | None = None
    use_index: bool | None = None
    fast_search: bool = False

    def over(self, snapshot: Snapshot, k: int | None, *, use_index: bool = True) -> VectorQuery:
        """Returns the query over a version, with its k best rows.

        use_index: unless the query sets it
        raises: InvalidArgument for a query that does not fit the column; ColumnNotFound, UnsupportedFeature
        """
        options = {each.name: getattr(self, each.name) for each in fields(self)[2:]}
        options["use_index"] = use_index if self.use_index is None else self.use_index
        try:
            return vector_query(snapshot, self.vector, self.column, k=k, **options)
        except (TypeError, ValueError, AttributeError):
            _check_kinds(nearest, self)
            raise


@dataclass(frozen=True, eq=False)
class Words:
    """A query by words; see `words`."""

    text: str | Mapping[str, Any]
    column: str | None = None
    use_index: bool | None = None
    fast_search: bool = False

    def over(self, snapshot: Snapshot, k: int | None, *, use_index: bool = True) -> TextQuery:
        """Returns the query over a version; see `Nearest.over`."""
        use_index = use_index if self.use_index is None else self.use_index
        try:
            return text_query(snapshot, self.text, self.column, k=k, use_index=use_index, fast_search=self.fast_search)
        except (TypeError, ValueError, AttributeError):
            _check_kinds(words, self)
            raise


@suggests_keywords
def nearest(
    vector: Any,
    column: str | None = None,
    *,
    metric: str | None = None,
    nprobes: int | None = None,
    refine_factor: int | None = None,
    distance_range: tuple[float | None, float | None] | None = None,
    use_index: bool | None = None,
    fast_search: bool = False,
) -> Nearest:
    """Makes a query by vector for `Dataset.search`, which needs a table to check that it fits.

    vector: numbers, as many as the column's vectors have. A list of vectors runs one query for each, and the result
        begins with `query_index`; for a column with several vectors in a row it is one query
    column: fixed-size lists of float16, float32, float64 or uint8, or lists of them; defaults to the table's only one
    metric: "l2", which is squared, "cosine", as 1 - the cosine, or "dot", as 1 - the product; "hamming" for uint8,
        in bits. Defaults to the metric of the index, or "l2" without an index. Rows with a NULL vector or without a
        distance, such as vectors of zeros for "cosine", are left out. Rows with equal distances are sorted by
        row address
    nprobes: number of index partitions to search; defaults to a rule that `explain` names
    refine_factor: compare this many times k candidates of an index exactly
    distance_range: minimum distance, inclusive, and maximum distance, exclusive
    use_index: if false, compare every row exactly; None for the default of the search
    fast_search: leave out rows that no index covers
    raises: InvalidArgument for text as the vector, and for options of wrong types

    >>> lance_sql.nearest([2.0, 3.0], metric="cosine").metric
    'cosine'
    """
    _check_vector(vector)
    query = Nearest(vector, column, metric, nprobes, refine_factor, distance_range, use_index, fast_search)
    if not isinstance(column, str | None):
        _check_kinds(nearest, query)
    return query


@suggests_keywords
def words(
    text: str | Mapping[str, Any],
    column: str | None = None,
    *,
    use_index: bool | None = None,
    fast_search: bool = False,
) -> Words:
    """Makes a query by words for `Dataset.search`.

    text: words, of which rows contain any, or a query in the form of Lance's servers: `{"match": {"terms": "quick
        fox", "operator": "AND", "fuzziness": 1}}`, phrase, boolean, boost, multi_match
    column: to search if the query does not name it; defaults to the only indexed one, or the only text
    use_index, fast_search: as for `nearest`
    raises: InvalidArgument for values of wrong types
    """
    query = Words(text, column, use_index, fast_search)
    if not isinstance(text, str | Mapping) or not isinstance(column, str | None):
        _check_kinds(words, query)
    return query


def _check_kinds(function: Callable[..., Any], query: Nearest | Words) -> None:
    """
    function: that makes such a query
    raises: InvalidArgument for a value of a wrong type
    """
    wrong = misfit(function, (), vars(query))
    if wrong is not None:
        raise InvalidArgument(wrong)


def _check_vector(vector: Any) -> None:
    if isinstance(vector, str):
        raise InvalidArgument(
            f"{vector!r} is not a vector: to search for words, pass text={vector!r}; to name the column of vectors,"
            f" pass it after the vector, as column={vector!r}"
        )


class SearchOptions(TypedDict, total=False):
    """Keywords of `Dataset.search` instead of `nearest` and `words`, whose parameters have the same names.

    vector, column: of `nearest`; text, text_column: of `words`
    alpha, oversample_factor, fusion: for a search by vectors and words: the weight of the distance, of 1; fetch
        this many times k candidates of each side; "linear" combines normalized distances and scores, "rrf" combines
        ranks
    """

    vector: Any
    text: str | Mapping[str, Any] | None
    column: str | None
    text_column: str | None
    metric: str | None
    nprobes: int | None
    refine_factor: int | None
    use_index: bool
    fast_search: bool
    distance_range: tuple[float | None, float | None] | None
    alpha: float
    oversample_factor: int
    fusion: str


_OF_NEAREST: Final = ("metric", "nprobes", "refine_factor", "distance_range", "use_index", "fast_search")
_OF_WORDS: Final = ("use_index", "fast_search")
_OF_BOTH: Final = ("alpha", "oversample_factor", "fusion")


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """A search by at least one of the queries, for any version.

    use_index: for queries that do not set it
    """

    nearest: Nearest | None
    words: Words | None
    k: int | None = 10
    alpha: float = 0.5
    oversample_factor: int = 4
    fusion: str = "linear"
    use_index: bool = True

    def over(self, snapshot: Snapshot) -> VectorQuery | TextQuery | HybridQuery:
        """Returns the query over a version.

        raises: InvalidArgument for an invalid query; as `vector_query` and `text_query`
        """
        if self.words is None:
            if self.nearest is None:
                raise InvalidArgument("The search has no query: pass a vector, text, or both")
            return self.nearest.over(snapshot, self.k, use_index=self.use_index)
        if self.nearest is None:
            return self.words.over(snapshot, self.k)
        for name, value in (("k", self.k), ("oversample_factor", self.oversample_factor)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidArgument(f"{name}={value!r} is not a number of at least 1, which a hybrid search needs")
        assert self.k is not None
        candidates = self.k * self.oversample_factor
        by_vector = self.nearest.over(snapshot, candidates, use_index=self.use_index)
        return HybridQuery(
            by_vector, self.words.over(snapshot, candidates), self.k, alpha=self.alpha, fusion=self.fusion
        )


def search_request(
    method: str, queries: Sequence[Any], k: int | None, options: SearchOptions, *, use_index: bool = True
) -> SearchRequest:
    """Returns the request of the arguments of `Dataset.search`.

    method: for messages
    queries: of `nearest` and `words`, or a vector
    options: instead of queries, or with them for shared options
    raises: InvalidArgument for two queries of one kind; TypeError for unknown keywords
    """
    check_keywords(method, options, ("k", *SearchOptions.__annotations__))
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    sides: dict[type, Any] = {}
    for query in queries:
        _check_vector(query)
        kind = Words if isinstance(query, Words) else Nearest
        if kind in sides or ("text" if kind is Words else "vector") in given:
            raise InvalidArgument(f"{method} takes one vector and one text, not two of a kind")
        sides[kind] = query
    used = {*_OF_BOTH, "vector", "text"}
    vector, text = sides.get(Nearest, given.get("vector")), sides.get(Words, given.get("text"))
    if vector is not None and not isinstance(vector, Nearest):
        vector = Nearest(vector, given.get("column"), **{name: given[name] for name in _OF_NEAREST if name in given})
        used.update(("column", *_OF_NEAREST))
    if text is not None and not isinstance(text, Words):
        # beside a vector, use_index is about its index
        of_words = _OF_WORDS if vector is None else ("fast_search",)
        text = Words(text, given.get("text_column"), **{name: given[name] for name in of_words if name in given})
        used.update(("text_column", *_OF_WORDS))
    has_values = any(isinstance(query, (Nearest, Words)) for query in queries)
    if has_values and (unused := [name for name in given if name not in used]):
        raise InvalidArgument(f"{method}: pass {', '.join(unused)} to nearest() or words() with the query")
    of_both = {name: given[name] for name in _OF_BOTH if name in given}
    return SearchRequest(vector, text, k, use_index=use_index, **of_both)
