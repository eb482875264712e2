"""Rows ranked by how near their vectors are, or by their words, at any version."""

from lance_sql.search.ranking import Ranker, Ranking
from lance_sql.search.rows import SearchRows
from lance_sql.search.scan import SearchScan
from lance_sql.search.vector_query import VectorQuery, is_vector, vector_column, vector_query

__all__ = ["Ranker", "Ranking", "SearchRows", "SearchScan", "VectorQuery", "is_vector", "vector_column", "vector_query"]
