"""One SQL for every engine: `sql` runs a statement over Lance tables in DuckDB, DataFusion or Spark.

    clauses         `orders.lance@41` and CHANGES FROM VERSION, which no dialect has, become what every dialect parses
    references      the tables of a statement, and what their arguments mean
    translation     the statement with plain names in the places of its tables, in the engine's dialect
    query_rows      the rows of a query
    running         `sql`: parse, open, translate, hand over to the engine's provider
    connections     DuckDB connections that also run these statements; importing it imports none of the above

No engine is imported before a statement is run in it.
"""
