"""Keywords that every change of a table takes: properties of its transaction, its job, and a callback for progress; and
changes with these keywords."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict

from lance_sql.runtime.progress import Progress, reporting
from lance_sql.table import commit_origin
from lance_sql.table.commit_summary import CommitSummary
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.keywords import check_keywords


class CommitOptions(TypedDict, total=False):
    """Keywords of every change.

    properties: stored with the transaction
    job: name of the job that the commit is a part of, as `lance_sql.job` sets it
    progress: called with the number of rows done and their total, or None, for each step
    """

    properties: Mapping[str, str] | None
    job: str | None
    progress: Progress | None


class AppendOptions(CommitOptions, total=False):
    """Keywords of an append; see `jobs.writing.write`."""

    max_rows_per_file: int
    max_bytes_per_file: int
    txn_app_id: str | None
    txn_version: int | None


@contextmanager
def committing(method: str, options: CommitOptions, *, also: Sequence[str] = ()) -> Iterator[Mapping[str, str] | None]:
    """Applies the options to the commits of the block, and returns the properties.

    method: for messages
    also: keywords of the method that may be among the options
    raises: TypeError for unknown keywords; InvalidArgument for a job that is not text
    """
    check_keywords(method, options, (*also, *CommitOptions.__annotations__))
    job = commit_origin.checked_job(options.get("job"))
    with reporting(options.get("progress")), commit_origin.of(job=job):
        yield options.get("properties")


def changed(
    snapshot: Snapshot,
    operation: str,
    options: CommitOptions,
    commit: Callable[..., Snapshot],
    /,
    *arguments: Any,
    **chosen: Any,
) -> Snapshot:
    """Commits a change. Returns the version after it: the one that it made, or the existing one if it made none.

    operation: for messages, and for the summary of a change that made no version
    commit: called with the snapshot, the other arguments, and the properties of the options
    """
    with committing(operation, options) as properties:
        made = commit(snapshot, *arguments, properties=properties, **chosen)
    if made is snapshot or made.commit_properties is None:
        return made.with_commit(CommitSummary(operation, 0, 0, 0, 0, 0).to_properties())
    return made
