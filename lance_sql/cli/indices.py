"""`lance-sql index`: lists, builds, drops and optimizes the indices of a table; `lance-sql explain`."""

from __future__ import annotations

import inspect
import json
from typing import Any

import click

from lance_sql.cli import screen
from lance_sql.cli.agreement import agreed, done, dry_run_option, latest, quiet_option, yes_option
from lance_sql.cli.options import NAMES
from lance_sql.runtime.terminal_text import one_line
from lance_sql.table.version_names import looks_like_table
from lance_sql.values.local_paths import shown


class _OfATable(click.Group):
    """Group whose verb may be omitted before a table, which then lists its indices."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        first = arguments[0] if arguments else ""
        if first and not first.startswith("-") and first not in self.commands and looks_like_table(first):
            arguments = ["list", *arguments]
        return super().parse_args(context, arguments)


@click.group(cls=_OfATable)
def index() -> None:
    """Lists, creates, drops and optimizes indices.

    \b
    lance-sql index events.lance
    lance-sql index create events.lance user_id btree
    lance-sql index create events.lance embedding ivf_pq --option metric=cosine
    lance-sql index optimize events.lance
    """


@index.command(name="list")
@click.argument("table")
@click.option("--output", "-o", type=click.Choice(("table", "json", "csv", "markdown")), default="table")
def list_indices(table: str, output: str) -> None:
    """Lists the indices of TABLE and the number of fragments that they cover."""
    from lance_sql.catalogs import metadata_tables
    from lance_sql.cli import tables

    indices = metadata_tables.indices(tables.open_table(table)).to_reader()
    screen.show(indices, output)


@index.command()
@click.argument("table")
@click.argument("column")
@click.argument("kind")
@click.option("--name", help="Name of the index; default COLUMN_idx.")
@click.option("--replace", is_flag=True, help="Replace an existing index of that name.")
@click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of a vector or text index, as NAME=VALUE."
)
@quiet_option
def create(
    table: str, column: str, kind: str, name: str | None, replace: bool, options: tuple[str, ...], quiet: bool
) -> None:
    """Creates an index of KIND on COLUMN of TABLE.

    Use zonemap for clustered values, btree for many distinct values, bitmap for few, and bloomfilter for = and IN
    only. ivf_pq, ivf_sq, ivf_rq and ivf_flat index vectors (options: metric, num_partitions; ivf_pq: num_sub_vectors,
    num_bits; ivf_rq: num_bits). inverted indexes text (options: with_position, language, stem and others).
    """
    from lance_sql.cli.progress import shown

    given = dict(map(_option, options))
    with shown("rows indexed", hidden=quiet):
        indexed = latest(table).indices.create(column, kind, name=name, replace=replace, **given)
    done(indexed)


def _option(text: str) -> tuple[str, Any]:
    """Parses NAME=VALUE; the value is JSON (numbers, true, false, lists), or else text."""
    from lance_sql.handles.indices import Indices

    name, equals, value = text.partition("=")
    if not equals or name in inspect.signature(Indices.create).parameters:
        raise click.UsageError(f"--option is NAME=VALUE, not {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


@index.command()
@click.argument("table")
@click.argument("name")
@dry_run_option
@yes_option
def drop(table: str, name: str, dry_run: bool, yes: bool) -> None:
    """Drops the index NAME of TABLE. Earlier versions keep it."""
    dataset = latest(table)
    if dry_run and name not in dataset.indices:
        raise click.UsageError(f"No index {name!r}.")
    if agreed(f"drop the index {name!r} of {shown(dataset.uri)}", dry_run, yes):
        done(dataset.indices.drop(name))


@index.command()
@click.argument("table")
@click.argument("names", nargs=-1)
@click.option("--rebuild", is_flag=True, help="Rebuild them completely.")
@quiet_option
def optimize(table: str, names: tuple[str, ...], rebuild: bool, quiet: bool) -> None:
    """Extends the indices NAMES of TABLE, or all of them, to new rows."""
    from lance_sql.cli.progress import shown

    dataset = latest(table)
    with shown("rows indexed", hidden=quiet):
        indexed = dataset.indices.optimize(names or None, rebuild=rebuild)
    if indexed.version == dataset.version:
        click.echo("Nothing to do.", err=True)
    else:
        done(indexed)


@click.command(short_help="Explains which rows and pages a filter prunes.")
@click.argument("table")
@click.argument("where", required=False)
@click.option("--columns", type=NAMES, help="Columns to read, separated by commas.")
@click.option("--limit", type=click.IntRange(min=0), help="Maximum number of rows.")
@click.option("--analyze", is_flag=True, help="Also read the rows, and report the time.")
@click.option("--no-indices", is_flag=True, help="Ignore indices.")
def explain(
    table: str, where: str | None, columns: list[str] | None, limit: int | None, analyze: bool, no_indices: bool
) -> None:
    """Explains what a scan of TABLE with the filter WHERE reads, and what prunes the rest.

    \b
    lance-sql explain events.lance "user_id = 7"
    """
    from lance_sql.cli import tables

    dataset = tables.open_table(table, use_indices=not no_indices)
    scan = dataset.scan(columns, where, limit=limit)
    screen.show_text(scan.explain(analyze=analyze))


@click.command(short_help="Computes min/max statistics of columns.")
@click.argument("table")
@click.argument("columns", nargs=-1)
@click.option("--cache", metavar="FOLDER", help="Folder for the statistics; default: $LANCE_SQL_STATISTICS_CACHE.")
@quiet_option
def analyze(table: str, columns: tuple[str, ...], cache: str | None, quiet: bool) -> None:
    """Computes min/max statistics of COLUMNS of TABLE, or of all, so that later filters can prune.

    \b
    lance-sql analyze events.lance time user_id --cache ~/.cache/lance-sql
    """
    from lance_sql.cli import tables
    from lance_sql.cli.progress import Bar

    dataset = tables.open_table(table, statistics_cache=cache)
    if dataset.snapshot.learning.folder is None:
        raise click.UsageError("Name a folder: --cache or LANCE_SQL_STATISTICS_CACHE. Later scans look there.")
    bar = Bar("rows analyzed", hidden=quiet)
    try:
        zones_by_column = dataset.maintenance.analyze(columns or None, progress=bar.update)
    finally:
        bar.close()
    for name, (num_known, total) in zones_by_column.items():
        click.echo(f"{one_line(name)}: {num_known} of {total} zones learned")


VERBS = (index, explain, analyze)
