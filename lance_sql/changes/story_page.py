"""Page of the history of rows: insert, updates with values before and after, and delete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from lance_sql.changes.row_history import FROM, FROM_VERSION, IS_CURRENT, TO, TO_VERSION, RowHistory
from lance_sql.changes.shown_rows import MAX_COLUMNS, ShownRow, alone, paired
from lance_sql.changes.version_history.history import operation
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.table.commit_origin import UNKNOWN, CommitOrigin
from lance_sql.values import html

MAX_ROWS: Final = 20
"""Maximum number of rows shown."""
MAX_IMAGES: Final = 200
"""Maximum number of images shown of each row, from its first one on."""
_ROWS_IN_A_PART: Final = 3


@dataclass(frozen=True)
class _Event:
    """Event in the history of a row.

    version: None for images from before the range
    kind: the name in the style sheet
    what: the operation of the commit, or its effect on the row if the operation is unknown
    row: None for a deleted row
    names: the columns that are shown
    origin: of the commit
    """

    version: int | None
    timestamp: datetime | None
    kind: str
    what: str
    row: ShownRow | None
    names: Sequence[str]
    origin: CommitOrigin


@dataclass(frozen=True)
class _Story:
    """History of a row.

    naming: columns that name it for people, with their newest values
    """

    row_id: int
    naming: Sequence[tuple[str, Any]]
    is_current: bool
    num_images: int
    left_out: int
    events: Sequence[_Event]


def as_page(history: RowHistory, predicate: Predicate | None = None) -> str:
    """Renders a page in one file that needs no network.

    predicate: a condition on images; rows with an image that passes are shown
    raises: MissingDependency where Jinja2 is not installed; as reading the history
    """
    return html.render("stories", **_values(history, predicate, MAX_ROWS))


def as_part(history: RowHistory) -> str | None:
    """Renders the first rows for a notebook."""
    return html.part("stories_part", **_values(history, None, _ROWS_IN_A_PART))


def _values(history: RowHistory, predicate: Predicate | None, max_rows: int) -> dict[str, Any]:
    images = history.of_rows(predicate, max_rows + 1)
    ids = images[ROW_ID].unique().to_pylist()
    stories = [_story(history, images.filter(_equal(images[ROW_ID], row_id))) for row_id in ids[:max_rows]]
    return {
        "history": history,
        "filter": predicate,
        "stories": stories,
        "has_more": len(ids) > max_rows,
        "start": history.start,
    }


def _equal(column: pa.ChunkedArray, value: int) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.equal(column, value)


def _story(history: RowHistory, images: pa.Table) -> _Story:
    """
    images: of one row
    """
    own_names = [field.name for field in history.feed_fields]
    names = [name for name in images.column_names if name not in own_names and name != ROW_ID]
    shown = images.slice(0, MAX_IMAGES)
    [last] = alone("ins", images.slice(images.num_rows - 1), names, [None])
    return _Story(
        row_id=images[ROW_ID][0].as_py(),
        naming=[(name, last.cells[name].value) for name in history.naming_columns if name in last.cells],
        is_current=images[IS_CURRENT][-1].as_py(),
        num_images=images.num_rows,
        left_out=images.num_rows - shown.num_rows,
        events=list(_events(history, shown, names)),
    )


def _events(history: RowHistory, images: pa.Table, names: Sequence[str]) -> Iterator[_Event]:
    validities = images.select([field.name for field in history.feed_fields]).to_pylist()
    before_it: int | None = None
    nothing = "written again, with the same values"
    for number, each in enumerate(validities):
        version = each[FROM_VERSION]
        image = images.slice(number, 1)
        is_update = number > 0 and before_it == version
        if is_update:
            [row] = paired(images.slice(number - 1, 1), image, names, [None])
            changed = [name for name in names if row.cells[name].has_changed]
            yield _event(history, version, each[FROM], "upd", row, changed, nothing)
        else:
            [row] = alone("ins", image, names, [None])
            yield _event(history, version, each[FROM], "ins", row, names[:MAX_COLUMNS], None)
        before_it = each[TO_VERSION]
        follows = validities[number + 1][FROM_VERSION] if number + 1 < len(validities) else None
        if before_it is not None and before_it != follows:
            yield _event(history, before_it, each[TO], "del", None, (), None)


def _event(
    history: RowHistory,
    version: int | None,
    timestamp: datetime | None,
    kind: str,
    row: ShownRow | None,
    names: Sequence[str],
    unchanged: str | None,
) -> _Event:
    commits = history.range.history
    did = {"ins": "exists", "upd": "updated", "del": "deleted"}[kind]
    what = did if version is None else operation(commits.snapshot_at(version)) or did
    if unchanged is not None and not names:
        what = f"{what}: {unchanged}"
    elif kind == "del" and what != "delete":
        what = f"{what}: the row is deleted"
    origin = UNKNOWN if version is None else commits.commit(version).origin
    return _Event(version, timestamp, kind, what, row, names, origin)
