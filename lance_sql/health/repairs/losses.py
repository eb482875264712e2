"""Result of a salvage: the recovered rows, and the losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lance_sql.dataset import Dataset
from lance_sql.errors import LanceError
from lance_sql.runtime.terminal_text import one_line
from lance_sql.values import row_ranges
from lance_sql.values.records import Record
from lance_sql.values.row_ranges import RowRanges

_RANGES_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Loss:
    """Values that could not be read, or may be wrong.

    fragment: its id, or its index in the manifest if the id cannot be read
    column: a top-level column; None for all of them
    rows: offsets in the fragment, as ranges [start, end); may include deleted rows. None if their number is unknown
    reason: the cause, in one line
    """

    fragment: int
    column: str | None
    rows: tuple[tuple[int, int], ...] | None
    reason: str

    def __str__(self) -> str:
        column = "all columns" if self.column is None else f"column {self.column!r}"
        if self.rows is None:
            return one_line(f"fragment {self.fragment}, {column}: {self.reason}")
        shown = ", ".join(f"{start} to {end - 1}" for start, end in self.rows[:_RANGES_SHOWN])
        more = f" and {len(self.rows) - _RANGES_SHOWN} more ranges" if len(self.rows) > _RANGES_SHOWN else ""
        return one_line(f"fragment {self.fragment}, {column}, rows {shown}{more}: {self.reason}")


@dataclass(frozen=True, slots=True, repr=False)
class Salvage(Record):
    """Result of the salvage of one version of a table.

    source: the table and its version
    dataset: the new table
    num_rows: of the new table
    num_lost_rows: live rows that are not in it, as far as their number is known
    num_lost_cells: values that are NULL in it because they could not be read
    losses: unreadable values
    doubtful: values in the new table that were readable, but differ from their checksum
    num_deleted: fragments whose list of deleted rows could not be read, with the number of these rows in the manifest:
        they are in the new table again
    """

    source: str
    dataset: Dataset
    num_rows: int
    num_lost_rows: int
    num_lost_cells: int
    losses: tuple[Loss, ...]
    doubtful: tuple[Loss, ...]
    num_deleted: Mapping[int, int]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is lost or doubtful."""
        return not (self.losses or self.doubtful or self.num_deleted)

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as plain values, for JSON."""
        return {
            "source": self.source,
            "uri": self.dataset.uri,
            "rows": self.num_rows,
            "lost_rows": self.num_lost_rows,
            "lost_cells": self.num_lost_cells,
            "losses": [_plain(loss) for loss in self.losses],
            "doubtful": [_plain(loss) for loss in self.doubtful],
            "deleted_rows_by_fragment": {str(fragment): count for fragment, count in self.num_deleted.items()},
        }

    def __str__(self) -> str:
        lines = [f"{self.source}: {_count(self.num_rows, 'row')} written to {self.dataset.uri}"]
        if self.is_complete:
            return f"{lines[0]}; nothing is lost"
        lines[0] += f", {_count(self.num_lost_rows, 'row')} lost"
        if self.num_lost_cells:
            lines[0] += f", {_count(self.num_lost_cells, 'value')} NULL instead of what cannot be read"
        lines += [f"  lost: {loss}" for loss in self.losses]
        lines += [f"  doubtful: {loss}" for loss in self.doubtful]
        lines += [
            f"  fragment {fragment}: which rows were deleted cannot be read; the {_count(count, 'deleted row')} of it"
            f" {'is' if count == 1 else 'are'} there again"
            for fragment, count in self.num_deleted.items()
        ]
        return "\n".join(lines)


@dataclass
class Losses:
    """Collector of losses: rows of one page of a column are one loss, with the first reason."""

    rows: dict[tuple[int, str | None, int | None], RowRanges | None] = field(default_factory=dict)
    reasons: dict[tuple[int, str | None, int | None], str] = field(default_factory=dict)

    def add(self, fragment: int, column: str | None, rows: RowRanges | None, error: LanceError) -> None:
        """Adds lost rows of a fragment; None if they are unknown."""
        key = (fragment, column, error.page)
        earlier = self.rows.get(key)
        self.rows[key] = rows if earlier is None or rows is None else row_ranges.union(earlier, rows)
        where = [error.file] if error.file is not None else []
        where += [f"page {error.page}"] if error.page is not None else []
        self.reasons.setdefault(key, ": ".join([*where, error.message]))

    def as_tuple(self) -> tuple[Loss, ...]:
        return tuple(
            Loss(fragment, column, None if rows is None else tuple(_pairs(rows.tolist())), self.reasons[key])
            for key, rows in self.rows.items()
            for fragment, column, _ in [key]
        )


def _pairs(ranges: Iterable[list[int]]) -> Iterable[tuple[int, int]]:
    return ((start, end) for start, end in ranges)


def _plain(loss: Loss) -> dict[str, Any]:
    return {"fragment": loss.fragment, "column": loss.column, "rows": loss.rows, "reason": loss.reason}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
