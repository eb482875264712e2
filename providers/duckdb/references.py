"""Targets of macros: opens tables while DuckDB binds a query, and stores them in variables that DuckDB finds.

The functions return a query of an opened table, or one that fails with the error. An exception of a Python function
would add its source-code paths to DuckDB 1.5's message. Telling a name from a message in SQL would take a quarter of
the time for binding the rest.
"""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from types import FrameType
from typing import Any, Final, TypeAlias

import pyarrow as pa

from lance_sql.errors import LanceError, UnsupportedFeature
from lance_sql.values.sql_text import literal

from ..arrow import EngineDataset
from ..folders import check_alike, check_system_columns, paths_of
from ..snapshots import open_version
from ..sources import open_source, typed
from .macros import NO_COLUMN, REFERENCE, RELATION
from .tables import RelationTable, table

# More references than any statement has, with room for the statements of other threads.
_MAX_NAMES: Final = 256
# Not a macro that the user defined with this name.
_TABLES: Final = "system.main.query_table"

_numbers = itertools.count()
_names: deque[tuple[dict[str, Any], str]] = deque()
_lock = Lock()
_is_unopened: Final[ContextVar[bool]] = ContextVar("is_unopened", default=False)


@dataclass(frozen=True, slots=True)
class Binding:
    """The context in which DuckDB binds a query.

    variables: the Python variables that DuckDB searches
    statistics_cache: as for `lance_sql.open`
    """

    variables: dict[str, Any]
    statistics_cache: str | None


def query(function: str, arguments: Sequence[Any], caller: FrameType, statistics_cache: str | None) -> str:
    """Returns the result of a function of `macros.CALLED`.

    caller: the innermost Python frame that runs the query
    """
    return _QUERIES[function](Binding(_variables(caller), statistics_cache), *arguments)


def _scan(
    binding: Binding,
    path: str | None,
    version: str | None,
    tag: str | None,
    branch: str | None,
    as_of: str | None,
    with_system_columns: bool,
    filter: str | None,
    use_indices: bool | None,
    fresh: bool | None,
    _: str,
) -> str:
    """Opens a table while DuckDB binds a query. Returns the query that reads it, or one that fails with the error."""

    def opened(given: str) -> list[EngineDataset]:
        chosen = {"version": version, "tag": tag, "branch": branch, "as_of": as_of, "use_indices": use_indices}
        options = {**typed("lance_scan", chosen), "statistics_cache": binding.statistics_cache}
        where = typed("lance_scan", {"filter": None if filter is None else json.loads(filter)}).get("filter")
        datasets = [(each, open_version(each, **options)) for each in paths_of(json.loads(given))]
        check_alike({each: dataset.schema for each, dataset in datasets})
        if fresh:
            from lance_sql.reads.mem_wal import open_fresh_rows

            rows = [open_fresh_rows(dataset.snapshot) for _, dataset in datasets]
            return [RelationTable(each if where is None else each.where(where), with_no_column=True) for each in rows]
        if with_system_columns:
            check_system_columns(dict(datasets))
        return [
            table(dataset, with_system_columns=with_system_columns, with_no_column=True, where=where)
            for _, dataset in datasets
        ]

    return _published(binding, "lance_scan" if with_system_columns else "lance_table", path, opened)


def _relation(binding: Binding, function: str, path: str | None, arguments: str | None, _: str) -> str:
    """Opens the result of another table function, like `_scan` opens a table."""
    given = json.loads(arguments or "{}")

    def opened(path: str) -> EngineDataset | pa.Table:
        relation = open_source(function, path, given).relation
        return relation if isinstance(relation, pa.Table) else RelationTable(relation)

    return _published(binding, function, path, opened)


_Opened: TypeAlias = EngineDataset | pa.Table | list[EngineDataset]


def _published(binding: Binding, function: str, path: str | None, opened: Callable[[str], _Opened]) -> str:
    """Stores an opened table in a variable that DuckDB finds. Returns the query that reads it, or one that fails."""
    if path is None:
        return _failing(f"{function} needs a path")
    if _is_unopened.get():
        return f"FROM (SELECT NULL AS {NO_COLUMN}, NULL AS unreadable)"
    try:
        result = opened(path)
    except LanceError as error:
        return _failing(str(error))
    tables = result if isinstance(result, list) else [result]
    # Without dots: DuckDB 1.5 would split the name at them.
    named_tables = {f"__lance_{next(_numbers)}": each for each in tables}
    binding.variables.update(named_tables)
    with _lock:
        _names.extend((binding.variables, name) for name in named_tables)
        while len(_names) > max(_MAX_NAMES, len(named_tables)):
            variables, old = _names.popleft()
            variables.pop(old, None)
    if len(named_tables) == 1:
        return f"FROM {next(iter(named_tables))}"
    # one after the other
    return f"FROM {_TABLES}([{', '.join(map(literal, named_tables))}])"


def _failing(message: str) -> str:
    return f"FROM {_TABLES}(error({literal(message)}))"


def _variables(caller: FrameType) -> dict[str, Any]:
    """Returns the Python variables that DuckDB searches: those of the innermost frame outside its own modules."""
    frame: FrameType | None = caller
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "duckdb":
        frame = frame.f_back
    if frame is None:
        raise UnsupportedFeature("lance_scan was called without a Python frame")
    return frame.f_globals


@contextmanager
def unopened() -> Iterator[None]:
    """Binds references to tables that need not be read, within a block: each has one column of NULL."""
    token = _is_unopened.set(True)
    try:
        yield
    finally:
        _is_unopened.reset(token)


_QUERIES: Final[Mapping[str, Callable[..., str]]] = {REFERENCE: _scan, RELATION: _relation}
