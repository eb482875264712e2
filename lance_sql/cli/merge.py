"""`lance-sql merge`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

import click

from lance_sql.cli import progress
from lance_sql.cli.agreement import agreed, done, dry_run_option, latest, named, quiet_option, rehearse, yes_option
from lance_sql.cli.options import NAMES
from lance_sql.cli.sources import source_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_sql.dataset import Dataset


@click.command(short_help="Merges rows into TABLE by key (upsert).")
@click.argument("table")
@click.argument("source")
@click.option("--on", type=NAMES, help="Key columns, separated by commas; default: the table's primary key.")
@click.option(
    "--when-matched", type=click.Choice(("update", "delete", "keep", "fail")), default="update", show_default=True
)
@click.option("--when-not-matched", type=click.Choice(("insert", "ignore")), default="insert", show_default=True)
@click.option("--delete-unmatched", is_flag=True, help="Delete rows of the table without a match in SOURCE.")
@click.option("--delete-unmatched-where", metavar="SQL", help="Filter on the rows to delete.")
@dry_run_option
@quiet_option
@yes_option
def merge(
    table: str,
    source: str,
    on: list[str] | None,
    when_matched: Literal["update", "delete", "keep", "fail"],
    when_not_matched: Literal["insert", "ignore"],
    delete_unmatched: bool,
    delete_unmatched_where: str | None,
    dry_run: bool,
    quiet: bool,
    yes: bool,
) -> None:
    """Merges the rows of SOURCE into TABLE by key: updates matching rows and inserts the others.

    SOURCE is a file or URI that DuckDB reads (Parquet, CSV, JSON), a Lance table, or an SQL query. Columns that it
    lacks keep their values. Without --yes, the merge first runs in a clone of the table to report its effect.

    \b
    lance-sql merge users.lance changes.parquet --on id
    lance-sql merge users.lance "FROM 'all.csv'" --on id --delete-unmatched --dry-run
    """
    dataset = latest(table)
    rows = read_source(source, lambda: dataset.schema)

    def change(target: Dataset) -> Dataset:
        with progress.shown("rows merged", hidden=quiet):
            return target.merge(
                rows,
                on,
                when_matched=when_matched,
                when_not_matched=when_not_matched,
                delete_unmatched=delete_unmatched_where or delete_unmatched,
            )

    if yes and not dry_run:
        merged = change(dataset)
        done(merged, change_in_words(merged, is_done=True) or "no row changed")
        return
    what = rehearse(dataset, lambda copy: change_in_words(change(copy)))
    if what is None:
        click.echo("Nothing to merge: no row would change.", err=True)
    elif agreed(f"{what} in {named(dataset)} version {dataset.version}", dry_run, yes):
        merged = change(dataset)
        done(merged, change_in_words(merged, is_done=True) or "no row changed")


_BE: Final = (("are", "is"), ("were", "was"))


def change_in_words(dataset: Dataset, *, is_done: bool = False) -> str | None:
    """Describes the changed rows of the last change, to be made or made; None if there are none."""
    change = dataset.last_change
    return (
        None
        if change is None
        else counts_in_words(
            change.rows_inserted, change.rows_updated, change.rows_deleted, change.rows_equal, is_done=is_done
        )
    )


def counts_in_words(
    inserted: int | None, updated: int | None, deleted: int | None, equal: int | None = None, *, is_done: bool = False
) -> str | None:
    """Describes numbers of rows; None if no row changes.

    is_done: the change was made
    """
    verbs = ("inserted", "updated", "deleted") if is_done else ("insert", "update", "delete")
    counts = zip(verbs, (inserted, updated, deleted), strict=True)
    said = [f"{what} {count:,} {'row' if count == 1 else 'rows'}" for what, count in counts if count]
    if said and equal:
        said.append(
            f"{'left' if is_done else 'leave'} {equal:,} equal {'row' if equal == 1 else 'rows'} as"
            f" {'it' if equal == 1 else 'they'} {_BE[is_done][equal == 1]}"
        )
    return ", ".join(said) or None


def read_source(source: str, table: Callable[[], pa.Schema]) -> pa.Table:
    """Reads the rows of a file, a URI, a Lance table, or an SQL query.

    table: as for `source_rows`
    """
    with source_rows(source, table) as reader:
        rows: pa.Table = reader.read_all()
        return rows
