"""Progress on a terminal's stderr, which appears when the work takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click
import pyarrow as pa

_SECONDS_WITHOUT: Final = 2.0
_SECONDS_BETWEEN: Final = 0.2


class Bar:
    """How much of something is done.

    label: what is counted, such as "fragments checked"
    hidden: show nothing; nothing is shown either where stderr is not a terminal
    """

    def __init__(self, label: str, *, hidden: bool = False) -> None:
        self._label = label
        self._hidden = hidden or not sys.stderr.isatty()
        self._next = time.monotonic() + _SECONDS_WITHOUT
        self._bar: Any = None
        self._counted = False

    def update(self, done: int, total: int | None) -> None:
        """Shows how much is done; of how much, if that is known."""
        if self._hidden or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _SECONDS_BETWEEN
        if total is None:
            self._counted = True
            click.echo(f"\r{done:,} {self._label}", err=True, nl=False)
            return
        if self._bar is None:
            self._bar = click.progressbar(length=total, label=self._label, file=sys.stderr)
            self._bar.__enter__()
        self._bar.update(done - self._bar.pos)

    def close(self) -> None:
        """Ends the line."""
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
        if self._counted:
            click.echo(err=True)


@contextmanager
def counted(
    batches: Iterable[pa.RecordBatch], label: str, *, hidden: bool = False
) -> Iterator[Iterator[pa.RecordBatch]]:
    """The batches, whose rows are counted as they pass."""
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
