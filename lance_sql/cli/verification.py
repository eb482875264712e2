"""`lance-sql verify` and `lance-sql audit`: a check with a progress bar, its report, and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from lance_sql.cli import progress, screen
from lance_sql.health.verification import Report
from lance_sql.table.version_names import split_name

DAMAGE_FOUND: Final = 1
"""Exit code if the newest version has a problem."""

OLD_DAMAGE_FOUND: Final = 4
"""Exit code if the newest version is healthy, but older ones have problems."""


def run(check: Callable[..., Report], table: str, *, quiet: bool, **options: Any) -> Report:
    """Runs `lance_sql.verify` or `lance_sql.audit` with a progress bar."""
    path, version, tag = split_name(table)
    with progress.shown("fragments checked", hidden=quiet):
        return check(path, version=tag if version is None else version, **options)


def end(report: Report, output: str, html: str | None = None) -> None:
    """Prints a report, or writes its page, and ends the process with its exit code.

    output: the format to print the report in
    html: the file of the page
    """
    screen.show_report(report, output, html)
    if not report.is_healthy:
        sys.exit(OLD_DAMAGE_FOUND if report.newest_is_healthy else DAMAGE_FOUND)
