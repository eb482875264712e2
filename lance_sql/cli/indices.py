"""`lance-sql index`: lists, builds, drops and updates the indices of a table; `lance-sql explain`."""

from __future__ import annotations

import json
from typing import Any

import click

from lance_sql.cli import screen
from lance_sql.cli.agreement import agreed, done, dry_run_option, latest, quiet_option, yes_option
from lance_sql.cli.errors import reports_errors
from lance_sql.runtime.terminal_text import one_line
from lance_sql.values.local_paths import shown

_KINDS = ("zonemap", "btree", "bitmap", "bloomfilter", "ivf_pq", "ivf_sq", "ivf_rq", "ivf_flat", "inverted")


@click.group()
def index() -> None:
    """Lists, builds, drops and updates indices.

    \b
    lance-sql index list events.lance
    lance-sql index create events.lance user_id btree
    lance-sql index create events.lance embedding ivf_pq --option metric=cosine
    lance-sql index update events.lance
    """


@index.command(name="list")
@click.argument("table")
@click.option("--output", "-o", type=click.Choice(("table", "json", "csv", "markdown")), default="table")
@reports_errors
def list_indices(table: str, output: str) -> None:
    """Lists the indices of TABLE, and how many fragments they cover."""
    from lance_sql.catalogs import metadata_tables
    from lance_sql.cli import tables

    indices = metadata_tables.indices(tables.open_table(table)).to_reader()
    screen.show(indices, output)


@index.command()
@click.argument("table")
@click.argument("column")
@click.argument("kind", type=click.Choice(_KINDS, case_sensitive=False))
@click.option("--name", help="Of the index; COLUMN_idx without it.")
@click.option("--replace", is_flag=True, help="Instead of an index of that name.")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Of kinds for vectors and words.")
@quiet_option
@reports_errors
def create(
    table: str, column: str, kind: str, name: str | None, replace: bool, options: tuple[str, ...], quiet: bool
) -> None:
    """Builds an index of KIND on COLUMN of TABLE.

    zonemap for columns whose values lie together, btree for many distinct values, bitmap for few, bloomfilter for = and
    IN alone; ivf_pq, ivf_sq, ivf_rq and ivf_flat for vectors, with the options metric, num_partitions, of ivf_pq
    num_sub_vectors and num_bits, and of ivf_rq num_bits; inverted for words, with with_position, language, stem and
    others.
    """
    from lance_sql.cli.progress import shown

    given = dict(map(_option, options))
    with shown("rows indexed", hidden=quiet):
        indexed = latest(table).create_index(column, kind, name=name, replace=replace, **given)
    done(indexed)


def _option(text: str) -> tuple[str, Any]:
    """A name and what its value means: numbers, true, false and lists as in JSON, else text."""
    name, equals, value = text.partition("=")
    if not equals or name in ("name", "replace", "progress", "properties"):
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
@reports_errors
def drop(table: str, name: str, dry_run: bool, yes: bool) -> None:
    """Drops the index NAME of TABLE. Versions that have it keep it."""
    dataset = latest(table)
    if dry_run and name not in {each.name for each in dataset.indices()}:
        raise click.UsageError(f"There is no index {name!r}.")
    if agreed(f"drop the index {name!r} of {shown(dataset.uri)}", dry_run, yes):
        done(dataset.drop_index(name))


@index.command()
@click.argument("table")
@click.argument("names", nargs=-1)
@click.option("--rebuild", is_flag=True, help="Build them again as a whole.")
@quiet_option
@reports_errors
def update(table: str, names: tuple[str, ...], rebuild: bool, quiet: bool) -> None:
    """Makes the indices NAMES of TABLE, or all, cover the rows that came since they were built."""
    from lance_sql.cli.progress import shown

    dataset = latest(table)
    with shown("rows indexed", hidden=quiet):
        indexed = dataset.optimize_indices(names or None, rebuild=rebuild)
    if indexed.version == dataset.version:
        click.echo("Nothing to do.", err=True)
    else:
        done(indexed)


@click.command()
@click.argument("table")
@click.argument("where", required=False)
@click.option("--columns", metavar="COLUMNS", help="Only these, with commas between.")
@click.option("--limit", type=click.IntRange(min=0), help="At most so many rows.")
@click.option("--analyze", is_flag=True, help="Read the rows as well, and say how long it took.")
@click.option("--no-indices", is_flag=True, help="Do without indices.")
@reports_errors
def explain(
    table: str, where: str | None, columns: str | None, limit: int | None, analyze: bool, no_indices: bool
) -> None:
    """Says what a scan of TABLE with the filter WHERE reads, and what ruled out the rest.

    \b
    lance-sql explain events.lance "user_id = 7"
    """
    from lance_sql.cli import tables

    dataset = tables.open_table(table, use_indices=not no_indices)
    scan = dataset.scan(None if columns is None else columns.split(","), where, limit=limit)
    screen.show_text(scan.explain(analyze=analyze))


@click.command()
@click.argument("table")
@click.argument("columns", nargs=-1)
@click.option("--cache", metavar="FOLDER", help="Where to keep it; without, where LANCE_SQL_STATISTICS_CACHE says.")
@quiet_option
@reports_errors
def analyze(table: str, columns: tuple[str, ...], cache: str | None, quiet: bool) -> None:
    """Looks at COLUMNS of TABLE, or all, so that filters on them read only what can match; the table stays as it is.

    \b
    lance-sql analyze events.lance time user_id --cache ~/.cache/lance-sql
    """
    from lance_sql.cli import tables
    from lance_sql.cli.progress import Bar

    dataset = tables.open_table(table, statistics_cache=cache)
    if dataset.snapshot.learning.folder is None:
        raise click.UsageError("Name a folder: --cache or LANCE_SQL_STATISTICS_CACHE. Nobody would find it elsewhere.")
    bar = Bar("rows analyzed", hidden=quiet)
    try:
        zones_by_column = dataset.analyze(columns or None, progress=bar.update)
    finally:
        bar.close()
    for name, (num_known, total) in zones_by_column.items():
        click.echo(f"{one_line(name)}: knows {num_known} of {total} zones")


VERBS = (index, explain, analyze)
