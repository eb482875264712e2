"""Searches as SQL asks for them: the official extension's names and arguments, and those of time travel."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lance_sql.errors import InvalidArgument
from lance_sql.search import SearchRows, vector_query

from .changes import bound
from .snapshots import open_version

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset

PLACE: Final = ("version", "tag", "branch", "as_of")
_COMMON: Final = ("k", "filter", "prefilter", *PLACE, "since")
_VECTOR: Final = (
    "metric",
    "nprobs",
    "nprobes",
    "refine_factor",
    "use_index",
    "fast_search",
    "ef",
    "explain_verbose",
)

SEARCHES: Final[Mapping[str, tuple[str, ...]]] = {
    "lance_vector_search": ("vector_column", "vector", *_COMMON, *_VECTOR),
}
"""The table functions, and the names of their arguments after the path."""


def open_search(function: str, path: str, arguments: Mapping[str, Any]) -> SearchRows:
    """What a search finds.

    function, arguments: of `SEARCHES`; those that are None count as not given, but a `k` that is there
    raises: as `lance_sql.open` and `Dataset.search`
    """
    given = {name: value for name, value in arguments.items() if value is not None or name == "k"}
    dataset = open_version(path, **{name: given.pop(name) for name in PLACE if name in given})
    return _OPEN[function](dataset, given)


def _vector_search(dataset: Dataset, given: dict[str, Any]) -> SearchRows:
    for name, what in (("vector_column", "column of vectors"), ("vector", "query vector")):
        if name not in given:
            raise InvalidArgument(f"lance_vector_search needs a {what}, not NULL")
    query = vector_query(
        dataset.snapshot,
        _vector(given["vector"]),
        given["vector_column"],
        k=given.get("k", 10),
        **_of_vectors(given),
    )
    return _rows(dataset, query, given)


def _of_vectors(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `vector_query`."""
    if "nprobs" in given and "nprobes" in given:
        raise InvalidArgument("nprobs and nprobes are one argument: give it once")
    options = {name: given[name] for name in ("metric", "refine_factor", "use_index", "fast_search") if name in given}
    # the official extension spells it so
    nprobes = given.get("nprobs", given.get("nprobes"))
    return options if nprobes is None else {**options, "nprobes": nprobes}


def _rows(dataset: Dataset, query: Any, given: Mapping[str, Any]) -> SearchRows:
    return dataset.search_rows(
        query, given.get("filter"), since=bound(given.get("since")), prefilter=bool(given.get("prefilter"))
    )


def _vector(given: Any) -> Any:
    """A vector that may have come as JSON."""
    if isinstance(given, str):
        try:
            return json.loads(given)
        except ValueError:
            raise InvalidArgument(f"The query vector {given[:50]!r} is no list of numbers") from None
    return list(given) if isinstance(given, Sequence) else given


_OPEN: Final = {"lance_vector_search": _vector_search}
