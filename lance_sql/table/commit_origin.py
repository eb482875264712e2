"""Who makes a commit, as part of which job, and the statement that asked for it.

    LANCE_SQL_JOB=nightly-load                   the job of every commit of a process; so LANCE_SQL_USER, LANCE_SQL_HOST
    lance_sql.configure(job="nightly-load")      the same from within
    with lance_sql.job("nightly-load"):          the job of the commits of a block, in this thread or task

All of it is stored with the transaction. User and host are those of the process where nothing else is given; an empty
text leaves them out.
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

MAX_STATEMENT: Final = 8192
"""Characters of a statement that are stored: a statement may have its rows in it."""
MAX_NAME: Final = 256
"""Characters of a job, a user or a host that are stored."""
_CUT: Final = " ..."
_VARIABLES: Final = {"job": "LANCE_SQL_JOB", "user": "LANCE_SQL_USER", "host": "LANCE_SQL_HOST"}

_configured: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class CommitOrigin:
    """What a commit records of where it comes from; None for what is not known.

    statement: in SQL, as it was typed
    job: the user's name of the job that the commit is a part of
    user, host: who runs the process, and where
    """

    statement: str | None = None
    job: str | None = None
    user: str | None = None
    host: str | None = None


_current: ContextVar[CommitOrigin] = ContextVar("lance_sql_commit_origin", default=CommitOrigin())  # noqa: B039  frozen


def configure(*, job: str | None = None, user: str | None = None, host: str | None = None) -> None:
    """Sets what all later commits of this process record. What is None stays as it is; "" leaves a name out.

    Environment variables do the same: LANCE_SQL_JOB, LANCE_SQL_USER and LANCE_SQL_HOST.

    job: the name of the job that commits are a part of; `job` sets it for a block
    user, host: in place of those of the process
    raises: InvalidArgument for what is no text
    """
    given = {name: value for name, value in {"job": job, "user": user, "host": host}.items() if value is not None}
    for name, value in given.items():
        if not isinstance(value, str):
            raise InvalidArgument(f"{name}={value!r} is no text")
    _configured.update(given)


@contextmanager
def job(name: str) -> Iterator[None]:
    """Names the job of all commits that the block makes, in this thread or task.

    raises: InvalidArgument for what is no text

    >>> with lance_sql.job("nightly-2026-11-26"):
    ...     changed = orders.delete("status = 'cancelled'")
    >>> changed.history(1)[0].job
    'nightly-2026-11-26'
    """
    if not isinstance(name, str):
        raise InvalidArgument(f"The name of a job is text, not {name!r}")
    with of(job=name):
        yield


@contextmanager
def of(statement: str | None = None, job: str | None = None) -> Iterator[None]:
    """Sets what commits in the block record; what is None stays as it is around the block."""
    outer = _current.get()
    token = _current.set(replace(outer, statement=statement or outer.statement, job=job or outer.job))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> CommitOrigin:
    """What a commit records now, cut to the lengths that are stored."""
    origin = _current.get()
    return CommitOrigin(
        _cut(origin.statement, MAX_STATEMENT),
        _cut(origin.job or _setting("job"), MAX_NAME),
        _cut(_setting("user", _user), MAX_NAME),
        _cut(_setting("host", _host), MAX_NAME),
    )


def _setting(name: str, default: Callable[[], str] = str) -> str | None:
    """What was configured, or the environment has, or the default; None for an empty text."""
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
