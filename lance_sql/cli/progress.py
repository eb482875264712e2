"""Progress on a terminal's stderr, which appears when the work takes longer than two seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from lance_sql.runtime import threads
from lance_sql.runtime.progress import reporting

if TYPE_CHECKING:
    import pyarrow as pa

_SECONDS_WITHOUT: Final = 2.0
_SECONDS_BETWEEN: Final = 0.2
_WIDTH: Final = 24


class Bar:
    """Progress bar.

    label: the counted units, such as "fragments checked"
    hidden: show nothing; also the case if stderr is not a terminal
    """

    def __init__(self, label: str, *, hidden: bool = False) -> None:
        self._label = label
        self._hidden = hidden or not sys.stderr.isatty()
        self._started = self._step_started = time.monotonic()
        self._next = self._started + _SECONDS_WITHOUT
        self._step: tuple[int, int | None] = 0, None
        self._is_shown = False

    def update(self, done: int, total: int | None) -> None:
        """Shows the done and, if known, the total number of units."""
        if self._hidden:
            return
        now = time.monotonic()
        before, of = self._step
        self._step = done, total
        if total != of or done < before:
            # each step has its own speed
            self._step_started = now
        if now < self._next:
            return
        self._next = now + _SECONDS_BETWEEN
        self._is_shown = True
        click.echo(f"\r\x1b[2K{self._line(done, total, now - self._step_started)}", err=True, nl=False)

    def close(self) -> None:
        """Ends the line."""
        if self._is_shown:
            self._is_shown = False
            click.echo(err=True)

    def _line(self, done: int, total: int | None, seconds: float) -> str:
        rate = done / seconds if seconds > 0 else 0.0
        speed = f", {rate:,.0f} a second" if rate >= 1 else ""
        if not total:
            return f"{done:,} {self._label}{speed}"
        filled = _WIDTH * done // total
        rest = f", about {(total - done) / rate:,.0f} s left" if rate > 0 else ""
        share = f"{100 * done // total:3d}%"
        return f"{self._label} [{'#' * filled}{'-' * (_WIDTH - filled)}] {share} of {total:,}{speed}{rest}"


@contextmanager
def shown(label: str, *, hidden: bool = False) -> Iterator[None]:
    """Shows the progress of verbs within a block.

    label: the counted units, such as "rows"
    """
    bar = Bar(label, hidden=hidden)
    try:
        with reporting(bar.update):
            yield
    finally:
        bar.close()


class Watch:
    """Status line of a running query: the time, the share done if the engine knows it, and the number of rows so far.

    It appears after two seconds on a terminal's stderr, and disappears before rows are shown.
    """

    def __init__(self, connection: Any, *, hidden: bool) -> None:
        self._connection = connection
        self._hidden = hidden or not sys.stderr.isatty()
        self._rows = 0
        self._started = time.monotonic()
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the updates."""
        if not self._hidden:
            self._thread = threads.start(self._look, "lance-sql-progress", daemon=True)

    def stop(self) -> None:
        """Removes the line."""
        self._ends.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def count(self, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """Returns the same rows, and counts them as they pass."""
        import pyarrow as pa

        if self._hidden:
            return reader

        def passing() -> Iterator[pa.RecordBatch]:
            try:
                for batch in reader:
                    self._rows += batch.num_rows
                    yield batch
            finally:
                # the rows are shown next
                self.stop()

        return pa.RecordBatchReader.from_batches(reader.schema, passing())

    def line(self) -> str:
        """Returns the current status."""
        seconds = time.monotonic() - self._started
        parts = [f"{seconds:.0f} s"]
        share = self._connection.query_progress()
        if 0 < share <= 100:
            parts.append(f"{share:.0f}%, about {seconds * (100 - share) / share:.0f} s left")
        if self._rows:
            parts.append(f"{self._rows:,} rows, {self._rows / seconds:,.0f} a second")
        return "running for " + ", ".join(parts)

    def _look(self) -> None:
        wait, shown = _SECONDS_WITHOUT, False
        while not self._ends.wait(wait):
            click.echo(f"\r\x1b[2K{self.line()}", err=True, nl=False)
            wait, shown = _SECONDS_BETWEEN, True
        if shown:
            click.echo("\r\x1b[2K", err=True, nl=False)


@contextmanager
def watched(
    connection: Any, *, hidden: bool = False
) -> Iterator[Callable[[pa.RecordBatchReader], pa.RecordBatchReader]]:
    """Shows the status of a statement of the connection; yields a function that counts the rows of its result.

    connection: of DuckDB
    """
    watch = Watch(connection, hidden=hidden)
    watch.start()
    try:
        yield watch.count
    finally:
        watch.stop()


@contextmanager
def counted(
    batches: Iterable[pa.RecordBatch], label: str, *, hidden: bool = False
) -> Iterator[Iterator[pa.RecordBatch]]:
    """Yields the batches, and shows the number of their rows as they pass."""
    bar = Bar(label, hidden=hidden)

    def passing() -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in batches:
            done += batch.num_rows
            bar.update(done, None)
            yield batch

    try:
        yield passing()
    finally:
        bar.close()
