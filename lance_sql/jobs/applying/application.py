"""One application of changes: computed for parts of the keys, here or by remote workers, and committed as one.

part        of some keys: rows to write and to delete, and state that the rows do not contain
settled     of all parts: writes the file of this state, and returns the config entries of the commit
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lance_sql.errors import InvalidArgument
from lance_sql.jobs.applying import state
from lance_sql.jobs.applying.events import Events
from lance_sql.jobs.applying.state import KeyState
from lance_sql.jobs.distributed import ChangeJob, Written
from lance_sql.table import applied
from lance_sql.table.applied import Applied
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.committer import Expected

HISTORY_COLUMNS: Final = ("valid_from", "valid_to", "is_current")
"""Columns of a history table besides those of the changes."""

HISTORY_VERSIONS: Final = ("valid_from_version", "valid_to_version")
"""Columns of a history whose times are those of commits, before the others."""


@dataclass(frozen=True)
class Part:
    """Result for some keys and all of their events.

    state: state of these keys that the rows do not contain; None if it is unchanged
    """

    written: Written
    state: KeyState | None


@dataclass(frozen=True)
class Application(ABC):
    """Strategy that turns events into rows. Picklable; contains no events.

    keys, sequence: names of columns
    ignore_nulls: columns in which NULL keeps the value
    """

    keys: tuple[str, ...]
    sequence: tuple[str, ...]
    ignore_nulls: tuple[str, ...]

    @property
    def own_columns(self) -> tuple[str, ...]:
        """Columns of the target besides those of the changes."""
        return ()

    @property
    @abstractmethod
    def applied(self) -> Applied:
        """Config entry of a table made by this application."""

    @abstractmethod
    def part(self, job: ChangeJob, events: Events) -> Part:
        """Computes the changes for the keys of these events, and writes the rows.

        raises: InvalidArgument for values that do not fit, and for keys that the table has several times
        """

    def applied_to(self, snapshot: Snapshot) -> Applied:
        """Returns the config entry of earlier applications to a table; that of this one if there was none.

        raises: InvalidArgument if changes were applied with other options before
        """
        before = applied.of(snapshot.manifest.config, snapshot.label)
        if before is None:
            return self.applied
        _check_columns(before, snapshot)
        _check_options(before, self, snapshot.label)
        return before

    def settled(self, snapshot: Snapshot, states: Sequence[KeyState]) -> Mapping[str, Expected]:
        """Writes the state that the rows do not contain, and returns the config entries of the commit. Includes an
        unchanged entry, because the commit requires that it is still the same."""
        before = applied.of(snapshot.manifest.config, snapshot.label)
        now = self.applied_to(snapshot)
        if states:
            now = state.write(snapshot, now, KeyState.concat(states))
        names = {*now.keys, *now.sequence, *self.own_columns}
        fields = tuple((field.name, field.id) for field in snapshot.manifest.schema.fields if field.name in names)
        now = replace(now, fields=fields)
        return {applied.KEY: Expected(now.to_json(), None if before is None else before.to_json())}


class Run:
    """Callable that `change_rows` runs for each attempt.

    parts: computes all parts for a job
    """

    def __init__(self, application: Application, parts: Callable[[ChangeJob], Iterable[Part]]) -> None:
        self._application = application
        self._parts = parts
        self._config: Mapping[str, Expected] = {}

    def __call__(self, job: ChangeJob) -> list[Written]:
        """Writes the rows of one attempt."""
        _ = self._application.applied_to(job.snapshot)
        parts = list(self._parts(job))
        states = [part.state for part in parts if part.state is not None]
        self._config = self._application.settled(job.snapshot, states)
        return [part.written for part in parts]

    def config(self) -> Mapping[str, Expected]:
        """Returns the config entries for the commit of the last attempt."""
        return self._config


def _check_columns(before: Applied, snapshot: Snapshot) -> None:
    """Checks that columns are the same as when changes were applied.

    raises: InvalidArgument
    """
    schema = snapshot.manifest.schema
    needed = (*before.keys, *(HISTORY_COLUMNS if before.scd == 2 else ()))
    ids = dict.fromkeys(needed) | dict(before.fields)
    for name, id in ids.items():
        field = schema.by_name.get(name)
        if field is not None and id in (None, field.id):
            continue
        now = schema.by_id.get(id) if id is not None else None
        what = "dropped" if now is None else f"renamed to {now.name!r}"
        raise InvalidArgument(
            f"{snapshot.label}: earlier changes were applied by the column {name!r}, which was {what}: undo that, or"
            " apply all changes to a new table"
        )


def _check_options(before: Applied, application: Application, table: str) -> None:
    """Checks that changes were applied with the same options.

    raises: InvalidArgument
    """
    now = application.applied
    had_commit_times = HISTORY_VERSIONS[0] in dict(before.fields)
    has_commit_times = HISTORY_VERSIONS[0] in application.own_columns
    for what, old, new in (
        ("keys", before.keys, now.keys),
        ("scd", before.scd, now.scd),
        ("sequence_by", None if had_commit_times else before.sequence, None if has_commit_times else now.sequence),
    ):
        if old != new:
            raise InvalidArgument(
                f"{table}: earlier changes were applied with {what}={_shown(old)}, not {_shown(new)}: pass the same"
            )


def _shown(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)
