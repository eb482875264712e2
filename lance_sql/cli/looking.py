"""The verbs that show a table, its history and its rows, in a terminal or as a page."""

from __future__ import annotations

from typing import Final

import click

from lance_sql.cli import screen
from lance_sql.cli.options import BOUND, NAMES, branch_option, report_option

_HISTORY: Final = ("version", "timestamp", "operation", "inserted", "updated", "deleted", "job")
"""Columns of a history that fit a terminal of 80 characters; wider terminals also show the next ones."""
_MORE_HISTORY: Final = ("rows", "tags", "user", "host", "bytes_written", "writer")


@click.command(short_help="Lists the commits of TABLE, newest first.")
@click.argument("table")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of versions, newest first.")
@click.option("--since", metavar="TIME", help="Only versions since this time: 1d, yesterday, 2026-11-26.")
@click.option("--job", help="Only commits of this job.")
@branch_option
@screen.output_option
@screen.html_option
def history(
    table: str, limit: int | None, since: str | None, job: str | None, branch: str | None, output: str, html: str | None
) -> None:
    """Lists the commits of TABLE, newest first: operation, rows inserted, updated and deleted, job, user.

    \b
    lance-sql history events.lance --limit 10
    lance-sql history events.lance --since 1d --job nightly
    lance-sql history events.lance --html history.html
    """
    from lance_sql.cli import tables

    dataset = tables.open_table(table, branch=branch)
    tables.check_job(dataset, job)
    commits = dataset.history(limit, since=since, job=job)
    if html is not None:
        screen.write_page(html, commits.to_html())
        return
    newest_first = commits.to_table().select([*_HISTORY, *_MORE_HISTORY]).sort_by([("version", "descending")])
    if output == "table":
        newest_first = screen.as_many_columns(newest_first, len(_HISTORY))
    screen.show(newest_first.to_reader(), output, boxes=False)


@click.command(short_help="Shows fragments, and whether to compact them.")
@click.argument("table")
@branch_option
@click.option("--target-rows", type=click.IntRange(min=1), help="Report fragments with fewer rows than this.")
@screen.output_option
@screen.html_option
def layout(table: str, branch: str | None, target_rows: int | None, output: str, html: str | None) -> None:
    """Shows the fragments of TABLE: rows, deleted rows, files, bytes, age, and reasons to compact.

    \b
    lance-sql layout events.lance
    lance-sql layout events.lance@41 --html layout.html
    """
    from lance_sql.cli import tables
    from lance_sql.jobs.writing import MAX_ROWS_PER_FILE

    physical_layout = tables.open_table(table, branch=branch).maintenance.layout(
        target_rows=target_rows or MAX_ROWS_PER_FILE
    )
    if html is not None:
        screen.write_page(html, physical_layout.to_html())
        return
    screen.show(physical_layout.to_table().to_reader(), output)


@click.command(short_help="Describes TABLE: rows, files, format, tags, indices.")
@click.argument("table")
@branch_option
@report_option
def describe(table: str, branch: str | None, output: str) -> None:
    """Describes TABLE: rows, files, format, tags, branches, indices and columns.

    \b
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
@click.option("--rows", "-n", type=click.IntRange(min=0), default=10, show_default=True, help="Number of rows.")
@click.option("--columns", type=NAMES, help="Columns to show, separated by commas; can include system columns.")
@click.option("--where", "-w", metavar="SQL", help="Filter on the rows.")
@branch_option
@screen.output_option
def head(table: str, rows: int, columns: list[str] | None, where: str | None, branch: str | None, output: str) -> None:
    """Shows the first rows of TABLE.

    \b
    lance-sql head events.lance -n 3
    lance-sql head events.lance@41 --columns id,status,_rowid --where "status = 'open'"
    """
    from lance_sql.cli import tables

    scan = tables.open_table(table, branch=branch).scan(columns, where, limit=rows)
    screen.show(scan.to_reader(), output, max_rows=0, types=True)


@click.command("row-history", short_help="Lists every image of rows, with versions and times.")
@click.argument("table")
@click.argument("start", required=False, type=BOUND)
@click.argument("end", required=False, type=BOUND)
@click.option("--where", "-w", metavar="SQL", help='Rows of which any image passes a filter, such as "id = 7".')
@click.option("--job", help="Only rows that commits of this job changed; implies --origin.")
@click.option("--origin", is_flag=True, help="Add the columns valid_from_job and valid_to_job.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Maximum number of rows.")
@branch_option
@screen.output_option
@screen.html_option
def row_history(
    table: str,
    start: int | str | None,
    end: int | str | None,
    where: str | None,
    job: str | None,
    origin: bool,
    limit: int,
    branch: str | None,
    output: str,
    html: str | None,
) -> None:
    """Lists every image of rows of TABLE, with the versions between which it was valid.

    \b
    lance-sql row-history events.lance --where "id = 7"
    lance-sql row-history events.lance 5 9 --where "status = 'lost'" --html rows.html
    """
    from lance_sql.cli import tables

    origin = origin or job is not None
    where = tables.of_job(where, job, "valid_from_job", "valid_to_job")
    dataset = tables.open_table(table, branch=branch)
    tables.check_job(dataset, job)
    histories = dataset.row_history(start, end, origin=origin)
    if html is not None:
        screen.write_page(html, histories.to_html(where))
        return
    images = histories.of_rows(where, limit)
    if output == "table":
        # a terminal has no room for times besides the versions
        jobs = ("valid_from_job", "valid_to_job") if origin else ()
        shown = ("_rowid", "valid_from_version", "valid_to_version", *jobs, *histories.snapshot.manifest.schema.names)
        images = images.select(shown)
    screen.show(images.to_reader(), output, max_rows=0)


VERBS = (describe, head, history, layout, row_history)
