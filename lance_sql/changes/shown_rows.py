"""Changed rows as pages show them: one line per row, the value before next to the value after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from lance_sql.values import selection
from lance_sql.values.equal_values import same
from lance_sql.values.value_text import values

MAX_COLUMNS: Final = 24
"""Maximum number of columns shown."""


@dataclass(frozen=True, slots=True)
class ShownCell:
    """Value of a row.

    has_changed: `before` is the earlier value
    """

    value: Any
    before: Any = None
    has_changed: bool = False


@dataclass(frozen=True, slots=True)
class ShownRow:
    """Row on a page.

    kind: "ins", "upd" or "del", the names of the style sheet
    row_id: None if rows are identified by a key
    """

    kind: str
    row_id: int | None
    cells: Mapping[str, ShownCell]


def alone(kind: str, images: pa.Table, names: Sequence[str], ids: Sequence[int | None]) -> Iterable[ShownRow]:
    """Yields rows with one image: inserted or deleted rows."""
    columns = [values(selection.whole(images[name])) for name in names]
    for number, row_id in enumerate(ids):
        cells = {name: ShownCell(column[number]) for name, column in zip(names, columns, strict=True)}
        yield ShownRow(kind, row_id, cells)


def paired(before: pa.Table, after: pa.Table, names: Sequence[str], ids: Sequence[int | None]) -> Iterable[ShownRow]:
    """Yields rows with both images, which are in the same order."""
    columns = {}
    for name in names:
        earlier, later = selection.whole(before[name]), selection.whole(after[name])
        columns[name] = values(earlier), values(later), ~same(earlier, later)
    for number, row_id in enumerate(ids):
        yield ShownRow(
            "upd",
            row_id,
            {
                name: ShownCell(later[number], earlier[number], has_changed=bool(differs[number]))
                for name, (earlier, later, differs) in columns.items()
            },
        )


def chosen_columns(names: Sequence[str], rows: Sequence[ShownRow], first: Sequence[str]) -> list[str]:
    """Returns the columns to show, in their order: all, or those that name rows or changed if the table is wide.

    first: the columns that name rows
    """
    if len(names) <= MAX_COLUMNS:
        return list(names)
    changed = dict.fromkeys(name for row in rows for name, cell in row.cells.items() if cell.has_changed)
    most = set(list(dict.fromkeys([*first, *changed, *names]))[:MAX_COLUMNS])
    return [name for name in names if name in most]
