"""`lance-sql verify`: a check with a progress bar, and its report as JSON."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from typing import Any, Final

import click

from lance_sql.verification import Report, verify

DAMAGE_FOUND: Final = 1

_SECONDS_WITHOUT_BAR: Final = 2.0


class _Bar:
    """A progress bar on a terminal's stderr, which appears when the work takes longer."""

    def __init__(self, *, hidden: bool) -> None:
        self._hidden = hidden
        self._started = time.monotonic()
        self._bar: Any = None

    def update(self, done: int, total: int) -> None:
        if self._hidden or (self._bar is None and time.monotonic() - self._started < _SECONDS_WITHOUT_BAR):
            return
        if self._bar is None:
            self._bar = click.progressbar(length=total, label="fragments checked", file=sys.stderr)
            self._bar.__enter__()
        self._bar.update(done - self._bar.pos)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)


def run(path: str, *, version: int | None, tag: str | None, branch: str | None, deep: bool, quiet: bool) -> Report:
    """As `lance_sql.verify`."""
    bar = _Bar(hidden=quiet or not sys.stderr.isatty())
    try:
        return verify(path, version=version, tag=tag, branch=branch, deep=deep, progress=bar.update)
    finally:
        bar.close()


def as_json(report: Report) -> str:
    """The report as one JSON object."""
    content = dataclasses.asdict(report) | {
        "is_healthy": report.is_healthy,
        "newest_healthy_version": report.newest_healthy_version,
    }
    return json.dumps(content, indent=2)
