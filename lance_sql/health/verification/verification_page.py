"""Page of the result of a check: versions by columns, and the problems."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from lance_sql.table.location import table_name
from lance_sql.table.versions import as_ranges

if TYPE_CHECKING:
    from lance_sql.health.verification.verification_report import Report

State: TypeAlias = Literal["ok", "bad", "none", "unknown"]

_MAX_PROBLEMS: Final = 200
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
    return {
        "report": report,
        "name": table_name(report.uri),
        "versions": as_ranges(report.versions),
        "damaged": len({version for problem in report.problems for version in problem.versions}),
        "columns": columns,
        "groups": groups,
        "problems": [
            (each, as_ranges(each.versions)) for each in report.problems[: _IN_A_PART if is_part else _MAX_PROBLEMS]
        ],
    }


def _states(report: Report, version: int, columns: list[str]) -> tuple[State, ...]:
    """Returns the state of each column in a version."""
    columns_there = report.columns.get(version)
    if columns_there is None:
        return tuple("unknown" for _ in columns)
    damaged = report.damaged_columns.get(version, ())

    def state(name: str) -> State:
        if name not in columns_there:
            return "none"
        return "bad" if name in damaged else "ok"

    return tuple(state(name) for name in columns)
