"""`lance-sql materialize` and `lance-sql refresh`."""

from __future__ import annotations

import click

from lance_sql.cli.agreement import unversioned


@click.command(short_help="Creates a materialized view of QUERY.")
@click.argument("query")
@click.argument("table")
@click.option("--replace", is_flag=True, help="Replace a view of another query.")
def materialize(query: str, table: str, replace: bool) -> None:
    """Creates TABLE as a materialized view of QUERY, or refreshes it.

    \b
    lance-sql materialize "SELECT status, count(*) AS n FROM 'orders.lance' GROUP BY status" states.lance
    """
    from lance_sql.one_sql.views import materialize as make

    click.echo(make(query, unversioned(table), replace=replace).last_refresh)


@click.command(short_help="Refreshes materialized views from changes.")
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True)
@click.option("--full", is_flag=True, help="Run the query over all rows.")
@click.option("--verify", is_flag=True, help="Also run the query over all rows, and compare.")
def refresh(tables: tuple[str, ...], full: bool, verify: bool) -> None:
    """Refreshes materialized views, in this order.

    \b
    lance-sql refresh states.lance daily.lance
    """
    from lance_sql.one_sql.views import View

    for table in tables:
        click.echo(View.open(unversioned(table)).refresh(full=full, verify=verify))
