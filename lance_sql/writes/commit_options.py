"""Keywords that every change of a table takes: properties of its transaction, its job, and a callback for progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict

from lance_sql.runtime.progress import Progress, reporting
from lance_sql.table import commit_origin
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
