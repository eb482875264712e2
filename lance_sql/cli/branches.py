"""`lance-sql branch`."""

from __future__ import annotations

import click

from lance_sql.cli.agreement import agreed, yes_option
from lance_sql.cli.errors import reports_errors
from lance_sql.terminal_text import one_line


@click.command()
@click.argument("table")
@click.argument("name", required=False)
@click.option("--delete", "remove", is_flag=True, help="Remove the branch, and what was written to it.")
@yes_option
@reports_errors
def branch(table: str, name: str | None, remove: bool, yes: bool) -> None:
    """Makes a branch that begins with a version of TABLE, or lists the branches there are. No file is copied.

    \b
    lance-sql branch events.lance
    lance-sql branch events.lance@41 experiment
    lance-sql history events.lance --branch experiment
    lance-sql branch events.lance experiment --delete
    """
    from lance_sql.cli import tables
    from lance_sql.errors import VersionNotFound
    from lance_sql.version_names import unknown_name

    dataset = tables.open_table(table)
    known = dataset.branches()
    if name is None:
        if remove:
            raise click.UsageError("Say which branch.")
        for each, ref in sorted(known.items()):
            click.echo(f"{one_line(each)}\t{one_line(ref.branch or 'main')}@{ref.version}")
    elif remove:
        if name not in known:
            raise VersionNotFound(unknown_name("branch", name, dataset.snapshot.name, known))
        begun = f"{known[name].branch or 'main'}@{known[name].version}"
        if agreed(f"remove the branch {name!r}, which begins with {begun}, and what was written to it", False, yes):
            dataset.delete_branch(name)
            click.echo(f"The branch {name!r} is removed.", err=True)
    else:
        made = dataset.create_branch(name)
        click.echo(f"{name!r} begins with version {made.version} of {dataset.uri}.", err=True)
