"""Page of the result of a check: versions by columns, and the problems; of an audit the commits and their faults."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from lance_sql.table.location import table_name
from lance_sql.table.versions import as_ranges

if TYPE_CHECKING:
    from lance_sql.health.commit_records import CommitRecord
    from lance_sql.health.lineage_audit.faults import Audited
    from lance_sql.health.verification.verification_report import Report

State: TypeAlias = Literal["ok", "bad", "none", "unknown"]

_MAX_PROBLEMS: Final = 200
_MAX_COMMITS: Final = 500
_MAX_IDS: Final = 10
_IN_A_PART: Final = 10


def page_values(report: Report, *, is_part: bool) -> dict[str, Any]:
    """Returns the values for the templates; for a notebook the first problems."""
    columns = list(
        dict.fromkeys(name for version in reversed(report.versions) for name in report.columns.get(version, ()))
    )
    columns = columns or ["all columns"]
    states = [(version, _states(report, version, columns)) for version in reversed(report.versions)]
    groups = []
    for state, members in groupby(states, key=lambda each: each[1]):
        versions = sorted(version for version, _ in members)
        groups.append((as_ranges(versions).partition(" ")[2], state))
    most = _IN_A_PART if is_part else _MAX_PROBLEMS
    # the faults contain problems of the lineage, and those of changed files
    faults = report.faults
    problems = [
        each
        for each in report.problems
        if each.affects != "lineage" and not any(each.message in fault.message for fault in faults)
    ]
    audit = report.lineage
    commits = {} if audit is None else {commit.version: commit for commit in audit.commits}
    return {
        "report": report,
        "name": table_name(report.uri),
        "is_audit": audit is not None and report.checksums_only,
        "audit": audit,
        "audited": as_ranges(audit.versions) if audit is not None and audit.versions else None,
        "faults": [(fault, commits.get(fault.version), fault.ids[:_MAX_IDS].tolist()) for fault in faults[:most]],
        "commits": [] if audit is None else _commits(audit, _IN_A_PART if is_part else _MAX_COMMITS),
        "versions": as_ranges(report.versions),
        "damaged": len({version for problem in report.problems for version in problem.versions}),
        "older": as_ranges(sorted({version for problem in report.problems for version in problem.versions})),
        "columns": columns,
        "groups": groups,
        "num_problems": len(problems),
        "can_be_repaired": any(
            each.affects in ("rows", "index") and max(report.versions) in each.versions for each in report.problems
        ),
        "problems": [(each, as_ranges(each.versions)) for each in problems[:most]],
    }


def _commits(audit: Audited, most: int) -> list[tuple[CommitRecord, State, int, str | None]]:
    """Returns the newest audited commits, newest first, each with its state, the number of its faults, and why it was
    not or only partly audited."""
    counts = Counter(fault.version for fault in audit.faults)
    reasons = dict.fromkeys(audit.without_lineage, "no stable row ids")
    reasons |= {version: f"not compared with its commit, {reason}" for version, reason in audit.partly.items()}

    def state(version: int) -> State:
        return "bad" if counts[version] else "none" if version in reasons else "ok"

    return [
        (commit, state(commit.version), counts[commit.version], reasons.get(commit.version))
        for commit in reversed(audit.commits[-most:])
    ]


def _states(report: Report, version: int, columns: list[str]) -> tuple[State, ...]:
    columns_there = report.columns.get(version)
    if columns_there is None:
        return tuple("unknown" for _ in columns)
    damaged = report.damaged_columns.get(version, ())

    def state(name: str) -> State:
        if name not in columns_there:
            return "none"
        return "bad" if name in damaged else "ok"

    return tuple(state(name) for name in columns)
