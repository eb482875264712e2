"""A small engine: SQLite over the rows that a query needs, added by the steps of docs/architecture.md."""
