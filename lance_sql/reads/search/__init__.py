"""Vector, full-text and hybrid search at any version."""

from lance_sql.reads.search.asked import Asked
from lance_sql.reads.search.hybrid import HybridQuery
from lance_sql.reads.search.joining import JoinQuery, join_query
from lance_sql.reads.search.ranking import Ranker, Ranking
from lance_sql.reads.search.search_rows import SearchRows
from lance_sql.reads.search.search_scan import SearchScan
from lance_sql.reads.search.text_query import TextQuery, text_query
from lance_sql.reads.search.vector_query import VectorQuery, is_vector, vector_column, vector_query

__all__ = [
    "Asked",
    "HybridQuery",
    "JoinQuery",
    "Ranker",
    "Ranking",
    "SearchRows",
    "SearchScan",
    "TextQuery",
    "VectorQuery",
    "is_vector",
    "join_query",
    "text_query",
    "vector_column",
    "vector_query",
]
