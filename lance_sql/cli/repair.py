"""`lance-sql repair`."""

from __future__ import annotations

import sys

import click

from lance_sql.cli.agreement import agreed, count, done, dry_run_option, unversioned, yes_option
from lance_sql.cli.errors import reports_errors

NOTHING_HEALTHY = 3


@click.command()
@click.argument("table")
@click.option("--branch", help="A branch, instead of main.")
@click.option("--deep", is_flag=True, help="Decode every page as well.")
@click.option("--quiet", "-q", is_flag=True, help="No progress bar.")
@dry_run_option
@yes_option
@reports_errors
def repair(table: str, branch: str | None, deep: bool, quiet: bool, dry_run: bool, yes: bool) -> None:
    """Returns TABLE to its newest healthy version, where the newest one is damaged.

    The damaged versions stay where they are, and no file is removed: `restore` can go back to each of them. Exits with
    3 when no version is healthy.

    \b
    lance-sql repair events.lance --dry-run
    """
    from lance_sql.cli import tables, verification
    from lance_sql.errors import CorruptFile

    path = unversioned(table)
    report = verification.run(path, version=None, tag=None, branch=branch, deep=deep, quiet=quiet)
    newest, healthy = max(report.versions), report.newest_healthy_version
    if healthy == newest:
        click.echo(f"{path} version {newest} is healthy: nothing to repair.", err=True)
        return
    click.echo(str(report), err=True)
    if healthy is None:
        click.echo(f"Error: no version of {path} is healthy", err=True)
        sys.exit(NOTHING_HEALTHY)
    good = tables.open_version(path, healthy, branch=branch)
    lost = ""
    try:
        rows = tables.open_table(path, branch=branch).count_rows()
        lost = f", which has {count(rows, 'row')} by its manifest"
    except CorruptFile:
        lost = ", whose manifest cannot be read"
    what = f"return from version {newest}{lost}, to version {healthy} with {count(good.count_rows(), 'row')}"
    if agreed(f"{what}; no version is removed", dry_run, yes):
        done(good.restore())
