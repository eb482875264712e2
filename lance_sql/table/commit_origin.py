"""Origin of a commit: the user, the job and the SQL statement.

    LANCE_SQL_JOB=nightly-load                   the job of every commit of a process; so LANCE_SQL_USER, LANCE_SQL_HOST
    lance_sql.configure(job="nightly-load")      the same from Python
    with lance_sql.job("nightly-load"):          the job of the commits of a block, in this thread or task

All of it is stored with the transaction. User and host default to those of the process. An empty text leaves them out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from lance_sql.errors import InvalidArgument
from lance_sql.values.keywords import suggests_keywords

MAX_STATEMENT: Final = 8192
"""Maximum length of a stored statement in characters, because a statement may contain rows."""
MAX_NAME: Final = 256
"""Maximum length of a stored job, user or host in characters."""
_CUT: Final = " ..."
_VARIABLES: Final = {"job": "LANCE_SQL_JOB", "user": "LANCE_SQL_USER", "host": "LANCE_SQL_HOST"}

_configured: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class CommitOrigin:
    """Origin that a commit records; None for unknown values.

    statement: SQL text as typed
    job: the user's name of the job that the commit is a part of
    user, host: of the process
    """

    statement: str | None = None
    job: str | None = None
    user: str | None = None
    host: str | None = None


UNKNOWN: Final = CommitOrigin()
"""Origin of a commit that records none."""

_current: ContextVar[CommitOrigin] = ContextVar("lance_sql_commit_origin", default=UNKNOWN)


@suggests_keywords
def configure(*, job: str | None = None, user: str | None = None, host: str | None = None) -> None:
    """Sets the origin that all later commits of this process record. None keeps a value; "" leaves a name out.

    Environment variables do the same: LANCE_SQL_JOB, LANCE_SQL_USER and LANCE_SQL_HOST.

    job: the name of the job that commits are a part of; `job` sets it for a block
    user, host: instead of those of the process
    raises: InvalidArgument for values that are not text
    """
    given = {name: value for name, value in {"job": job, "user": user, "host": host}.items() if value is not None}
    for name, value in given.items():
        if not isinstance(value, str):
            raise InvalidArgument(f"{name}={value!r} is not text")
    _configured.update(given)


@suggests_keywords
@contextmanager
def job(name: str) -> Iterator[None]:
    """Sets the job name of all commits of the block, in this thread or task.

    raises: InvalidArgument for values that are not text

    >>> with lance_sql.job("nightly-2026-11-26"):
    ...     changed = orders.delete("status = 'cancelled'")
    >>> changed.history(1)[0].job
    'nightly-2026-11-26'
    """
    if name is None:
        raise InvalidArgument("The name of a job must be text, not None")
    with of(job=checked_job(name)):
        yield


def checked_job(name: str | None) -> str | None:
    """Returns the name of a job; None for that of the process.

    raises: InvalidArgument for values that are not text
    """
    if not isinstance(name, str | None):
        raise InvalidArgument(f"The name of a job must be text, not {name!r}")
    return name


@contextmanager
def of(statement: str | None = None, job: str | None = None) -> Iterator[None]:
    """Sets the origin that commits of the block record. None keeps the outer value."""
    outer = _current.get()
    token = _current.set(replace(outer, statement=statement or outer.statement, job=job or outer.job))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> CommitOrigin:
    """Returns the current origin for a commit, cut to the stored lengths."""
    origin = _current.get()
    return CommitOrigin(
        _cut(origin.statement, MAX_STATEMENT),
        _cut(origin.job or _setting("job"), MAX_NAME),
        _cut(_setting("user", _user), MAX_NAME),
        _cut(_setting("host", _host), MAX_NAME),
    )


def _setting(name: str, default: Callable[[], str] = str) -> str | None:
    """Returns the configured value, or the environment variable, or the default; None for an empty text."""
    value = _configured.get(name)
    if value is None:
        value = os.environ.get(_VARIABLES[name])
    return (default() if value is None else value.strip()) or None


@cache
def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        # a process without an entry in the list of users
        return ""


@cache
def _host() -> str:
    import platform

    return platform.node()


def _cut(text: str | None, length: int) -> str | None:
    return text if text is None or len(text) <= length else text[: length - len(_CUT)] + _CUT
