"""Searches in SQL: the official extension's names and arguments, plus those of time travel."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lance_sql.errors import InvalidArgument

from .bounds import bound
from .snapshots import open_version
from .table_functions import PLACE, SEARCHES

if TYPE_CHECKING:
    from lance_sql.changes.answers import AnswerChanges
    from lance_sql.dataset import Dataset
    from lance_sql.reads.search import HybridQuery, JoinQuery, Ranker, SearchRows, TextQuery, VectorQuery


def open_search(function: str, path: str, arguments: Mapping[str, Any]) -> SearchRows | AnswerChanges:
    """Runs a search function, and returns its result as a relation.

    function, arguments: of `SEARCHES`; None counts as not given, except for a given `k`
    raises: as `lance_sql.open`, `Dataset.search` and `Dataset.search_changes`
    """
    given = {name: value for name, value in arguments.items() if value is not None or name == "k"}
    dataset = open_version(path, **{name: given.pop(name) for name in PLACE if name in given})
    for name in SEARCHES[function].needed:
        if name not in given:
            raise InvalidArgument(f"{function} needs a {_NEEDED[name]}, not NULL")
    query: Ranker
    match function:
        case "lance_search_changes":
            return _changes(dataset, given)
        case "lance_vector_search":
            query = _by_vector(dataset, given, given.get("k", 10))
        case "lance_fts":
            query = _by_words(dataset, given, given.get("k", 10))
        case "lance_hybrid_search":
            query = _hybrid(dataset, given)
        case _:
            query = _join(dataset, given)
    return _rows(dataset, query, given)


_NEEDED: Final = {
    "vector_column": "column of vectors",
    "vector": "query vector",
    "queries": "table of query vectors, or a list of them",
    "text_column": "column of text",
    "query": "query",
    "since": "version, tag or time since which answers have changed",
}


def _by_vector(dataset: Dataset, given: Mapping[str, Any], k: int | None) -> VectorQuery:
    from lance_sql.reads.search import vector_query

    return vector_query(dataset.snapshot, _vector(given["vector"]), given["vector_column"], k=k, **_of_vectors(given))


def _join(dataset: Dataset, given: Mapping[str, Any]) -> JoinQuery:
    from lance_sql.reads.search import join_query

    queries = given["queries"]
    if isinstance(queries, str):
        queries = _vector(queries) if queries.lstrip().startswith("[") else open_version(queries).snapshot
    elif isinstance(queries, tuple):
        # lists of constants arrive as tuples
        queries = list(queries)
    of_queries = {name: given[name] for name in ("query_column", "query_filter") if name in given}
    options = {**of_queries, **_of_vectors(given)}
    return join_query(dataset.snapshot, queries, given["vector_column"], k=given.get("k", 10), **options)


def _changes(dataset: Dataset, given: Mapping[str, Any]) -> AnswerChanges:
    for one, other in (("vector", "vector_column"), ("query", "text_column")):
        if (one in given) != (other in given):
            raise InvalidArgument(f"lance_search_changes takes {one} and {other} together")
    options = {name: given[name] for name in ("alpha", "oversample_factor", "fusion") if name in given}
    result = dataset.search_changes(
        _vector(given.get("vector")),
        since=bound(given["since"]),
        text=_words(given.get("query")),
        column=given.get("vector_column"),
        text_column=given.get("text_column"),
        k=given.get("k", 10),
        filter=given.get("filter"),
        **_of_vectors(given),
        **options,
    )
    return result.changes


def _by_words(dataset: Dataset, given: Mapping[str, Any], k: int | None) -> TextQuery:
    from lance_sql.reads.search import text_query

    options = {name: given[name] for name in ("use_index", "fast_search") if name in given}
    return text_query(dataset.snapshot, _words(given["query"]), given["text_column"], k=k, **options)


def _words(query: Any) -> Any:
    """Parses a text query: words, or a query object, possibly as JSON."""
    if isinstance(query, str) and query.lstrip().startswith("{"):
        try:
            return json.loads(query)
        except ValueError:
            # words that begin with a brace
            return query
    return query


def _hybrid(dataset: Dataset, given: Mapping[str, Any]) -> HybridQuery:
    from lance_sql.reads.search import HybridQuery

    k, factor = given.get("k", 10), given.get("oversample_factor", 4)
    for name, value in (("k", k), ("oversample_factor", factor)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidArgument(f"{name}={value!r} is not a number of at least 1")
    options = {name: given[name] for name in ("alpha", "fusion") if name in given}
    return HybridQuery(_by_vector(dataset, given, k * factor), _by_words(dataset, given, k * factor), k, **options)


def _of_vectors(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of `vector_query`."""
    if "nprobs" in given and "nprobes" in given:
        raise InvalidArgument("nprobs and nprobes are one argument: give it once")
    options = {name: given[name] for name in ("metric", "refine_factor", "use_index", "fast_search") if name in given}
    # the official extension's spelling
    nprobes = given.get("nprobs", given.get("nprobes"))
    return options if nprobes is None else {**options, "nprobes": nprobes}


def _rows(dataset: Dataset, query: Ranker, given: Mapping[str, Any]) -> SearchRows:
    return dataset.search_rows(
        query, given.get("filter"), since=bound(given.get("since")), prefilter=bool(given.get("prefilter"))
    )


def _vector(given: Any) -> Any:
    """Parses a vector, possibly as JSON."""
    if isinstance(given, str):
        try:
            return json.loads(given)
        except ValueError:
            raise InvalidArgument(f"The query vector {given[:50]!r} is no list of numbers") from None
    return list(given) if isinstance(given, Sequence) else given
