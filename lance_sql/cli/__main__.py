"""`python -m lance_sql.cli`."""

from lance_sql.cli.start import run

run()
