"""How much of a verb is done: told to whoever asked for it, from wherever rows are read or written.

    with reporting(print):
        orders.compact()             0 1000000, 131072 1000000, ..

The verb counts, and nothing of it takes a callback along. A verb of several steps begins to count anew with each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, TypeAlias, TypeVar

Progress: TypeAlias = Callable[[int, "int | None"], None]
"""Told how much is done, and of how much, or None where that is not known."""


class _HasRows(Protocol):
    @property
    def num_rows(self) -> int: ...


Rows = TypeVar("Rows", bound=_HasRows)

_CURRENT: Final[ContextVar[Progress | None]] = ContextVar("progress", default=None)


@contextmanager
def reporting(progress: Progress | None) -> Iterator[None]:
    """Has verbs of this thread tell how far they are; None leaves that as it is."""
    if progress is None:
        yield
        return
    token = _CURRENT.set(progress)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def is_asked_for() -> bool:
    """Whether anybody is told, so that it is worth finding out."""
    return _CURRENT.get() is not None


class Work:
    """One step of a verb.

    total: how much there is to do; None where that is not known
    """

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._done = 0
        self._report = _CURRENT.get()
        self._tell()

    def advance(self, count: int) -> None:
        """So much more is done."""
        self.reach(self._done + count)

    def reach(self, done: int) -> None:
        """So much is done in all, if not more."""
        if self._report is not None and done > self._done:
            self._done = done if self._total is None else min(done, self._total)
            self._tell()

    def over(self, batches: Iterable[Rows]) -> Iterator[Rows]:
        """The same rows, which count as done when the next ones are asked for."""
        for batch in batches:
            yield batch
            self.advance(batch.num_rows)

    def _tell(self) -> None:
        if self._report is not None:
            self._report(self._done, self._total)
