"""Queries for every day, as files of SQL with parameters: what changed since, late updates, duplicates, dead rows.

-- How many rows each commit changed, after a version, tag or time.
-- :since (version) after which the changes begin
-- :limit (number) = 100 at most so many rows
SELECT .. FROM lance_changes(:table, since => :since) LIMIT :limit

The first line says what the query is for, those after it are its parameters: a name, a kind, and a value that it has
where none is given. `:table` is the path of the table. The dialect is DuckDB's; `lance_sql.sql(.., dialect="duckdb")`
runs them in every engine.
"""

from lance_sql.one_sql.recipes.queries import EverydayQuery, Parameter, everyday_queries, everyday_query

__all__ = ["EverydayQuery", "Parameter", "everyday_queries", "everyday_query"]
