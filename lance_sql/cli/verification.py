"""`lance-sql verify` and `lance-sql audit`: a check with a progress bar, its report, and its exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Final

import click

from lance_sql.cli import progress, screen
from lance_sql.health.verification import Report

DAMAGE_FOUND: Final = 1
"""Exit code if the newest version has a problem."""

OLD_DAMAGE_FOUND: Final = 4
"""Exit code if the newest version is healthy, but older ones have problems."""


def run(check: Callable[..., Report], path: str, *, quiet: bool, **options: Any) -> Report:
    """Runs `lance_sql.verify` or `lance_sql.audit` with a progress bar."""
    with progress.shown("fragments checked", hidden=quiet):
        return check(path, **options)


def end(report: Report, output: str, html: str | None = None) -> None:
    """Prints a report, or writes its page, and ends the process with its exit code.

    output: the format to print the report in
    html: the file of the page
    """
    if html is not None:
        screen.write_page(html, report.to_html())
    else:
        click.echo(json.dumps(report.to_dict(), indent=2) if output == "json" else str(report))
    if not report.is_healthy:
        sys.exit(OLD_DAMAGE_FOUND if report.newest_is_healthy else DAMAGE_FOUND)
