"""Records of operations, in the logger `lance_sql`: what was done to which table, and how long it took.

    watch = begin("scan")                    None unless somebody listens
    ..
    if watch is not None:
        watch.end(table=.., rows=..)         scan table=/data/orders.lance version=6 rows=104 ms=1.2

Records have the level DEBUG, or INFO if the operation took as long as the environment variable LANCE_SQL_SLOW says. For
handlers, each has the attributes `operation`, `facts`, `started_ns` and `ended_ns` (of `time.time_ns`).
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from typing import Any, Final, Protocol, TypeVar

from lance_sql.runtime import threads

VARIABLE: Final = "LANCE_SQL_SLOW"

_LOG: Final = logging.getLogger("lance_sql")
_TIME: Final = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|m)\s*")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}
_MOST_CHARACTERS: Final = 500
"""Of a fact in the line of text; handlers get all of it."""


class _HasRows(Protocol):
    @property
    def num_rows(self) -> int: ...


Rows = TypeVar("Rows", bound=_HasRows)


def parse_time(text: str) -> float | None:
    """Returns the seconds of a time such as 500ms, 1s or 2m; None for an empty text, and with a warning for others."""
    match = _TIME.fullmatch(text)
    if match is None and text.strip():
        _LOG.warning("%s is %r: write a time such as 500ms, 1s or 2m", VARIABLE, text)
    return None if match is None else float(match[1]) * _SECONDS[match[2]]


slow: float | None = parse_time(os.environ.get(VARIABLE, ""))
"""Seconds from which on an operation is slow; None if none is."""


class Watch:
    """An operation that is being timed. It ends in the thread and context of any reader, and is recorded in the context
    in which it began, so that a span of OpenTelemetry gets the right parent.

    level: of the record, unless the operation is slow
    """

    __slots__ = ("_context", "_idle_ns", "_start_ns", "facts", "level", "operation", "started_ns")

    def __init__(self, operation: str, level: int) -> None:
        self.operation = operation
        self.facts: dict[str, Any] = {}
        self.started_ns = time.time_ns()
        self.level = level
        self._start_ns = time.perf_counter_ns()
        self._idle_ns = 0
        self._context = copy_context()

    def note(self, **facts: Any) -> None:
        """Adds facts to the record: numbers, texts and lists of texts. Those that are None are left out."""
        kinds = (bool, int, float, list)
        given = {name: value for name, value in facts.items() if value is not None}
        self.facts |= {name: value if isinstance(value, kinds) else str(value) for name, value in given.items()}

    def over(self, batches: Iterable[Rows]) -> Iterator[Rows]:
        """Yields the rows, and ends with their number. The time of the consumer between two batches does not count."""
        num_rows = num_batches = 0
        with self:
            try:
                for batch in batches:
                    num_rows += batch.num_rows
                    num_batches += 1
                    paused = time.perf_counter_ns()
                    yield batch
                    self._idle_ns += time.perf_counter_ns() - paused
            finally:
                self.note(rows=num_rows, batches=num_batches)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # a reader that is closed early ends its stream, which is no error
        self.end(error=None if kind is None or kind is GeneratorExit else kind.__name__)

    def end(self, **facts: Any) -> None:
        """Ends the operation, and records it."""
        self.note(**facts)
        taken_ns = time.perf_counter_ns() - self._start_ns
        busy = (taken_ns - self._idle_ns) / 1e9
        is_slow = slow is not None and busy >= slow
        level = max(self.level, logging.INFO) if is_slow else self.level
        if not _LOG.isEnabledFor(level) or threads.is_ending():
            return
        text = " ".join([self.operation, *(f"{name}={_shown(value)}" for name, value in self.facts.items())])
        extra = {
            "operation": self.operation,
            "facts": {**self.facts, "ms": round(1000 * busy, 3)},
            "started_ns": self.started_ns,
            "ended_ns": self.started_ns + taken_ns,
        }
        self._context.run(_LOG.log, level, "%s ms=%.1f", text, 1000 * busy, extra=extra)


_OFF: Final = nullcontext()


def begin(operation: str, level: int = logging.DEBUG) -> Watch | None:
    """Begins an operation; returns None if nobody listens to its records."""
    wanted = level if slow is None else max(level, logging.INFO)
    return Watch(operation, level) if _LOG.isEnabledFor(wanted) else None


def recorded(operation: str, level: int = logging.DEBUG, **facts: Any) -> AbstractContextManager[Watch | None]:
    """Records the block of a `with` as an operation, and the class of an error that it raises. Its value is the watch,
    to add facts, or None if nobody listens."""
    watch = begin(operation, level)
    if watch is None:
        return _OFF
    watch.note(**facts)
    return watch


def _shown(value: object) -> str:
    """Returns a fact in one line; with quotes if it would not be one word."""
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    cut = text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
    return (
        cut
        if re.fullmatch(r"[^\s\"=]+", cut) and cut.isprintable()
        else json.dumps(cut, ensure_ascii=not cut.isprintable())
    )
