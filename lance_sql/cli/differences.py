"""`lance-sql diff`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from lance_sql.cli import progress, screen
from lance_sql.cli.agreement import quiet_option
from lance_sql.cli.options import branch_option, key_option, report_option
from lance_sql.table.version_names import split_name

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset

DIFFERENCES_FOUND = 1


@click.command(short_help="Compares two tables, or two versions of one.")
@click.argument("tables", nargs=-1, required=True, metavar="A [B]")
@key_option
@click.option("--job", help="Compare the versions before and after the newest commits in a row of this job.")
@click.option("--limit", type=click.IntRange(min=0), help="Maximum rows of each kind; default 20, and 200 with --html.")
@branch_option
@report_option
@screen.html_option
@quiet_option
def diff(
    tables: tuple[str, ...],
    key: list[str] | None,
    job: str | None,
    limit: int | None,
    branch: str | None,
    output: str,
    html: str | None,
    quiet: bool,
) -> None:
    """Lists the differences between A and B: columns, rows, cells and files.

    A and B are tables, optionally with a version, tag or branch; or a table followed by one or two of its versions.
    One version is compared with the newest one; without a version, the newest one is compared with the one before.
    Pass --key to compare different tables. Exits with 1 if there are differences.

    \b
    lance-sql diff events.lance@41 events.lance@42
    lance-sql diff events.lance 41 42
    lance-sql diff events.lance yesterday
    lance-sql diff events.lance --job nightly
    lance-sql diff events.lance events.lance@experiment
    lance-sql diff yesterday.lance events.lance --key id,day
    lance-sql diff events.lance --html report.html
    """
    import lance_sql
    from lance_sql.health.differences import open_named

    b: Dataset | None
    if job is None:
        a, b = _opened(tables, branch)
    elif len(tables) == 1:
        a, b = open_named(tables[0], branch), None
    else:
        raise click.UsageError("--job compares versions of one table: leave B out.")
    with progress.shown("rows compared", hidden=quiet):
        difference = lance_sql.diff(a, b, key, job=job, max_rows=limit if limit is not None else 200 if html else 20)
    screen.show_report(difference, output, html, text=lambda: difference.to_text(width=screen.width()))
    sys.exit(DIFFERENCES_FOUND if difference.has_differences else 0)


def _opened(names: tuple[str, ...], branch: str | None) -> tuple[Dataset, Dataset]:
    """Opens the two tables or versions of the arguments."""
    from lance_sql.health.differences import open_named
    from lance_sql.values.moments import is_time

    if len(names) > 3:
        raise click.UsageError(f"Give two tables, or a table and two of its versions, not {len(names)} arguments.")
    first, *others = names
    path, version, tag = split_name(first)
    is_named = version is not None or tag is not None
    if len(others) == 2:
        if is_named:
            raise click.UsageError(f"Give the table without a version before two versions: {path}.")
        return open_named(f"{path}@{others[0]}", branch), open_named(f"{path}@{others[1]}", branch=branch)
    if len(others) == 1:
        (second,) = others
        if second.isdecimal() or (is_time(second) and not os.path.exists(second)):
            after = open_named(path, branch) if not is_named else None
            if after is None:
                return open_named(first, branch), open_named(f"{path}@{second}", branch)
            return open_named(f"{path}@{second}", branch), after
        return open_named(first, branch), open_named(second, branch)
    newest = open_named(path, branch)
    if is_named:
        return open_named(first, branch), newest
    if newest.version == 1:
        raise click.UsageError(f"{path} has one version: there is nothing to compare it with.")
    return open_named(f"{path}@{newest.version - 1}", branch), newest
