"""Where a commit comes from: the statement that asked for it, and the job that it is a part of.

    LANCE_SQL_JOB=nightly-load                     of every commit of a process
    with commit_origin.of(statement=..., job=...)  of the commits of a block, in this thread or task

Both are kept with the transaction, for whoever reads the history of the table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

JOB_VARIABLE: Final = "LANCE_SQL_JOB"
MAX_STATEMENT: Final = 8192
"""Characters of a statement that are kept: a statement may have its rows in it."""
MAX_JOB: Final = 256
_CUT: Final = " ..."


@dataclass(frozen=True, slots=True)
class CommitOrigin:
    """What is known of it; None for what is not.

    statement: in SQL, as it was typed
    job: as the user calls it
    """

    statement: str | None = None
    job: str | None = None


_current: ContextVar[CommitOrigin | None] = ContextVar("lance_sql_commit_origin", default=None)


@contextmanager
def of(statement: str | None = None, job: str | None = None) -> Iterator[None]:
    """What commits in the block say of where they come from."""
    token = _current.set(CommitOrigin(statement, job))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> CommitOrigin:
    """What a commit now says, cut to the lengths that are kept."""
    origin = _current.get() or CommitOrigin()
    job = origin.job or os.environ.get(JOB_VARIABLE, "").strip() or None
    return CommitOrigin(_cut(origin.statement, MAX_STATEMENT), _cut(job, MAX_JOB))


def _cut(text: str | None, length: int) -> str | None:
    return text if text is None or len(text) <= length else text[: length - len(_CUT)] + _CUT
