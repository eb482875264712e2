"""`python -m lance_sql.cli`."""

from lance_sql.cli.main import main

main(prog_name="lance-sql")
