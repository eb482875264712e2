"""`lance-sql verify`: a check with a progress bar, and its report as JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import Final

from lance_sql.cli.progress import Bar
from lance_sql.health.verification import Report, verify

DAMAGE_FOUND: Final = 1
"""Exit code if the newest version is damaged."""

OLD_DAMAGE_FOUND: Final = 4
"""Exit code if the newest version is healthy, but older ones are damaged."""


def run(
    path: str,
    *,
    version: int | None,
    tag: str | None,
    branch: str | None,
    deep: bool,
    quiet: bool,
    checksums: bool = False,
) -> Report:
    """Runs `lance_sql.verify` with a progress bar."""
    bar = Bar("fragments checked", hidden=quiet)
    try:
        return verify(
            path, version=version, tag=tag, branch=branch, deep=deep, checksums=checksums, progress=bar.update
        )
    finally:
        bar.close()


def exit_code(report: Report) -> int:
    """Returns the exit code of the process."""
    if report.is_healthy:
        return 0
    return OLD_DAMAGE_FOUND if report.newest_is_healthy else DAMAGE_FOUND


def as_json(report: Report) -> str:
    """Returns the report as one JSON object."""
    content = dataclasses.asdict(report) | {
        "is_healthy": report.is_healthy,
        "newest_is_healthy": report.newest_is_healthy,
        "newest_healthy_version": report.newest_healthy_version,
    }
    return json.dumps(content, indent=2)
