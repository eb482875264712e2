"""Progress of verbs, reported to a callback from anywhere that rows are read or written.

    with reporting(print):
        orders.maintenance.compact()             0 1000000, 131072 1000000, ..

The verb counts, and passes no callback to the functions that it calls. A verb of several steps restarts at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, TypeAlias, TypeVar

Progress: TypeAlias = Callable[[int, "int | None"], None]
"""Called with the amount done and the total, or None if it is unknown."""


class _HasRows(Protocol):
    @property
    def num_rows(self) -> int: ...


Rows = TypeVar("Rows", bound=_HasRows)

_CURRENT: Final[ContextVar[Progress | None]] = ContextVar("progress", default=None)


@contextmanager
def reporting(progress: Progress | None) -> Iterator[None]:
    """Reports the progress of verbs of this thread to the callback. None changes nothing."""
    if progress is None:
        yield
        return
    token = _CURRENT.set(progress)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def is_asked_for() -> bool:
    """Whether a callback is set, so that computing the total is worthwhile."""
    return _CURRENT.get() is not None


class Work:
    """One step of a verb.

    total: amount of work; None if unknown
    """

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._done = 0
        self._report = _CURRENT.get()
        self._tell()

    def advance(self, count: int) -> None:
        """Adds to the amount done."""
        self.reach(self._done + count)

    def reach(self, done: int) -> None:
        """Sets the amount done, unless it is higher already."""
        if self._report is not None and done > self._done:
            self._done = done if self._total is None else min(done, self._total)
            self._tell()

    def over(self, batches: Iterable[Rows]) -> Iterator[Rows]:
        """Yields the rows, and counts them as done when the next ones are requested."""
        for batch in batches:
            yield batch
            self.advance(batch.num_rows)

    def _tell(self) -> None:
        if self._report is not None:
            self._report(self._done, self._total)
