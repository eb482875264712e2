"""Confirmation and reporting of verbs that change tables."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import click

from lance_sql.table.version_names import split_name
from lance_sql.values.local_paths import shown

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset

T = TypeVar("T")

dry_run_option = click.option("--dry-run", "-n", is_flag=True, help="Report what would be done, and do nothing.")
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="No progress.")


@dataclass(frozen=True, slots=True)
class Consent:
    """Consent given in advance, as for the verbs that change tables.

    yes: skips the confirmation
    every: allow statements that remove or change every row
    dry_run: change nothing
    """

    yes: bool = False
    every: bool = False
    dry_run: bool = False


def latest(table: str) -> Dataset:
    """Opens the newest version of a table, or of the branch in its argument."""
    from lance_sql.cli import tables

    path, branch = path_and_branch(table)
    return tables.open_table(path, branch=branch)


def path_and_branch(table: str) -> tuple[str, str | None]:
    """Splits an argument into the path and the branch; None for main.

    raises: UsageError for a version or a tag
    """
    path, version, name = split_name(table)
    if version is None and name is None:
        return path, None
    if name is not None and _is_branch(path, name):
        return path, name
    raise click.UsageError(
        f"Changes apply to the newest version: give {path} without @{version or name}, or a branch, {path}@BRANCH."
    )


def _is_branch(path: str, name: str) -> bool:
    from lance_sql.cli import tables
    from lance_sql.errors import TableNotFound

    try:
        dataset = tables.open_table(path)
        # a name that reads as a tag must not write to a branch
        return name in dataset.branches and name not in dataset.tags
    except TableNotFound:
        return False


def unversioned(table: str) -> str:
    """Returns the path in an argument.

    raises: UsageError for a version, a tag or a branch
    """
    path, version, name = split_name(table)
    if version is not None or name is not None:
        raise click.UsageError(f"This applies to a whole table: give {path} without @{version or name}.")
    return path


def named(dataset: Dataset) -> str:
    """Describes the path of a table and its branch."""
    return shown(dataset.uri) + (f" branch {dataset.branch!r}" if dataset.branch is not None else "")


def rows(dataset: Dataset, where: str | None) -> str:
    """Describes the number of rows that a filter selects; also checks the filter."""
    selected, total = dataset.count_rows(where), dataset.count_rows()
    return f"{selected} of {count(total, 'row')} of {named(dataset)} version {dataset.version}"


def rehearse(dataset: Dataset, change: Callable[[Dataset], T]) -> T:
    """Runs the change in a clone of the table, which is then removed; this finds all errors of the change.

    returns: the result of the change
    """
    with tempfile.TemporaryDirectory(prefix="lance-sql-") as folder:
        # has the table's name, because errors contain it
        return change(dataset.branches.shallow_clone(os.path.join(folder, dataset.snapshot.name)))


def agreed(what: str, dry_run: bool, yes: bool) -> bool:
    """Reports the planned change, and returns whether to make it; asks for confirmation unless `yes`."""
    if dry_run:
        click.echo(f"Would {what}.", err=True)
        return False
    sentence = f"{what[0].upper()}{what[1:]}"
    if yes:
        click.echo(f"{sentence}.", err=True)
        return True
    if not _is_terminal():
        raise click.UsageError(f"No terminal to ask for confirmation: pass --yes to {what}, or --dry-run.")
    if click.confirm(f"{sentence}?", err=True):
        return True
    click.echo("Nothing was changed.", err=True)
    return False


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def done(dataset: Dataset, details: str = "") -> None:
    click.echo(f"{named(dataset)} is at version {dataset.version}" + (f": {details}" if details else ""), err=True)


def count(number: int, noun: str, several: str | None = None) -> str:
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"
