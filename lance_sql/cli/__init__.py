"""The command `lance-sql`: queries, metadata and changes of tables, in a terminal or a pipe.

Results go to stdout, everything else to stderr. Exit codes: 0 ok, 1 damage or differences were found, 2 wrong usage,
3 a table cannot be read or changed, 4 only old versions are damaged, 130 interrupted, 143 terminated.
"""

from lance_sql.cli.main import main

__all__ = ["main"]
