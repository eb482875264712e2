"""`lance-sql apply`."""

from __future__ import annotations

import os
import tempfile
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
from lance_sql.cli.errors import reports_errors
from lance_sql.cli.merge import read_source

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset


@click.command()
@click.argument("table")
@click.argument("source")
@click.option("--keys", required=True, metavar="COLUMNS", help="Columns that tell rows apart, with commas between.")
@click.option("--sequence-by", metavar="COLUMNS", help="Which of two changes of a key is the later one.")
@click.option("--delete-when", metavar="SQL", help="The changes that delete their key.")
@click.option("--columns", metavar="COLUMNS", help="Only these go to the table.")
@click.option("--except", "without", metavar="COLUMNS", help="All but these go to the table.")
@click.option("--ignore-null-updates", is_flag=True, help="NULL leaves the value as it is.")
@click.option("--track-history-on", metavar="COLUMNS", help="Of a history: another value of these begins a new row.")
@click.option("--track-history-except", metavar="COLUMNS", help="Of a history: another value of these does not.")
@click.option("--scd", type=click.IntRange(1, 2), default=1, show_default=True, help="1: the latest rows; 2: all rows.")
@quiet_option
@dry_run_option
@yes_option
@reports_errors
def apply(
    table: str,
    source: str,
    keys: str,
    sequence_by: str | None,
    delete_when: str | None,
    columns: str | None,
    without: str | None,
    ignore_null_updates: bool,
    track_history_on: str | None,
    track_history_except: str | None,
    scd: int,
    quiet: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Brings TABLE up to date with the changes in SOURCE, by key; it is made where it is not there yet.

    SOURCE is a file or a URI that DuckDB reads (Parquet, CSV, JSON), a Lance table, or an SQL query, such as one of
    lance_changes. Changes may come late, twice, and out of order.

    \b
    lance-sql apply users.lance drop/*.parquet --keys user --sequence-by at --delete-when "op = 'd'" --except op,at
    lance-sql apply history.lance "FROM lance_changes('users.lance')" --keys user --scd 2
    """
    from lance_sql.cli import tables
    from lance_sql.errors import TableNotFound
    from lance_sql.jobs.applying import apply_changes

    path, branch = path_and_branch(table)
    rows = read_source(source)
    options: dict[str, Any] = {
        "sequence_by": _names(sequence_by),
        "delete_when": delete_when,
        "columns": _names(columns),
        "except_columns": _names(without),
        "ignore_null_updates": ignore_null_updates,
        "track_history_on": _names(track_history_on),
        "track_history_except": _names(track_history_except),
        "scd": scd,
    }

    def change(target: Dataset | str) -> Dataset:
        with progress.shown("rows applied", hidden=quiet):
            return apply_changes(target, rows, keys.split(","), **options)

    try:
        dataset = tables.open_table(path, branch=branch)
    except TableNotFound:
        if not yes:
            # whatever is wrong with the change comes out
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


def _names(text: str | None) -> list[str] | None:
    return None if text is None else text.split(",")
