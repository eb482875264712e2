"""The table functions of searches, and their arguments: the official extension's names, and those of time travel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
    "lance_fts": ("text_column", "query", *_COMMON, "use_index", "fast_search"),
    "lance_hybrid_search": (
        "vector_column",
        "vector",
        "text_column",
        "query",
        *_COMMON,
        "alpha",
        "oversample_factor",
        "fusion",
        *_VECTOR,
    ),
    "lance_vector_join": ("vector_column", "queries", *_COMMON, "query_column", "query_filter", *_VECTOR),
    "lance_search_changes": (
        "since",
        "vector_column",
        "vector",
        "text_column",
        "query",
        "k",
        "filter",
        *PLACE,
        "alpha",
        "oversample_factor",
        "fusion",
        "metric",
        "nprobs",
        "nprobes",
        "refine_factor",
        "use_index",
    ),
}
"""The table functions, and the names of their arguments after the path."""

NUM_NEEDED: Final[Mapping[str, int]] = {
    "lance_vector_search": 2,
    "lance_fts": 2,
    "lance_hybrid_search": 4,
    "lance_vector_join": 2,
    "lance_search_changes": 1,
}
"""How many of them have to be given."""
