"""`lance-sql cursors`."""

from __future__ import annotations

import click

from lance_sql.cli import screen
from lance_sql.cli.agreement import agreed, yes_option
from lance_sql.cli.options import BOUND, branch_option


@click.command(short_help="Manages cursors: positions in the change feed.")
@click.argument("table")
@click.argument("name", required=False)
@click.option(
    "--start",
    type=BOUND,
    metavar="WHERE",
    help="Create the cursor at earliest, latest, snapshot, or a version, tag or time.",
)
@click.option("--seek", type=BOUND, metavar="WHERE", help="Move the cursor; values as for --start.")
@click.option("--drop", is_flag=True, help="Remove it.")
@branch_option
@screen.output_option
@screen.html_option
@yes_option
def cursors(
    table: str,
    name: str | None,
    start: int | str | None,
    seek: int | str | None,
    drop: bool,
    branch: str | None,
    output: str,
    html: str | None,
    yes: bool,
) -> None:
    """Lists the cursors of TABLE (positions of jobs in its change feed), or creates, moves or removes one.

    \b
    lance-sql cursors orders.lance
    lance-sql cursors orders.lance warehouse --start latest
    lance-sql cursors orders.lance --html cursors.html
    lance-sql changes orders.lance --cursor warehouse
    lance-sql cursors orders.lance warehouse --seek 41
    """
    from lance_sql.catalogs import metadata_tables
    from lance_sql.cli import tables

    dataset = tables.open_table(table, branch=branch)
    if sum((start is not None, seek is not None, drop)) > 1:
        raise click.UsageError("Give one of --start, --seek and --drop.")
    if name is None:
        if start is not None or seek is not None or drop:
            raise click.UsageError("Name a cursor.")
        if html is not None:
            screen.write_page(html, metadata_tables.cursor_page(dataset))
        else:
            screen.show(metadata_tables.cursors(dataset).to_reader(), output)
    elif start is not None:
        created = dataset.cursors.open(name, start=start)
        click.echo(f"Cursor {name!r} is at version {created.position}.", err=True)
    elif seek is not None:
        position = tables.existing_cursor(dataset, name).position
        if agreed(f"move the cursor {name!r} from version {position} to {seek}", False, yes):
            moved = tables.existing_cursor(dataset, name).seek(seek)
            click.echo(f"Cursor {name!r} is at version {moved.position}.", err=True)
    elif drop:
        cursor = tables.existing_cursor(dataset, name)
        if agreed(f"remove the cursor {name!r}, which stands at version {cursor.position}", False, yes):
            cursor.drop()
            click.echo(f"Removed cursor {name!r}.", err=True)
    else:
        cursor = tables.existing_cursor(dataset, name)
        behind = cursor.lag()
        click.echo(
            f"{name!r} stands at version {cursor.position}; behind: {behind.versions} versions, {behind.rows} changes,"
            f" {behind.seconds:.0f} seconds"
        )
