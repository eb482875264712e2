"""Vector, full-text and hybrid search at any version. Other folders use these names, `recall` and `search_page`."""

from lance_sql.reads.search.hybrid import HybridQuery as HybridQuery
from lance_sql.reads.search.joining import JoinQuery as JoinQuery, join_query as join_query
from lance_sql.reads.search.queries import (
    Nearest as Nearest,
    SearchOptions as SearchOptions,
    SearchRequest as SearchRequest,
    Words as Words,
    nearest as nearest,
    search_request as search_request,
    words as words,
)
from lance_sql.reads.search.ranking import Ranker as Ranker, Ranking as Ranking
from lance_sql.reads.search.search_rows import SearchRows as SearchRows, search_rows as search_rows
from lance_sql.reads.search.search_scan import RankedScan as RankedScan, SearchScan as SearchScan
from lance_sql.reads.search.text_query import TextQuery as TextQuery, text_query as text_query
from lance_sql.reads.search.vector_query import (
    VectorQuery as VectorQuery,
    is_vector as is_vector,
    vector_column as vector_column,
    vector_query as vector_query,
)
