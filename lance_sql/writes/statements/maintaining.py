"""Maintenance of a table in one call: compaction, then indices, then cleanup, by a policy in the table's config.

    lance_sql.maintain.steps               compact, optimize_indices, cleanup    the steps to run; all by default
    lance_sql.maintain.target_rows         1048576                               as for `compact`
    lance_sql.maintain.max_deleted_share   0.1
    lance_sql.maintain.older_than          14d                                   as for `cleanup`
    lance_sql.maintain.retain_versions     100
    lance_sql.maintain.max_lag             30d

Each step is a verb of its own, and safe beside other writers. A step that loses against another writer changes nothing,
and the others still run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from lance_sql.errors import CommitConflict, InvalidArgument
from lance_sql.table.commit_summary import PREFIX
from lance_sql.table.fragment import MAX_ROWS_PER_FILE
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arguments import age, check_number
from lance_sql.values.frames import Frames
from lance_sql.writes.commit import cleanup
from lance_sql.writes.commit_options import CommitOptions, committing
from lance_sql.writes.statements import compact, indices

POLICY: Final = f"{PREFIX}maintain."
"""Prefix of the config keys of the policy."""

Outcome: TypeAlias = Literal["done", "planned", "nothing to do", "conflict", "off"]


@dataclass(frozen=True, slots=True)
class Policy:
    """Arguments of the steps; see `compact` and `cleanup`.

    steps: the names of the steps to run
    """

    steps: tuple[str, ...] = ("compact", "optimize_indices", "cleanup")
    target_rows: int = MAX_ROWS_PER_FILE
    max_deleted_share: float = 0.1
    older_than: timedelta | None = None
    retain_versions: int | None = None
    max_lag: timedelta | None = None


class MaintenanceOptions(CommitOptions, total=False):
    """Keywords of `Dataset.maintenance.maintain`: fields of `Policy`, instead of the values of the table's policy, and
    the keywords of every change."""

    target_rows: int | None
    max_deleted_share: float | None
    older_than: timedelta | str | None
    retain_versions: int | None
    max_lag: timedelta | str | None


@dataclass(frozen=True, slots=True)
class Step:
    """Outcome of a step.

    details: of what it did or would do, or of the conflict
    version: the version that it made; None if it made none
    """

    name: str
    outcome: Outcome
    details: str = ""
    version: int | None = None


@dataclass(frozen=True, repr=False)
class Maintenance(Frames):
    """Result of `maintain`, or its plan.

    table: its name
    steps: in the order in which they run
    """

    table: str
    steps: tuple[Step, ...]

    @property
    def has_conflicts(self) -> bool:
        """Whether a step lost against another writer and changed nothing."""
        return any(step.outcome == "conflict" for step in self.steps)

    @property
    def is_needed(self) -> bool:
        """Whether a step did something, or would."""
        return any(step.outcome not in ("nothing to do", "off") for step in self.steps)

    def to_table(self) -> pa.Table:
        """Returns one row for each step."""
        return pa.table(
            {
                "step": pa.array([step.name for step in self.steps], pa.string()),
                "outcome": pa.array([step.outcome for step in self.steps], pa.string()),
                "version": pa.array([step.version for step in self.steps], pa.uint64()),
                "details": pa.array([step.details or None for step in self.steps], pa.string()),
            }
        )

    def _repr_html_(self) -> str | None:
        from lance_sql.values import html

        return html.first_rows(self.to_table().to_reader())

    def __repr__(self) -> str:
        steps = "; ".join(f"{step.name}: {step.details or step.outcome}" for step in self.steps)
        return f"Maintenance({self.table!r}, {steps})"


def read_policy(config: Mapping[str, str], **given: Any) -> Policy:
    """Reads the policy of a table.

    config: of the table
    given: values that replace those of the table; None keeps them
    raises: InvalidArgument for an unknown key, and for a value that a key cannot have
    """
    values: dict[str, Any] = {}
    for key, text in config.items():
        if key.startswith(POLICY):
            name = key.removeprefix(POLICY)
            if name not in _READ:
                raise InvalidArgument(f"{key} is no key of the policy: {', '.join(POLICY + each for each in _READ)}")
            try:
                values[name] = _READ[name](text)
            except ValueError as error:
                raise InvalidArgument(f"{key}={text!r}: {error}") from None
    values |= {name: value for name, value in given.items() if value is not None}
    for name in ("older_than", "max_lag"):
        values[name] = age(name, values.get(name))
    policy = replace(Policy(), **values)
    check_number("target_rows", policy.target_rows, least=1)
    check_number("retain_versions", policy.retain_versions, least=1)
    return policy


def _steps(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in _STEPS:
            raise InvalidArgument(f"{name!r} is not one of {', '.join(_STEPS)}")
    return names


_READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "steps": _steps,
    "target_rows": int,
    "max_deleted_share": float,
    "older_than": lambda text: age("older_than", text),
    "retain_versions": int,
    "max_lag": lambda text: age("max_lag", text),
}


def maintain(snapshot: Snapshot, options: MaintenanceOptions, *, dry_run: bool) -> Maintenance:
    """Runs the steps on the newest version, or plans them.

    raises: InvalidArgument for an invalid policy; TypeError for unknown options; as `compact`, `indices.optimize` and
        `cleanup`, except CommitConflict
    """
    names = [name for name in MaintenanceOptions.__annotations__ if name not in CommitOptions.__annotations__]
    steps = []
    with committing("maintain", options, also=names) as properties:
        policy = read_policy(snapshot.latest().manifest.config, **{name: options.get(name) for name in names})
        for name, run in _STEPS.items():
            if name not in policy.steps:
                steps.append(Step(name, "off"))
                continue
            try:
                steps.append(run(snapshot, policy, dry_run, properties))
            except CommitConflict as error:
                steps.append(Step(name, "conflict", error.message))
    return Maintenance(snapshot.name, tuple(steps))


def _compact(snapshot: Snapshot, policy: Policy, dry_run: bool, properties: Mapping[str, str] | None) -> Step:
    how: dict[str, Any] = {"target_rows": policy.target_rows, "max_deleted_share": policy.max_deleted_share}
    latest = snapshot.latest()
    groups = compact.plan(latest, **how)
    details = _counted(sum(len(group.fragment_ids) for group in groups), "fragment")
    details += f" with {_counted(sum(group.num_rows for group in groups), 'row')}"
    if not groups:
        return Step("compact", "nothing to do")
    if dry_run:
        return Step("compact", "planned", details)
    return _made("compact", details, latest, compact.compact(latest, **how, properties=properties))


def _optimize(snapshot: Snapshot, policy: Policy, dry_run: bool, properties: Mapping[str, str] | None) -> Step:
    latest = snapshot.latest()
    names = indices.outdated(latest)
    if not names:
        return Step("optimize_indices", "nothing to do")
    details = f"{_counted(len(names), 'index', 'indices')}: {', '.join(names)}"
    if dry_run:
        return Step("optimize_indices", "planned", details)
    return _made(
        "optimize_indices", details, latest, indices.optimize(latest, names, skips_mixed=True, properties=properties)
    )


def _clean_up(snapshot: Snapshot, policy: Policy, dry_run: bool, properties: Mapping[str, str] | None) -> Step:
    done = cleanup.cleanup(snapshot, policy.older_than, policy.retain_versions, policy.max_lag, dry_run=dry_run)
    holders = sorted({name for names in done.held.values() for name in names})
    kept = f"; {_counted(len(done.held), 'version')} kept for {', '.join(holders)}" if holders else ""
    if not done.versions and not done.files:
        return Step("cleanup", "nothing to do", kept.removeprefix("; "))
    details = f"{_counted(len(done.versions), 'version')} and {_counted(len(done.files), 'file')} with"
    details += f" {_counted(done.num_bytes, 'byte')}{kept}"
    return Step("cleanup", "planned" if dry_run else "done", details)


_STEPS: Final[Mapping[str, Callable[[Snapshot, Policy, bool, Mapping[str, str] | None], Step]]] = {
    "compact": _compact,
    "optimize_indices": _optimize,
    "cleanup": _clean_up,
}


def _made(name: str, details: str, before: Snapshot, after: Snapshot) -> Step:
    if after.version == before.version:
        return Step(name, "nothing to do")
    return Step(name, "done", details, after.version)


def _counted(number: int, noun: str, several: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"
