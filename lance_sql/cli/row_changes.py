"""Commands that write, update and delete rows.

Replacing or removing rows asks for confirmation; without a terminal it needs `--yes`. `--dry-run` changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from lance_sql.cli import progress
from lance_sql.cli.agreement import (
    agreed,
    count,
    done,
    dry_run_option,
    latest,
    path_and_branch,
    quiet_option,
    rehearse,
    rows,
    yes_option,
)
from lance_sql.cli.folders import has_rows
from lance_sql.cli.sources import source_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_sql.dataset import Dataset

where_option = click.option("--where", "-w", metavar="SQL", help="Filter on the rows.")

_FILES: Final = (".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson")
"""Suffixes of sources, which no table has."""


@click.command()
@click.argument("table")
@click.argument("source")
@click.option("--mode", type=click.Choice(("create", "append", "overwrite")), default="create", show_default=True)
@click.option("--no-create", is_flag=True, help="Fail if the table does not exist.")
@click.option("--file-version", type=click.Choice(("2.0", "2.1", "2.2")), help="Data file version of a new table.")
@click.option("--no-stable-row-ids", is_flag=True, help="Create the table without row history.")
@click.option("--max-rows-per-file", type=click.IntRange(min=1), help="Where the next data file begins.")
@click.option(
    "--compression", type=click.Choice(("zstd", "lz4")), help="Compression of a new table, also of later rows."
)
@click.option("--compression-level", type=click.IntRange(1, 22), help="Level of zstd; default: 3.")
@quiet_option
@yes_option
def write(
    table: str,
    source: str,
    mode: str,
    no_create: bool,
    no_stable_row_ids: bool,
    max_rows_per_file: int | None,
    quiet: bool,
    yes: bool,
    **options: Any,
) -> None:
    """Writes the rows of SOURCE to TABLE.

    SOURCE is a file or URI that DuckDB reads (Parquet, CSV, JSON), a Lance table, or an SQL query; or a folder of
    Parquet, CSV or JSON files, a Delta or an Iceberg table. Folders named KEY=VALUE become columns. If the command ends
    early, the same command goes on with a folder. Overwriting a table asks for confirmation.

    \b
    lance-sql write events.lance events.parquet
    lance-sql write events.lance exports/events
    lance-sql write events.lance "SELECT * FROM 'new.csv' WHERE id > 7" --mode append
    """
    import pyarrow as pa

    import lance_sql
    from lance_sql.cli import tables
    from lance_sql.jobs.writing import MAX_ROWS_PER_FILE

    if os.path.splitext(table)[1].lower() in _FILES:
        raise click.UsageError(f"TABLE comes first, then SOURCE: lance-sql write {source} {table}.")
    path, branch = path_and_branch(table)
    if mode == "overwrite" and not _overwriting_is_agreed(path, branch, yes):
        return
    options |= {
        "branch": branch,
        "mode": mode,
        "create": not no_create,
        "stable_row_ids": False if no_stable_row_ids else None,
        "max_rows_per_file": max_rows_per_file or MAX_ROWS_PER_FILE,
    }
    columns = partial(tables.columns, path, branch)
    if has_rows(source):
        written = _moved(source, path, options, columns if mode == "append" else None, quiet=quiet)
    else:
        with (
            source_rows(source, columns if mode == "append" else None) as reader,
            progress.counted(reader, "rows read", hidden=quiet) as batches,
        ):
            written = lance_sql.write(pa.RecordBatchReader.from_batches(reader.schema, batches), path, **options)
    done(written, f"{count(written.count_rows(), 'row')}")


def _moved(
    source: str, path: str, options: dict[str, Any], columns: Callable[[], pa.Schema] | None, *, quiet: bool
) -> Dataset:
    """Writes the rows of a folder of another format.

    columns: returns those of the table that has rows already
    """
    import lance_sql
    from lance_sql.cli import folders, moving
    from lance_sql.cli.interrupts import interruptible

    connection = lance_sql.connect()
    with interruptible(connection):
        folder = folders.open_folder(source, connection, columns)
        begin = partial(lance_sql.begin_write, folder.schema, path, **options)
        return moving.move(folder, source, path, begin, options, hidden=quiet)


@click.command()
@click.argument("table")
@where_option
@click.option("--all", "every", is_flag=True, help="Delete every row.")
@dry_run_option
@quiet_option
@yes_option
def delete(table: str, where: str | None, every: bool, dry_run: bool, quiet: bool, yes: bool) -> None:
    """Deletes rows of TABLE.

    \b
    lance-sql delete events.lance --where "ts < '2026-01-01'" --dry-run
    """
    _check_selection(where, every)
    dataset = latest(table)
    if agreed(f"delete {rows(dataset, where)}", dry_run, yes):
        with progress.shown("rows looked at", hidden=quiet):
            after = dataset.delete("true" if where is None else where)
        done(after)


@click.command(short_help="Sets columns in rows of TABLE to SQL expressions.")
@click.argument("table")
@click.argument("assignments", nargs=-1, required=True, metavar="COLUMN=SQL...")
@where_option
@click.option("--all", "every", is_flag=True, help="Update every row.")
@dry_run_option
@quiet_option
@yes_option
def update(
    table: str, assignments: tuple[str, ...], where: str | None, every: bool, dry_run: bool, quiet: bool, yes: bool
) -> None:
    """Sets columns in rows of TABLE to SQL expressions.

    \b
    lance-sql update events.lance "price=price * 1.1" "status='done'" --where "id = 7"
    """
    values: dict[str, str] = {}
    for assignment in assignments:
        name, equals, expression = assignment.partition("=")
        if not equals or not name.strip() or not expression.strip():
            raise click.UsageError(f"{assignment!r} is not of the form COLUMN=SQL.")
        if name.strip() in values:
            raise click.UsageError(f"{name.strip()!r} is set twice.")
        values[name.strip()] = expression
    dataset = latest(table)
    chosen = "true" if every else where
    # check the values before reporting or asking; over all selected rows only in a dry run
    rehearse(dataset, lambda copy: copy.update(values, chosen if dry_run and chosen is not None else "false"))
    _check_selection(where, every)
    what = f"set {', '.join(values)} in {rows(dataset, where)}"
    if agreed(what, dry_run, yes):
        with progress.shown("rows looked at", hidden=quiet):
            after = dataset.update(values, chosen)
        done(after)


VERBS = (write, delete, update)


def _check_selection(where: str | None, every: bool) -> None:
    """
    raises: UsageError unless either a filter or all rows are chosen
    """
    if every == (where is not None):
        raise click.UsageError("Select rows: --where SQL, or --all.")


def _overwriting_is_agreed(path: str, branch: str | None, yes: bool) -> bool:
    from lance_sql.cli import tables
    from lance_sql.errors import TableNotFound

    try:
        dataset = tables.open_table(path, branch=branch)
    except TableNotFound:
        return True
    return agreed(f"replace {rows(dataset, None)}; no version is removed", False, yes)
