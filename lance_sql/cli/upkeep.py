"""Commands that maintain tables: compaction, cleanup, restore, tags, stable row ids.

They ask for confirmation as those of `row_changes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    rows,
    unversioned,
    yes_option,
)
from lance_sql.cli.options import AGE, branch_option
from lance_sql.runtime.terminal_text import one_line
from lance_sql.table.version_names import as_version, split_name

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset


@click.command(short_help="Joins short fragments, and removes deleted rows.")
@click.argument("table")
@click.option("--target-rows", type=click.IntRange(min=1), help="Join fragments with fewer rows than this.")
@click.option(
    "--max-deleted",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="Rewrite fragments with a larger share of deleted rows.",
)
@click.option(
    "--indices",
    type=click.Choice(("update", "keep", "drop")),
    default="update",
    show_default=True,
    help="Treatment of indices that cannot be remapped.",
)
@dry_run_option
@quiet_option
def compact(table: str, target_rows: int | None, max_deleted: float, indices: str, dry_run: bool, quiet: bool) -> None:
    """Rewrites short fragments of TABLE, and fragments with many deleted rows. No row changes.

    \b
    lance-sql compact events.lance
    lance-sql compact events.lance@load
    """
    from lance_sql.jobs.writing import MAX_ROWS_PER_FILE

    dataset = latest(table)
    target = target_rows or MAX_ROWS_PER_FILE
    groups = dataset.maintenance.plan_compaction(target_rows=target, max_deleted_share=max_deleted)
    if not groups:
        click.echo("Nothing to compact.", err=True)
        return
    old = sum(len(group.fragment_ids) for group in groups)
    click.echo(
        f"{'Would rewrite' if dry_run else 'Rewrite'} {count(old, 'fragment')}"
        f" with {count(sum(group.num_rows for group in groups), 'row')}.",
        err=True,
    )
    if not dry_run:
        with progress.shown("rows compacted", hidden=quiet):
            compacted = dataset.maintenance.compact(
                target_rows=target,
                max_deleted_share=max_deleted,
                indices=indices,  # type: ignore[arg-type]  # click has checked the text
            )
        done(compacted, count(len(compacted.snapshot.manifest.fragments), "fragment"))


@click.command(short_help="Goes back to the rows of an earlier version.")
@click.argument("table")
@click.argument("version", required=False)
@dry_run_option
@yes_option
def restore(table: str, version: str | None, dry_run: bool, yes: bool) -> None:
    """Creates a new version of TABLE with the rows of an earlier or tagged one. Removes no version.

    \b
    lance-sql restore events.lance 40
    lance-sql restore events.lance@audited
    lance-sql restore events.lance yesterday
    lance-sql restore events.lance@load 40
    """
    from lance_sql.cli import tables

    path, branch = (table, None) if version is None else path_and_branch(table)
    chosen = table if version is None else f"{path}@{version}"
    path, number, tag = split_name(chosen)
    if number is None and tag is None:
        raise click.UsageError(f"Name a version: {path} 41, or {path}@tag.")
    earlier = tables.open_table(chosen, branch=None if tag is not None and branch is None else branch)
    if tag is not None and tag == earlier.branch and tag not in earlier.tags:
        raise click.UsageError(f"{tag!r} is a branch: give a version or a tag to restore.")
    what = (
        f"return from {_newest(path, branch, earlier)} to version {earlier.version} "
        f"({count(earlier.count_rows(), 'row')}); no version is removed"
    )
    if agreed(what, dry_run, yes):
        done(earlier.restore())


@click.command(short_help="Creates a tag for a version, or lists the tags.")
@click.argument("table")
@click.argument("name", required=False)
@click.argument("version", required=False)
@click.option("--move", is_flag=True, help="Move an existing tag to this version.")
@click.option("--delete", "remove", is_flag=True, help="Remove the tag.")
@dry_run_option
@yes_option
def tag(table: str, name: str | None, version: str | None, move: bool, remove: bool, dry_run: bool, yes: bool) -> None:
    """Creates a tag for a version of TABLE, or lists the tags.

    \b
    lance-sql tag events.lance
    lance-sql tag events.lance@41 audited
    lance-sql tag events.lance audited 41 --move
    lance-sql tag events.lance audited --delete
    """
    from lance_sql.cli import tables

    if move and remove:
        raise click.UsageError("Give one of --move and --delete.")
    if version is not None:
        if remove:
            raise click.UsageError("Leave the version out: --delete removes the tag of any version.")
        if name is not None and as_version(name) is not None and as_version(version) is None:
            raise click.UsageError(f"NAME comes before VERSION: lance-sql tag {table} {version} {name}.")
        path, branch = path_and_branch(table)
        dataset = tables.open_version(path, int(version) if version.lstrip("-").isdigit() else version, branch=branch)
    else:
        dataset = tables.open_table(table)
    if name is None:
        if move or remove:
            raise click.UsageError("Name a tag.")
        for each, ref in sorted(dataset.tags.list().items()):
            click.echo(f"{one_line(each)}\t{ref.version}" + (f"\t{one_line(ref.branch)}" if ref.branch else ""))
    elif remove:
        if agreed(f"remove the tag {name!r}{_named(dataset, name)}", dry_run, yes):
            dataset.tags.delete(name)
            click.echo(f"Removed tag {name!r}.", err=True)
    elif as_version(name) is not None:
        raise click.UsageError(f"A tag needs a name: lance-sql tag {table} NAME {name}.")
    elif not move and dry_run:
        click.echo(f"Would tag version {dataset.version} as {name!r}.", err=True)
    elif not move:
        dataset.tags.create(name)
        click.echo(f"Tag {name!r} is at version {dataset.version}.", err=True)
    elif agreed(f"move the tag {name!r}{_named(dataset, name)} to version {dataset.version}", dry_run, yes):
        dataset.tags.move(name)
        click.echo(f"Tag {name!r} is at version {dataset.version}.", err=True)


@click.command(short_help="Removes old versions and files, to free disk space.")
@click.argument("table")
@click.option("--older-than", type=AGE, metavar="AGE", help="Remove only versions older than this: 30d, 12h, 90m.")
@click.option("--keep", "retain_versions", type=click.IntRange(min=1), help="Number of newest versions to keep.")
@click.option("--max-lag", type=AGE, metavar="AGE", help="Release cursors and branches that lag further behind.")
@dry_run_option
@quiet_option
@yes_option
def cleanup(table: str, dry_run: bool, quiet: bool, yes: bool, **options: Any) -> None:
    """Removes old versions of TABLE and files that no version needs.

    The default is versions older than two weeks. Keeps everything that a tag, a branch, a cursor or a remaining
    version needs.

    \b
    lance-sql cleanup events.lance --older-than 30d
    lance-sql cleanup events.lance@load --keep 1
    """
    dataset = latest(table)
    with progress.shown("versions read", hidden=quiet):
        plan = dataset.maintenance.cleanup(**options, dry_run=True)
    for name in plan.released:
        click.echo(f"The {_holder(name)} is too far behind, and no longer preserves versions.", err=True)
    for name in sorted({name for names in plan.held.values() for name in names}):
        held = [version for version, names in plan.held.items() if name in names]
        what = count(len(held), "version")
        click.echo(f"The {_holder(name)} still needs {what}, from {min(held)} on.", err=True)
    if not plan.versions and not plan.files:
        click.echo("Nothing to remove.", err=True)
        return
    for file in plan.versions:
        click.echo(f"version {file.version}")
    for path in plan.files:
        click.echo(one_line(path))
    what = f"remove {count(len(plan.versions), 'version')} and {count(len(plan.files), 'file')} that no other needs"
    if agreed(what, dry_run, yes):
        with progress.shown("versions read, then files removed", hidden=quiet):
            done = dataset.maintenance.cleanup(**options)
        click.echo(f"Removed {count(len(done.versions), 'version')} and {count(len(done.files), 'file')}.", err=True)


@click.command(name="enable-stable-row-ids", short_help="Adds stable row ids, which change queries need.")
@click.argument("table")
@branch_option
@click.option(
    "--indices",
    type=click.Choice(("keep", "drop")),
    default="keep",
    show_default=True,
    help="Treatment of existing indices.",
)
@dry_run_option
@yes_option
def enable_stable_row_ids(table: str, branch: str | None, indices: str, dry_run: bool, yes: bool) -> None:
    """Gives the rows of TABLE stable ids, so that it records row history from now on.

    For tables created without them. Reads and writes no data file; earlier versions stay unchanged.
    """
    from lance_sql.cli import tables

    dataset = tables.open_table(unversioned(table), branch=branch)
    dropped = indices == "drop" and f" and drop {count(len(dataset.snapshot.indices()), 'index', 'indices')}"
    if agreed(f"give {rows(dataset, None)} stable row ids{dropped or ''}", dry_run, yes):
        done(dataset.maintenance.enable_stable_row_ids(indices=indices))  # type: ignore[arg-type]  # click has checked the text


VERBS = (compact, restore, tag, cleanup, enable_stable_row_ids)


def _newest(path: str, branch: str | None, earlier: Dataset) -> str:
    """Describes the newest version of a table, even if it cannot be read."""
    from lance_sql.cli import tables
    from lance_sql.errors import CorruptFile

    try:
        latest = tables.open_table(path, branch=branch)
        return f"version {latest.version} ({count(latest.count_rows(), 'row')})"
    except CorruptFile as error:
        newest = max(info.version for info in earlier.versions())
        return f"version {newest}, which is damaged ({error}),"


def _named(dataset: Dataset, tag: str) -> str:
    """Describes the current version of a tag.

    raises: VersionNotFound when there is no such tag
    """
    from lance_sql.errors import VersionNotFound
    from lance_sql.table.version_names import unknown_name

    tags = dataset.tags.list()
    ref = tags.get(tag)
    if ref is None:
        raise VersionNotFound(unknown_name("tag", tag, dataset.snapshot.name, tags))
    return f" of version {ref.version}" + (f" of {ref.branch}" if ref.branch else "")


def _holder(name: str) -> str:
    """Returns the noun and name of a cursor or branch that keeps versions."""
    return one_line(name if name.startswith("branch ") else f"cursor {name}")
