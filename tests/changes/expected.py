"""The expected change feed, computed from the model's versions of a table.

Shares no code with the library: versions are lists of rows, compared row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.histories.histories import History
from tests.histories.model import Model, Row

WRITING = ("update", "merge", "merge_partly")
"""Operations that write the rows which they change again, with the same values or others."""

Image = tuple[int, str, int, tuple[Any, ...]]
"""Version of the commit, kind, row id, values."""


@dataclass
class Version:
    """A version as the model has it, and the operation that made it."""

    model: Model
    operation: str


class RecordedHistory(History):
    """A history that keeps every version of its model."""

    def __init__(self, path: str, seed: int) -> None:
        self.versions: dict[int, Version] = {}
        super().__init__(path, seed)

    def check(self) -> None:
        """Takes down the version; that both readers see it is tested elsewhere."""
        operation = self.log[-1].partition(".")[2].partition(" ")[0]
        # a compaction reserves ids of fragments first, which makes a version, too
        for version in range(max(self.versions, default=0) + 1, self.version + 1):
            self.versions[version] = Version(self.model.copy(), operation)
        self.earlier[self.version] = self.model.copy()

    def run(self, num_operations: int) -> None:
        super().run(num_operations)


def images_of(model: Model, last: Model) -> dict[int, tuple[Any, ...]]:
    """The rows of a version by their ids, with the columns of the last version; None for those it did not have."""
    names = {identity: name for name, identity in model.identities.items()}
    sources = [names.get(last.identities[name]) for name in last.columns]
    return {row["_rowid"]: tuple(None if name is None else row[name] for name in sources) for row in model.rows}


def all_changes(history: RecordedHistory, start: int, end: int) -> Iterator[tuple[Image, bool]]:
    """Every image, and whether its change wrote the row again."""
    last = history.versions[end].model
    for version in range(start, end + 1):
        after = images_of(history.versions[version].model, last)
        before = images_of(history.versions[version - 1].model, last) if version > 1 else {}
        rows: dict[int, Row] = {row["_rowid"]: row for row in history.versions[version].model.rows}
        for row_id in before.keys() | after.keys():
            if row_id not in before:
                yield (version, "insert", row_id, after[row_id]), False
            elif row_id not in after:
                yield (version, "delete", row_id, before[row_id]), False
            else:
                is_written = (
                    history.versions[version].operation in WRITING
                    and rows[row_id]["_row_last_updated_at_version"] == version
                )
                # a column that was dropped, and that a later restore brings back, is NULL between
                if is_written or before[row_id] != after[row_id]:
                    yield (version, "update_preimage", row_id, before[row_id]), is_written
                    yield (version, "update_postimage", row_id, after[row_id]), is_written


def net_changes(history: RecordedHistory, start: int, end: int) -> Iterator[Image]:
    """All changes, folded by row id."""
    last = history.versions[end].model
    before = images_of(history.versions[start - 1].model, last) if start > 1 else {}
    after = images_of(history.versions[end].model, last)
    restores = any(history.versions[version].operation == "restore" for version in range(start, end + 1))
    changes: dict[int, list[tuple[Image, bool]]] = {}
    for change in all_changes(history, start, end):
        changes.setdefault(change[0][2], []).append(change)
    for row_id, found in changes.items():
        version = found[-1][0][0]
        if row_id not in before and row_id in after:
            yield version, "insert", row_id, after[row_id]
        elif row_id in before and row_id not in after:
            yield version, "delete", row_id, before[row_id]
        elif row_id in before and (
            before[row_id] != after[row_id] or (all(written for _, written in found) and not restores)
        ):
            yield version, "update_preimage", row_id, before[row_id]
            yield version, "update_postimage", row_id, after[row_id]


def applied(rows: dict[int, tuple[Any, ...]], changes: list[Image]) -> dict[int, tuple[Any, ...]]:
    """Rows by their ids, after changes in the order of their commits; each has to fit the rows before it."""
    now = dict(rows)
    for version in sorted({change[0] for change in changes}):
        of_commit = [change for change in changes if change[0] == version]
        for _, kind, row_id, _ in of_commit:
            if kind in ("delete", "update_preimage"):
                del now[row_id]
        for _, kind, row_id, values in of_commit:
            if kind in ("insert", "update_postimage"):
                assert row_id not in now
                now[row_id] = values
    return now
