"""`lance-sql maintain`."""

from __future__ import annotations

import sys
from typing import Any, Final

import click

from lance_sql.cli import progress, screen
from lance_sql.cli.agreement import agreed, dry_run_option, latest, named, quiet_option, yes_option
from lance_sql.cli.options import AGE

CONFLICT: Final = 3
"""Exit code if a step lost against another writer."""


@click.command()
@click.argument("table")
@click.option("--target-rows", type=click.IntRange(min=1), help="Join fragments with fewer rows than this.")
@click.option(
    "--max-deleted", "max_deleted_share", type=click.FloatRange(0, 1), help="Rewrite fragments with more deleted rows."
)
@click.option("--older-than", type=AGE, metavar="AGE", help="Remove only versions older than this: 30d, 12h, 90m.")
@click.option("--keep", "retain_versions", type=click.IntRange(min=1), help="Number of newest versions to keep.")
@click.option("--max-lag", type=AGE, metavar="AGE", help="Release cursors and branches that lag further behind.")
@dry_run_option
@screen.output_option
@quiet_option
@yes_option
def maintain(table: str, dry_run: bool, output: str, quiet: bool, yes: bool, **options: Any) -> None:
    """Compacts, updates indices, and removes versions.

    The policy in the config of TABLE decides what is needed; options replace its values. Exits with 3 if a step lost
    against another writer; the others still run.

    \b
    lance-sql maintain events.lance --dry-run
    lance-sql maintain events.lance --yes --quiet
    """
    dataset = latest(table)
    if dry_run or not yes:
        plan = dataset.maintenance.maintain(**options, dry_run=True)
        screen.show(plan.to_table().to_reader(), output, max_rows=0)
        if dry_run or not plan.is_needed or not agreed(f"maintain {named(dataset)}", dry_run, yes):
            return
    with progress.shown("done", hidden=quiet):
        result = dataset.maintenance.maintain(**options)
    screen.show(result.to_table().to_reader(), output, max_rows=0)
    if result.has_conflicts:
        sys.exit(CONFLICT)
