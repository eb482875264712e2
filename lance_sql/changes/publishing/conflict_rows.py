"""Conflicts of a publication as its page shows them: each cell before, in the branch, and in its parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lance_sql.changes.images import CHANGE_TYPE, DELETE, INSERT, KINDS, POSTIMAGE, PREIMAGE
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.values import selection
from lance_sql.values.arrays import BoolMask
from lance_sql.values.equal_values import same
from lance_sql.values.value_text import values

SIDE: Final = "side"
SIDES: Final = ("branch", "other")
_DONE: Final[Mapping[str, str]] = {POSTIMAGE: "updated", DELETE: "deleted", INSERT: "inserted"}


@dataclass(frozen=True, slots=True)
class ConflictCell:
    """Value of a column that a side changed.

    values: before, in the branch, in the other
    changed: whether the branch, and the other, have another value than before
    """

    column: str
    values: tuple[Any, Any, Any]
    changed: tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """Row that both sides changed, or that one side inserted with a key of the other.

    name: values of the columns that name it
    done: "updated", "deleted", "inserted" or "unchanged", of the branch and of the other
    """

    name: tuple[Any, ...]
    done: tuple[str, str]
    cells: tuple[ConflictCell, ...]


def conflict_rows(
    conflicts: pa.Table, names: Sequence[str], max_rows: int, named_by: Sequence[str]
) -> list[ConflictRow]:
    """Returns the first rows in conflict, by row id.

    conflicts: of a `Publication`
    names: the columns of the table; named_by: those that name a row
    """
    ids = np.unique(conflicts[ROW_ID].to_numpy())[:max_rows].tolist()
    images = zip(*(conflicts[name].to_pylist() for name in (ROW_ID, SIDE, CHANGE_TYPE)), strict=True)
    positions = {image: number for number, image in enumerate(images)}
    before = [_first(positions, [(row, side, kind) for side in SIDES for kind in (PREIMAGE, DELETE)]) for row in ids]
    after = [[_first(positions, [(row, side, kind) for kind in (POSTIMAGE, INSERT)]) for row in ids] for side in SIDES]
    done = [[_done(positions, row, side) for row in ids] for side in SIDES]
    labels = _labels(conflicts, ids, named_by)
    columns = [(name, *_column(conflicts[name], before, after, done)) for name in names]
    return [
        ConflictRow(
            labels[number],
            (done[0][number], done[1][number]),
            tuple(
                ConflictCell(name, (was[number], ours[number], theirs[number]), (bool(a[number]), bool(b[number])))
                for name, (was, ours, theirs), (a, b) in columns
                if a[number] or b[number]
            ),
        )
        for number in range(len(ids))
    ]


def _labels(conflicts: pa.Table, ids: Sequence[int], named_by: Sequence[str]) -> list[tuple[Any, ...]]:
    """Returns the values that name each row, of its first image."""
    _, first = np.unique(conflicts[ROW_ID].to_numpy(), return_index=True)
    rows = selection.take(conflicts.select(list(named_by)), pa.array(first[: len(ids)], pa.int64()))
    return list(zip(*(values(selection.whole(column)) for column in rows.columns), strict=True))


def _first(positions: Mapping[tuple[int, str, str], int], images: Sequence[tuple[int, str, str]]) -> int | None:
    return next((positions[image] for image in images if image in positions), None)


def _done(positions: Mapping[tuple[int, str, str], int], row: int, side: str) -> str:
    return next((_DONE[kind] for kind in KINDS if kind in _DONE and (row, side, kind) in positions), "unchanged")


def _column(
    column: pa.ChunkedArray,
    before: Sequence[int | None],
    after: Sequence[Sequence[int | None]],
    done: Sequence[Sequence[str]],
) -> tuple[tuple[list[Any], ...], tuple[BoolMask, ...]]:
    """Returns the values before and of both sides, and where each side changed them."""
    whole = selection.whole(column)
    was = whole.take(pa.array(before, pa.int64()))
    there = [whole.take(pa.array(positions, pa.int64())) for positions in after]
    changed = [
        ~same(was, now) & np.array([each in ("updated", "inserted") for each in of_side], np.bool_)
        for now, of_side in zip(there, done, strict=True)
    ]
    return tuple(list(values(each)) for each in (was, *there)), tuple(changed)
