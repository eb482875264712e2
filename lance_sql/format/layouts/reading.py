"""Readings: reads in several rounds of requests, each of which depends on the bytes of the one before.

A reading is a generator. It yields the byte ranges of a round, is sent their buffers in the same order, and returns
its result. The caller decides how ranges are fetched. Concurrent readings share their rounds.
"""

from collections.abc import Callable, Generator, Hashable, Sequence
from itertools import islice
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from lance_sql.store import ByteRange

T = TypeVar("T")

Reading: TypeAlias = Generator[Sequence[ByteRange], Sequence[pa.Buffer], T]


def run(reading: Reading[T], fetch: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]) -> T:
    """Runs a reading, whose ranges `fetch` reads, and returns its result; a round without ranges fetches nothing."""
    try:
        ranges = next(reading)
        while True:
            ranges = reading.send(fetch(ranges) if ranges else ())
    except StopIteration as stop:
        result: T = stop.value
        return result


def interleaved(readings: Sequence[Reading[T]]) -> Reading[list[T]]:
    """Runs readings in parallel, and returns their results in order; they share each round of requests."""
    if len(readings) == 1:
        return [(yield from readings[0])]
    results: dict[int, T] = {}
    waiting: list[tuple[int, Reading[T], Sequence[ByteRange]]] = []
    for index, reading in enumerate(readings):
        try:
            waiting.append((index, reading, next(reading)))
        except StopIteration as stop:
            results[index] = stop.value
    while waiting:
        buffers = iter((yield [where for _, _, ranges in waiting for where in ranges]))
        asked, waiting = waiting, []
        for index, reading, ranges in asked:
            try:
                waiting.append((index, reading, reading.send(list(islice(buffers, len(ranges))))))
            except StopIteration as stop:
                results[index] = stop.value
    return [results[index] for index in range(len(readings))]


class Shared:
    """Results shared by several readings of a run; the first reading computes them, and the others wait a round."""

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], Reading[T]]) -> Reading[T]:
        """Returns the result for `key`, computed by the first reading that needs it."""
        if key not in self._results:
            self._results[key] = _PENDING
            self._results[key] = yield from make()
        while self._results[key] is _PENDING:
            yield ()
        result: T = self._results[key]
        return result


_PENDING = object()
