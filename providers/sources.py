"""What a reference to a table in SQL means: a table, its changes, or what it consists of, for every engine alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from lance_sql import metadata_tables
from lance_sql.errors import InvalidArgument

from .changes import bound, open_row_history
from .search_arguments import SEARCHES
from .searching import open_search
from .snapshots import open_version

if TYPE_CHECKING:
    from lance_sql.changes.answers import AnswerChanges
    from lance_sql.changes.feed import ChangeFeed
    from lance_sql.changes.row_history import RowHistory
    from lance_sql.dataset import Dataset
    from lance_sql.fresh_rows import FreshRows
    from lance_sql.search import SearchRows

Relation: TypeAlias = "Dataset | ChangeFeed | RowHistory | FreshRows | SearchRows | AnswerChanges | pa.Table"

_PLACE: Final = ("version", "tag", "branch", "as_of")
_BOUNDS: Final = ("start_version", "end_version", "since")

FUNCTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "lance_scan": (*_PLACE, "filter", "use_indices", "fresh"),
    "lance_table": (*_PLACE, "filter", "use_indices", "fresh"),
    "lance_changes": (*_BOUNDS, "mode", "drop_unchanged", "key", "branch", "trust_snapshots"),
    "lance_insertions": (*_BOUNDS, "branch"),
    "lance_deletions": (*_BOUNDS, "branch"),
    "lance_row_history": ("start_version", "end_version", "branch"),
    **SEARCHES,
    **{f"lance_{name}": _PLACE for name in metadata_tables.NAMES},
}
"""The table functions, and the names of their arguments after the path."""


@dataclass(frozen=True, slots=True)
class Source:
    """What one reference stands for.

    with_system_columns: whether a Dataset has them among its columns
    where: only these rows of a Dataset, as SQL text
    columns: all that the statement can name, of a Dataset or of changes; None where it may want any
    changes: of a change feed, what `Dataset.changes` made it of; engines that open it elsewhere want that
    """

    relation: Relation
    with_system_columns: bool = False
    where: str | None = None
    columns: tuple[str, ...] | None = None
    changes: ChangesAsked | None = None


@dataclass(frozen=True, slots=True)
class ChangesAsked:
    """A change feed as it was asked for.

    arguments: of `Dataset.changes`
    kind: of the images that are told of; None for all
    """

    dataset: Dataset
    arguments: Mapping[str, Any]
    kind: str | None


def open_source(function: str, path: str, arguments: Mapping[str, Any]) -> Source:
    """What a table function gives.

    function, arguments: of `FUNCTIONS`; arguments that are None count as not given
    raises: as `lance_sql.open`, `Dataset.scan` and `Dataset.changes`
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    if function in ("lance_scan", "lance_table"):
        where = given.pop("filter", None)
        fresh = given.pop("fresh", False)
        dataset = open_version(path, **given)
        if fresh:
            rows = dataset.fresh_rows()
            return Source(rows if where is None else rows.where(where))
        # what is wrong with the filter is said before an engine sees it
        _ = dataset.scan([], where)
        return Source(dataset, function == "lance_scan", where)
    if function in SEARCHES:
        return Source(open_search(function, path, arguments))
    if function == "lance_row_history":
        return Source(open_row_history(path, *_bounds(given), **given))
    if function in ("lance_changes", "lance_insertions", "lance_deletions"):
        return _changes(function, path, given)
    name = function.removeprefix("lance_")
    if name not in metadata_tables.NAMES:
        raise InvalidArgument(f"There is no table function {function!r}; there are {', '.join(sorted(FUNCTIONS))}")
    return Source(metadata_tables.of_name(name)(open_version(path, **given)))


def _changes(function: str, path: str, given: dict[str, Any]) -> Source:
    dataset = open_version(path, branch=given.pop("branch", None))
    start, end = _bounds(given)
    arguments = {**given, "start": bound(start), "end": bound(end), "since": bound(given.get("since"))}
    if function == "lance_insertions":
        arguments["mode"] = "insert_only"
    kind = "delete" if function == "lance_deletions" else None
    feed = dataset.changes(**arguments)
    asked = ChangesAsked(dataset, arguments, kind)
    return Source(feed if kind is None else feed.only(kind), changes=asked)


def _bounds(given: dict[str, Any]) -> tuple[Any, Any]:
    return given.pop("start_version", None), given.pop("end_version", None)
