"""Everyday queries as SQL files with parameters: changes since a version, late updates, duplicates, dead rows.

-- How many rows each commit changed, after a version, tag or time.
-- :since (version) after which the changes begin
-- :limit (number) = 100 at most this many rows
SELECT .. FROM lance_changes(:table, since => :since) LIMIT :limit

The first line describes the query. The next lines are its parameters: a name, a kind, and an optional default.
`:table` is the path of the table. The dialect is DuckDB's; `lance_sql.sql(.., dialect="duckdb")` runs them in every
engine.
"""

from lance_sql.one_sql.recipes.queries import EverydayQuery, Parameter, everyday_queries, everyday_query

__all__ = ["EverydayQuery", "Parameter", "everyday_queries", "everyday_query"]
