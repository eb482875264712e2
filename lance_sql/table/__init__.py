"""One version of a table: its files, its deleted rows and the ids of its rows."""
