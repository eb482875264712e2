"""`lance-sql branch`, `stage` and `publish`."""

from __future__ import annotations

import sys
from typing import Final

import click

from lance_sql.cli import screen
from lance_sql.cli.agreement import agreed, done, dry_run_option, latest, yes_option
from lance_sql.cli.options import NAMES
from lance_sql.runtime.terminal_text import one_line
from lance_sql.values.local_paths import shown

CONFLICTS: Final = 1
"""Exit code for a branch that cannot be published."""
_WAY_OUT: Final = "Correct these rows on the branch (TABLE@BRANCH), and publish again"


@click.command(short_help="Creates a branch, or lists the branches.")
@click.argument("table")
@click.argument("name", required=False)
@click.option("--delete", "remove", is_flag=True, help="Remove the branch and its data.")
@yes_option
def branch(table: str, name: str | None, remove: bool, yes: bool) -> None:
    """Creates a branch at a version of TABLE, or lists the branches. Copies no file.

    \b
    lance-sql branch events.lance
    lance-sql branch events.lance@41 experiment
    lance-sql history events.lance --branch experiment
    lance-sql branch events.lance experiment --delete
    """
    from lance_sql.cli import tables
    from lance_sql.errors import VersionNotFound
    from lance_sql.table.version_names import unknown_name

    dataset = tables.open_table(table)
    branches = dataset.branches.list()
    if name is None:
        if remove:
            raise click.UsageError("Name a branch.")
        for each, ref in sorted(branches.items()):
            click.echo(f"{one_line(each)}\t{one_line(ref.branch or 'main')}@{ref.version}")
    elif remove:
        if name not in branches:
            raise VersionNotFound(unknown_name("branch", name, dataset.snapshot.name, branches))
        begun = f"{branches[name].branch or 'main'}@{branches[name].version}"
        if agreed(f"remove the branch {name!r}, which begins with {begun}, and what was written to it", False, yes):
            dataset.branches.delete(name)
            click.echo(f"Removed branch {name!r}.", err=True)
    else:
        created = dataset.branches.create(name)
        click.echo(f"Branch {name!r} begins with version {created.version} of {shown(dataset.uri)}.", err=True)


@click.command(short_help="Creates a staging branch for a load.")
@click.argument("table")
@click.argument("name")
def stage(table: str, name: str) -> None:
    """Creates a staging branch of TABLE, which jobs write to until it is published.

    \b
    lance-sql stage events.lance load-2026-11-24
    lance-sql diff events.lance events.lance@load-2026-11-24 --key id
    lance-sql check events.lance --branch load-2026-11-24
    lance-sql publish events.lance load-2026-11-24
    """
    dataset = latest(table)
    created = dataset.branches.create(name)
    click.echo(
        f"Branch {name!r} begins with version {created.version}; write to {shown(dataset.uri)}@{name}.",
        err=True,
    )


@click.command(short_help="Publishes a branch to its parent as one commit.")
@click.argument("table")
@click.argument("name")
@click.option("--key", type=NAMES, help="Also treat a key that both sides gave to different rows as a conflict.")
@click.option("--keep", is_flag=True, help="Keep the branch.")
@screen.output_option
@screen.html_option
@dry_run_option
@yes_option
def publish(
    table: str, name: str, key: list[str] | None, keep: bool, output: str, html: str | None, dry_run: bool, yes: bool
) -> None:
    """Commits the changes of a branch of TABLE as one version, and removes the branch.

    Lists rows that both sides changed, or broken rules, and then publishes nothing. A branch that was published already
    is reported, and is no error. --html first writes a page with the changes, the conflicts and the rules.
    """
    dataset = latest(table)
    planned = dataset.branches.plan(name, key=key)
    if html is not None:
        screen.write_page(html, planned.to_html())
    if planned.published is not None:
        click.echo(f"{planned}: nothing to do.", err=True)
        return
    if planned.conflicts.num_rows:
        screen.show(planned.conflicts.to_reader(), output)
    if not planned.report.is_kept:
        click.echo(str(planned.report), err=True)
    if planned.conflicts.num_rows or not planned.report.is_kept:
        click.echo(f"{planned}. Nothing was published. {_WAY_OUT}", err=True)
        sys.exit(CONFLICTS)
    if agreed(f"publish {planned}", dry_run, yes):
        done(dataset.branches.publish(name, key=key, keep=keep))
