"""The verbs that look at a table, its history and its rows, in a terminal or as a page."""

from __future__ import annotations

import click

from lance_sql.cli import screen
from lance_sql.cli.errors import reports_errors


@click.command()
@click.argument("table")
@click.option("--limit", type=click.IntRange(min=1), help="Only the newest versions.")
@click.option("--branch", help="A branch, instead of main.")
@screen.output_option
@screen.html_option
@reports_errors
def history(table: str, limit: int | None, branch: str | None, output: str, html: str | None) -> None:
    """Says what the commit of each version of TABLE did, newest first: operation, rows in and out, bytes, tags.

    \b
    lance-sql history events.lance --limit 10
    lance-sql history events.lance --html history.html
    """
    import pyarrow as pa

    from lance_sql import metadata_tables
    from lance_sql.cli import tables

    dataset = tables.open_table(table, branch=branch)
    if html is not None:
        screen.write_page(html, dataset.history(limit).to_html())
        return
    versions = metadata_tables.versions(dataset, limit)
    shown = [
        "version",
        "timestamp",
        "operation",
        "inserted",
        "updated",
        "deleted",
        "rows",
        "tags",
        "bytes_written",
        "writer",
    ]
    newest_first = versions.take(list(range(versions.num_rows - 1, -1, -1))).select(shown)
    if output == "table":
        column_index = shown.index("timestamp")
        seconds = newest_first["timestamp"].cast(pa.timestamp("s", tz="UTC"), safe=False)
        newest_first = newest_first.set_column(column_index, "timestamp", seconds)
    screen.show(newest_first.to_reader(), output)


@click.command()
@click.argument("table")
@click.option("--branch", help="A branch, instead of main.")
@click.option("--target-rows", type=click.IntRange(min=1), help="Fragments with fewer rows are to be joined.")
@screen.output_option
@screen.html_option
@reports_errors
def layout(table: str, branch: str | None, target_rows: int | None, output: str, html: str | None) -> None:
    """Says how the rows of TABLE lie in fragments: rows, deleted ones, files, bytes, age, and why to compact.

    \b
    lance-sql layout events.lance
    lance-sql layout events.lance@41 --html layout.html
    """
    from lance_sql.cli import tables
    from lance_sql.writing import MAX_ROWS_PER_FILE

    physical_layout = tables.open_table(table, branch=branch).layout(target_rows=target_rows or MAX_ROWS_PER_FILE)
    if html is not None:
        screen.write_page(html, physical_layout.to_html())
        return
    screen.show(physical_layout.to_table().to_reader(), output)


@click.command()
@click.argument("table")
@click.option("--branch", help="A branch, instead of main.")
@click.option("--output", "-o", type=click.Choice(("text", "json")), default="text", show_default=True, help="Format.")
@reports_errors
def describe(table: str, branch: str | None, output: str) -> None:
    """Says what TABLE is: rows, files, format, tags, branches, indices and columns.

    
    lance-sql describe events.lance
    lance-sql describe events.lance@41 --output json
    """
    import json

    from lance_sql.cli import tables
    from lance_sql.cli.description import described

    description = described(tables.open_table(table, branch=branch))
    if output == "json":
        click.echo(json.dumps(description.to_dict(), indent=2))
    else:
        screen.show_text(description.to_text(screen.width()))


@click.command()
@click.argument("table")
@click.option("--rows", "-n", type=click.IntRange(min=0), default=10, show_default=True, help="How many.")
@click.option("--columns", metavar="COLUMNS", help="Only these, with commas between; system columns among them.")
@click.option("--where", "-w", metavar="SQL", help="Only rows that pass a filter.")
@click.option("--branch", help="A branch, instead of main.")
@screen.output_option
@reports_errors
def head(table: str, rows: int, columns: str | None, where: str | None, branch: str | None, output: str) -> None:
    """Shows the first rows of TABLE.

    
    lance-sql head events.lance -n 3
    lance-sql head events.lance@41 --columns id,status,_rowid --where "status = 'open'"
    """
    from lance_sql.cli import tables

    chosen = None if columns is None else columns.split(",")
    scan = tables.open_table(table, branch=branch).scan(chosen, where, limit=rows)
    screen.show(scan.to_reader(), output, max_rows=0, types=True)


@click.command("row-history")
@click.argument("table")
@click.argument("start", required=False)
@click.argument("end", required=False)
@click.option("--where", "-w", metavar="SQL", help='Rows that at some time passed a filter, such as "id = 7".')
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many rows.")
@click.option("--branch", help="A branch, instead of main.")
@screen.output_option
@screen.html_option
@reports_errors
def row_history(
    table: str,
    start: str | None,
    end: str | None,
    where: str | None,
    limit: int,
    branch: str | None,
    output: str,
    html: str | None,
) -> None:
    """Tells the story of rows of TABLE: every image of each, and the versions between which it was there.

    \b
    lance-sql row-history events.lance --where "id = 7"
    lance-sql row-history events.lance 5 9 --where "status = 'lost'" --html rows.html
    """
    from lance_sql.cli import tables

    histories = tables.open_table(table, branch=branch).row_history(tables.bound(start), tables.bound(end))
    if html is not None:
        screen.write_page(html, histories.to_html(where))
        return
    images = histories.of_rows(where, limit)
    if output == "table":
        # versions say when it was; on a terminal there is no room for times as well
        shown = ("_rowid", "valid_from_version", "valid_to_version", *histories.snapshot.manifest.schema.names)
        images = images.select(shown)
    screen.show(images.to_reader(), output, max_rows=0)


VERBS = (describe, head, history, layout, row_history)
