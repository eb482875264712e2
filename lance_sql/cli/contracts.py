"""`lance-sql rules` and `lance-sql check`."""

from __future__ import annotations

import sys
from typing import Final

import click

from lance_sql.cli import screen
from lance_sql.cli.agreement import agreed, done, latest, yes_option
from lance_sql.cli.options import BOUND, branch_option, report_option

BROKEN: Final = 1
"""Exit code for a broken rule."""


@click.command(short_help="Lists the data quality rules of TABLE, or sets one.")
@click.argument("table")
@click.argument("name", required=False)
@click.argument("rule", required=False)
@click.option("--warn", is_flag=True, help="Only warn; do not stop a publication.")
@click.option("--enforce", is_flag=True, help="Refuse commits that would violate the rule.")
@click.option("--drop", is_flag=True, help="Remove it.")
@screen.output_option
@yes_option
def rules(
    table: str, name: str | None, rule: str | None, warn: bool, enforce: bool, drop: bool, output: str, yes: bool
) -> None:
    """Lists the data quality rules of TABLE, or sets or removes one.

    A rule is unique(id), not_null(id), accepted_values(status, 'open', 'paid'), foreign_key(customer,
    'customers.lance', id), freshness(loaded_at, '1d'), row_count_change(-0.1, 0.5), or an SQL condition that every
    row satisfies.

    \b
    lance-sql rules orders.lance
    lance-sql rules orders.lance sane-amounts "amount >= 0"
    lance-sql rules orders.lance sane-amounts --drop
    """
    from lance_sql.catalogs import metadata_tables

    dataset = latest(table)
    if name is None:
        screen.show(metadata_tables.rules(dataset).to_reader(), output)
    elif drop:
        if rule is not None:
            raise click.UsageError("A rule is set, or removed.")
        if agreed(f"remove the rule {name!r}", False, yes):
            done(dataset.rules.drop(name))
    elif rule is None:
        raise click.UsageError('Give a rule, such as "amount >= 0", or --drop.')
    else:
        done(dataset.rules.set(name, rule, severity="warn" if warn else "error", enforce=enforce))


@click.command()
@click.argument("table")
@click.argument("names", nargs=-1, metavar="[RULE]...")
@click.option("--since", type=BOUND, help="Check only rows that changed after this version, tag or time.")
@branch_option
@report_option
@screen.html_option
def check(
    table: str, names: tuple[str, ...], since: int | str | None, branch: str | None, output: str, html: str | None
) -> None:
    """Checks the rows of TABLE against its rules. Exits with 1 on a violation, except of rules that only warn.

    \b
    lance-sql check orders.lance
    lance-sql check orders.lance --since 41
    lance-sql check orders.lance --html rules.html
    """
    from lance_sql.cli import tables

    report = tables.open_table(table, branch=branch).rules.check(names or None, since=since)
    screen.show_report(report, output, html)
    sys.exit(0 if report.is_kept else BROKEN)
