"""A table as it should be: rows with their ids and versions, and the effect of each operation.

Written from the rules of row lineage alone; it shares no code with the library.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
Test = Callable[[Row], bool]

HIDDEN = ("_rowid", "_row_created_at_version", "_row_last_updated_at_version")


@dataclass
class Model:
    """One version of a table. Rows hold their columns and the three hidden ones.

    identities: of the columns; one that is renamed or cast keeps its own
    """

    columns: dict[str, str]
    rows: list[Row] = field(default_factory=list)
    next_row_id: int = 0
    identities: dict[str, int] = field(default_factory=dict)
    next_identity: int = 0

    def __post_init__(self) -> None:
        for name in self.columns:
            self._identify(name)

    def _identify(self, name: str) -> None:
        self.identities[name] = self.next_identity
        self.next_identity += 1

    def copy(self) -> Model:
        return copy.deepcopy(self)

    def insert(self, new: Iterable[Mapping[str, Any]], version: int) -> None:
        for row in new:
            values = {name: row.get(name) for name in self.columns}
            self.rows.append({**values, **dict(zip(HIDDEN, (self.next_row_id, version, version), strict=True))})
            self.next_row_id += 1

    def delete(self, test: Test) -> None:
        self.rows = [row for row in self.rows if not test(row)]

    def update(self, test: Test, change: Callable[[Row], Mapping[str, Any]], version: int) -> None:
        for row in self.rows:
            if test(row):
                row.update(change(row))
                row["_row_last_updated_at_version"] = version

    def merge(self, source: Iterable[Mapping[str, Any]], version: int, *, keeps_equal: bool) -> None:
        """Update what matches by `k`, insert the rest, which get the next ids in the order of the source.

        keeps_equal: rows that have these values already are not rewritten
        """
        by_key = {row["k"]: row for row in self.rows}
        new = []
        for each in source:
            found = by_key.get(each["k"])
            if found is None:
                new.append(each)
            elif not keeps_equal or any(repr(found[name]) != repr(value) for name, value in each.items()):
                found.update(each)
                found["_row_last_updated_at_version"] = version
        self.insert(new, version)

    def overwrite(self, columns: dict[str, str], rows: Iterable[Mapping[str, Any]], version: int) -> None:
        self.columns, self.rows = dict(columns), []
        known, self.identities = self.identities, {}
        for name in columns:
            self._identify(name)
            self.identities[name] = known.get(name, self.identities[name])
        self.insert(rows, version)

    def add_column(self, name: str, type: str, value: Callable[[Row], Any] | None, version: int) -> None:
        self.columns[name] = type
        self._identify(name)
        for row in self.rows:
            row[name] = None if value is None else value(row)
            if value is not None:
                row["_row_last_updated_at_version"] = version

    def drop_column(self, name: str) -> None:
        del self.columns[name]
        del self.identities[name]
        for row in self.rows:
            del row[name]

    def rename_column(self, old: str, new: str) -> None:
        self.columns = {new if name == old else name: type for name, type in self.columns.items()}
        self.identities[new] = self.identities.pop(old)
        for row in self.rows:
            row[new] = row.pop(old)

    def cast_column(self, name: str, type: str, version: int) -> None:
        self.columns[name] = type
        for row in self.rows:
            row["_row_last_updated_at_version"] = version

    def restore(self, earlier: Model) -> None:
        self.columns, self.rows = dict(earlier.columns), copy.deepcopy(earlier.rows)
        self.identities = dict(earlier.identities)
        self.next_row_id = max(self.next_row_id, earlier.next_row_id)
