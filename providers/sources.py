"""References to tables in SQL, for all engines: a table, its changes, or its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from lance_sql.errors import InvalidArgument

from .bounds import bound
from .searching import open_search
from .snapshots import open_version
from .table_functions import KINDS, METADATA, SEARCHES, unknown

if TYPE_CHECKING:
    from lance_sql.changes.answers import AnswerChanges
    from lance_sql.changes.feed import ChangeFeed
    from lance_sql.changes.row_history import RowHistory
    from lance_sql.dataset import Dataset
    from lance_sql.reads.mem_wal import FreshRows
    from lance_sql.reads.search import SearchRows

Relation: TypeAlias = "Dataset | ChangeFeed | RowHistory | FreshRows | SearchRows | AnswerChanges | pa.Table"


@dataclass(frozen=True, slots=True)
class Source:
    """The relation of one reference.

    with_system_columns: whether a Dataset includes its system columns
    where: filter of a Dataset, as SQL text
    columns: all columns of a Dataset or of changes that the statement can name; None if it may use any
    changes: arguments of `Dataset.changes` for a change feed, for engines that open it elsewhere
    """

    relation: Relation
    with_system_columns: bool = False
    where: str | None = None
    columns: tuple[str, ...] | None = None
    changes: ChangesAsked | None = None


@dataclass(frozen=True, slots=True)
class ChangesAsked:
    """The request for a change feed.

    arguments: of `Dataset.changes`
    kind: of the images to return; None for all
    """

    dataset: Dataset
    arguments: Mapping[str, Any]
    kind: str | None


def open_source(function: str, path: str, arguments: Mapping[str, Any]) -> Source:
    """Opens the result of a table function.

    function, arguments: of `FUNCTIONS`; None counts as not given
    raises: as `lance_sql.open`, `Dataset.scan` and `Dataset.changes`
    """
    # for a search, NULL differs from an argument that is not given
    given = typed(function, arguments)
    if function in ("lance_scan", "lance_table"):
        where = given.pop("filter", None)
        fresh = given.pop("fresh", False)
        dataset = open_version(path, **given)
        if fresh:
            from lance_sql.reads.mem_wal import open_fresh_rows

            rows = open_fresh_rows(dataset.snapshot)
            return Source(rows if where is None else rows.where(where))
        # raises errors of the filter before an engine sees it
        _ = dataset.scan([], where)
        return Source(dataset, function == "lance_scan", where)
    if function in SEARCHES:
        return Source(open_search(function, path, {**arguments, **given}))
    if function == "lance_row_history":
        return Source(
            open_version(path, branch=given.get("branch")).row_history(
                *_bounds(given), origin=given.get("origin", False)
            )
        )
    if function in ("lance_changes", "lance_insertions", "lance_deletions"):
        return _changes(function, path, given)
    name = function.removeprefix("lance_")
    if name not in METADATA:
        raise unknown(function)
    from lance_sql.catalogs import metadata_tables

    column = given.pop("column_name", None)
    dataset = open_version(path, **given)
    if column is None:
        return Source(metadata_tables.TABLES[name](dataset))
    return Source(metadata_tables.column_metadata(dataset, column))


_TRUE: Final = frozenset({"true", "t", "yes", "y", "1"})
_FALSE: Final = frozenset({"false", "f", "no", "n", "0"})


def typed(function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Converts the given arguments to their types, for every engine. Numbers and booleans may be text, and text may be
    a number.

    raises: InvalidArgument for a value that does not fit the type
    """
    return {name: _typed(function, name, value) for name, value in arguments.items() if value is not None}


def _typed(function: str, name: str, value: Any) -> Any:
    kind = KINDS.get(name)
    if kind == "flag":
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        if not isinstance(value, str) or value.lower() not in (_TRUE | _FALSE):
            raise InvalidArgument(f"{function}: {name}={value!r} is neither true nor false")
        return value.lower() in _TRUE
    if kind == "filter" and not isinstance(value, str):
        raise InvalidArgument(f"{function}: {name}={value!r} is not text: write {name} := 'id > 3'")
    if kind == "text":
        if not isinstance(value, bool | int | float | str):
            raise InvalidArgument(f"{function}: {name}={value!r} is not text")
        return str(value).lower() if isinstance(value, bool) else str(value)
    if kind == "version":
        return bound(value)
    if kind == "time" and (isinstance(value, bool) or not isinstance(value, str | date | datetime)):
        raise InvalidArgument(f"{function}: as_of={value!r} is not a time")
    if kind == "bound":
        return bound(value)
    return value


def _changes(function: str, path: str, given: dict[str, Any]) -> Source:
    dataset = open_version(path, branch=given.pop("branch", None))
    start, end = _bounds(given)
    arguments = {**given, "start": start, "end": end, "since": given.get("since")}
    if function == "lance_insertions":
        arguments["mode"] = "insert_only"
    kind = "delete" if function == "lance_deletions" else None
    feed = dataset.changes(**arguments)
    asked = ChangesAsked(dataset, arguments, kind)
    return Source(feed if kind is None else feed.only(kind), changes=asked)


def _bounds(given: dict[str, Any]) -> tuple[Any, Any]:
    return given.pop("start_version", None), given.pop("end_version", None)
