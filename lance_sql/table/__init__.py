"""One version of a table: which files belong to it, which rows are deleted, and which ids the rows have."""
