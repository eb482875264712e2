"""One SQL for every engine: `sql` runs a statement over Lance tables in DuckDB, DataFusion or Spark.

    clauses         `orders.lance@41` and CHANGES FROM VERSION, which no dialect has, become what every dialect parses
    references      the tables of a statement, and what their arguments mean
    translation     the statement with plain names in the places of its tables, in the engine's dialect
    query_rows      what a query gives
    running         the function of users: parse, open, translate, hand over to the engine's provider

No engine is imported before a statement is run in it.
"""

from lance_sql.one_sql.running import sql

__all__ = ["sql"]
