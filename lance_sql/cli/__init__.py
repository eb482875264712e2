"""The command `lance-sql`: queries and the insides of tables, in a terminal or a pipe.

Results go to stdout, everything else to stderr. Exit codes: 0 ok, 2 wrong usage, 3 a table cannot be read.
"""

from lance_sql.cli.main import main

__all__ = ["main"]
