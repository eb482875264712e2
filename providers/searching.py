"""Searches in SQL: the official extension's names and arguments, plus those of time travel."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lance_sql.changes.bounds import first_after
from lance_sql.errors import InvalidArgument

from .bounds import bound
from .snapshots import open_version
from .table_functions import OF_BOTH, PLACE, SEARCHES

if TYPE_CHECKING:
    from lance_sql.changes.answers import AnswerChanges
    from lance_sql.dataset import Dataset
    from lance_sql.reads.search import JoinQuery, Ranker, SearchRequest, SearchRows


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
    if function == "lance_vector_join":
        return _rows(dataset, _join(dataset, given), given)
    request = _request(given)
    if function == "lance_search_changes":
        queries = [query for query in (request.nearest, request.words) if query is not None]
        of_both = {name: given[name] for name in OF_BOTH if name in given}
        since, where = bound(given["since"]), given.get("filter")
        return dataset.search_changes(*queries, since=since, k=request.k, filter=where, **of_both).changes
    return _rows(dataset, request.over(dataset.snapshot), given)


_NEEDED: Final = {
    "vector_column": "column of vectors",
    "vector": "query vector",
    "queries": "table of query vectors, or a list of them",
    "text_column": "column of text",
    "query": "query",
    "since": "version, tag or time since which answers have changed",
}


def _request(given: Mapping[str, Any]) -> SearchRequest:
    """Returns the search by the vector and the words given."""
    from lance_sql.reads.search import Nearest, SearchRequest, Words

    for one, other in (("vector", "vector_column"), ("query", "text_column")):
        if (one in given) != (other in given):
            raise InvalidArgument(f"lance_search_changes needs both {one} and {other}: pass both")
    vector = words = None
    if "vector" in given:
        vector = Nearest(_vector(given["vector"]), given["vector_column"], **_of_vectors(given))
    if "query" in given:
        # beside a vector, use_index is about its index, as in the official extension
        of_words = ("use_index", "fast_search") if vector is None else ("fast_search",)
        options = {name: given[name] for name in of_words if name in given}
        words = Words(_words(given["query"]), given["text_column"], **options)
    return SearchRequest(vector, words, **{name: given[name] for name in ("k", *OF_BOTH) if name in given})


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


def _words(query: Any) -> Any:
    """Parses a text query: words, or a query object, possibly as JSON."""
    if isinstance(query, str) and query.lstrip().startswith("{"):
        try:
            return json.loads(query)
        except ValueError:
            # words that begin with a brace
            return query
    return query


def _of_vectors(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of `Nearest`, which are those of `join_query`."""
    if "nprobs" in given and "nprobes" in given:
        raise InvalidArgument("nprobs and nprobes are one argument: pass it once")
    options = {name: given[name] for name in ("metric", "refine_factor", "use_index", "fast_search") if name in given}
    # the official extension's spelling
    nprobes = given.get("nprobs", given.get("nprobes"))
    return options if nprobes is None else {**options, "nprobes": nprobes}


def _rows(dataset: Dataset, query: Ranker, given: Mapping[str, Any]) -> SearchRows:
    from lance_sql.reads.search import search_rows

    since = bound(given.get("since"))
    first = None if since is None else first_after(dataset.snapshot, since)
    prefilter = bool(given.get("prefilter"))
    return search_rows(dataset.snapshot, query, given.get("filter"), updated_from=first, prefilter=prefilter)


def _vector(given: Any) -> Any:
    """Parses a vector, possibly as JSON."""
    if isinstance(given, str):
        try:
            return json.loads(given)
        except ValueError:
            raise InvalidArgument(f"The query vector {given[:50]!r} is not a list of numbers") from None
    return list(given) if isinstance(given, Sequence) else given
