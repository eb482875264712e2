"""Tables in arguments of the command line: `path`, `path@41`, `path@tag`, `path@branch`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.runtime.terminal_text import one_line
from lance_sql.table.version_names import no_commit_of, split_name
from lance_sql.values.sql_text import literal

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_sql import Cursor


def open_table(
    name: str, *, branch: str | None = None, use_indices: bool = True, statistics_cache: str | None = None
) -> Dataset:
    """Opens the version of a table in an argument.

    raises: as `lance_sql.open`
    """
    opening = partial(lance_sql.opening.open, use_indices=use_indices, statistics_cache=statistics_cache)
    if branch is None:
        return opening(name)
    path, version, tag = split_name(name)
    return opening(path, version=tag if version is None else version, branch=branch)


def open_version(path: str, version: int | str, *, branch: str | None = None) -> Dataset:
    """Opens one version of a table.

    raises: as `lance_sql.open`
    """
    return lance_sql.opening.open(path, version=version, branch=branch)


def columns(path: str, branch: str | None) -> pa.Schema:
    """Returns the columns of the newest version of a table; none for one that does not exist."""
    import pyarrow as pa

    from lance_sql.errors import TableNotFound

    try:
        return open_table(path, branch=branch).schema
    except TableNotFound:
        return pa.schema([])


def existing_cursor(dataset: Dataset, name: str) -> Cursor:
    """Opens an existing cursor of the table.

    raises: VersionNotFound if there is none; InvalidArgument for one of another branch
    """
    from lance_sql.errors import VersionNotFound, sentence
    from lance_sql.table.version_names import unknown_name

    cursors = dataset.cursors.list()
    if name not in cursors:
        unknown = unknown_name("cursor", name, dataset.snapshot.name, cursors)
        raise VersionNotFound(
            f"{sentence(unknown)} To create it: lance-sql cursors TABLE {one_line(name)} --start earliest"
        )
    return dataset.cursors.open(name)


def of_job(where: str | None, job: str | None, *columns: str) -> str | None:
    """Adds to a filter that one of some columns is the name of a job; without a job, returns the filter unchanged."""
    if job is None:
        return where
    by_job = " OR ".join(f"{column} = {literal(job)}" for column in columns)
    return by_job if where is None else f"({by_job}) AND ({where})"


def check_job(dataset: Dataset, job: str | None) -> None:
    """Makes sure that a commit of the table is of a job.

    raises: VersionNotFound
    """
    from lance_sql.errors import VersionNotFound

    if job is None or dataset.history(job=job):
        return
    known = sorted({each.job for each in dataset.history() if each.job})
    raise VersionNotFound(no_commit_of(dataset.snapshot.name, job, known))
