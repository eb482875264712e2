"""A model of applied changes in plain Python, one event after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
Key = tuple[Any, ...]
Moment = tuple[Any, ...]


@dataclass
class Event:
    """A row of changes. values: without the keys; None for a deletion."""

    key: Key
    moment: Moment
    values: Row | None


@dataclass
class LatestModel:
    """The latest row of each key.

    ordered: whether a late event is known to be late
    """

    ignore_nulls: Sequence[str] = ()
    ordered: bool = True
    rows: dict[Key, Row] = field(default_factory=dict)
    known: dict[Key, Moment] = field(default_factory=dict)

    def apply(self, events: Sequence[Event]) -> None:
        if self.ordered:
            events = [each for each in events if each.key not in self.known or each.moment > self.known[each.key]]
        for each in sorted(events, key=lambda each: each.moment):
            self.known[each.key] = each.moment
            if each.values is None:
                self.rows.pop(each.key, None)
                continue
            before = self.rows.get(each.key, {})
            self.rows[each.key] = _filled(each.values, before, self.ignore_nulls)


@dataclass
class HistoryModel:
    """All rows of each key."""

    ignore_nulls: Sequence[str] = ()
    tracked: Sequence[str] | None = None
    events: dict[Key, dict[Moment, Event]] = field(default_factory=dict)

    def apply(self, events: Sequence[Event]) -> None:
        known = {key: set(found) for key, found in self.events.items()}
        for each in events:
            if each.moment not in known.get(each.key, ()):
                self.events.setdefault(each.key, {})[each.moment] = each

    def rows(self) -> list[tuple[Key, Row, Moment, Moment | None]]:
        """Key, values, and the times between which they hold."""
        found: list[tuple[Key, Row, Moment, Moment | None]] = []
        for key, events in self.events.items():
            current: tuple[Row, Moment] | None = None
            for moment in sorted(events):
                values = events[moment].values
                if values is None:
                    if current is not None:
                        found.append((key, *current, moment))
                    current = None
                    continue
                values = _filled(values, {} if current is None else current[0], self.ignore_nulls)
                tracked = self.tracked if self.tracked is not None else list(values)
                if current is not None and all(current[0][name] == values[name] for name in tracked):
                    current = (values, current[1])
                    continue
                if current is not None:
                    found.append((key, *current, moment))
                current = (values, moment)
            if current is not None:
                found.append((key, *current, None))
        return found


def _filled(values: Row, before: Row, names: Sequence[str]) -> Row:
    return {name: before.get(name) if value is None and name in names else value for name, value in values.items()}
