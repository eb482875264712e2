"""One SQL for every engine: `sql` runs a statement over Lance tables in DuckDB, DataFusion or Spark.

    clauses         rewrites `orders.lance@41` and CHANGES FROM VERSION to syntax that every dialect parses
    references      the tables of a statement, and their arguments
    translation     the statement in the engine's dialect, with plain names for its tables
    query_rows      the rows of a query
    running         `sql`: parse, open, translate, pass to the engine's provider
    connections     DuckDB connections that also run these statements; importing it imports none of the above

An engine is imported when the first statement runs in it.
"""
