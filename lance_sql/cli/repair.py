"""`lance-sql repair`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from lance_sql.cli.agreement import agreed, count, done, dry_run_option, quiet_option, unversioned, yes_option
from lance_sql.cli.options import branch_option

if TYPE_CHECKING:
    from lance_sql.health.repairs import Repair

NOTHING_HEALTHY = 3
_SALVAGE = "'lance-sql salvage' can write its readable rows to a new table first"


@click.command(short_help="Returns to the newest healthy version.")
@click.argument("table")
@branch_option
@click.option("--deep", is_flag=True, help="Decode every page, and compare checksums.")
@quiet_option
@dry_run_option
@yes_option
def repair(table: str, branch: str | None, deep: bool, quiet: bool, dry_run: bool, yes: bool) -> None:
    """Returns TABLE to the newest version in which every row can be read, and rebuilds damaged indices.

    An index that cannot be rebuilt is dropped; no row is lost for it. Damaged versions and all files remain, so
    `restore` can return to each of them. --deep also finds damage inside pages. Exits with 3 if no version is
    healthy.

    \b
    lance-sql repair events.lance --deep --dry-run
    """
    from lance_sql.cli import progress, verification
    from lance_sql.health import repairs
    from lance_sql.health.verification import verify

    path = unversioned(table)
    report = verification.run(verify, path, branch=branch, deep=deep, quiet=quiet)
    if report.newest_healthy_version is None:
        click.echo(str(report), err=True)
        click.echo(
            f"Error: no version of {path} is healthy; 'lance-sql salvage' writes its readable rows to a new table",
            err=True,
        )
        sys.exit(NOTHING_HEALTHY)
    planned = repairs.plan(report, branch=branch)
    if not planned.is_needed:
        unseen = "" if deep else "; pages were not decoded: --deep does that"
        click.echo(f"{path} version {planned.newest} is healthy: nothing to repair{unseen}.", err=True)
        return
    click.echo(str(report), err=True)
    what = f"{planned}{_rows(path, planned)}; no version is removed"
    if agreed(what, dry_run, yes):
        with progress.shown("rows indexed", hidden=quiet):
            repaired = repairs.carry_out(planned)
        done(repaired)


def _rows(path: str, planned: Repair) -> str:
    """Describes the numbers of rows of the newest version, before and after the repair."""
    from lance_sql.cli import tables
    from lance_sql.errors import CorruptFile

    if planned.version is None:
        return f": all {count(tables.open_table(path, branch=planned.branch).count_rows(), 'row')} stay"
    good = tables.open_version(path, planned.version, branch=planned.branch)
    remaining = good.count_rows()
    to = f" with {count(remaining, 'row')}"
    try:
        rows = tables.open_table(path, branch=planned.branch).count_rows()
    except CorruptFile:
        return f"{to}, from version {planned.newest}, whose manifest cannot be read; {_SALVAGE}"
    return f"{to}, from version {planned.newest}, which has {count(rows, 'row')} by its manifest; {_SALVAGE}"
