"""Vector, full-text and hybrid search at any version."""

from lance_sql.reads.search.hybrid import HybridQuery
from lance_sql.reads.search.joining import JoinQuery, join_query
from lance_sql.reads.search.queries import Nearest, SearchOptions, SearchRequest, Words, search_request
from lance_sql.reads.search.ranking import Ranker, Ranking
from lance_sql.reads.search.search_rows import SearchRows
from lance_sql.reads.search.search_scan import SearchScan
from lance_sql.reads.search.text_query import TextQuery, text_query
from lance_sql.reads.search.vector_query import VectorQuery, is_vector, vector_column, vector_query

__all__ = [
    "HybridQuery",
    "JoinQuery",
    "Nearest",
    "Ranker",
    "Ranking",
    "SearchOptions",
    "SearchRequest",
    "SearchRows",
    "SearchScan",
    "TextQuery",
    "VectorQuery",
    "Words",
    "is_vector",
    "join_query",
    "search_request",
    "text_query",
    "vector_column",
    "vector_query",
]
