"""`lance-sql apply`."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from lance_sql.cli import progress
from lance_sql.cli.agreement import (
    agreed,
    done,
    dry_run_option,
    named,
    path_and_branch,
    quiet_option,
    rehearse,
    yes_option,
)
from lance_sql.cli.merge import read_source
from lance_sql.cli.options import NAMES

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset


@click.command(short_help="Applies changes by key (SCD type 1 or 2).")
@click.argument("table")
@click.argument("source")
@click.option("--keys", required=True, type=NAMES, help="Key columns, separated by commas.")
@click.option("--sequence-by", type=NAMES, help="Column or expression that orders the changes of a key.")
@click.option("--delete-when", metavar="SQL", help="Condition for changes that delete their key.")
@click.option("--columns", type=NAMES, help="Write only these columns.")
@click.option("--except", "except_columns", type=NAMES, help="Write all columns but these.")
@click.option("--ignore-null-updates", is_flag=True, help="NULL keeps the existing value.")
@click.option("--track-history-on", type=NAMES, help="With --scd 2: a change of these columns starts a new row.")
@click.option("--track-history-except", type=NAMES, help="With --scd 2: a change of these columns does not.")
@click.option(
    "--scd",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    help="1: keep the latest row of each key; 2: keep the history.",
)
@quiet_option
@dry_run_option
@yes_option
def apply(table: str, source: str, keys: list[str], quiet: bool, dry_run: bool, yes: bool, **options: Any) -> None:
    """Applies the changes in SOURCE to TABLE by key (CDC). Creates TABLE if it does not exist.

    SOURCE is a file or URI that DuckDB reads (Parquet, CSV, JSON), a Lance table, or an SQL query, for example over
    lance_changes. Changes can be late, repeated and out of order.

    \b
    lance-sql apply users.lance drop/*.parquet --keys user --sequence-by at --delete-when "op = 'd'" --except op,at
    lance-sql apply history.lance "FROM lance_changes('users.lance')" --keys user --scd 2
    """
    from lance_sql.cli import tables
    from lance_sql.errors import TableNotFound
    from lance_sql.jobs.applying import apply_changes

    path, branch = path_and_branch(table)
    rows = read_source(source, partial(tables.columns, path, branch))

    def change(target: Dataset | str) -> Dataset:
        with progress.shown("rows applied", hidden=quiet):
            return apply_changes(target, rows, keys, **options)

    try:
        dataset = tables.open_table(path, branch=branch)
    except TableNotFound:
        if not yes:
            # finds all errors of the change
            with tempfile.TemporaryDirectory(prefix="lance-sql-") as folder:
                change(os.path.join(folder, "new.lance"))
        if agreed(f"make {path} of {rows.num_rows} changes", dry_run, yes):
            done(change(path))
        return
    what = f"apply {rows.num_rows} changes to {named(dataset)}"
    if not yes:
        trial = rehearse(dataset, lambda copy: change(copy).last_change)
        if trial is not None:
            counts = f"{trial.rows_inserted} rows inserted, {trial.rows_updated} updated, {trial.rows_deleted} deleted"
            what += f": {counts}"
    if agreed(what, dry_run, yes):
        done(change(dataset))
