"""Lance tables in DuckDB, 1.5 and 2.0, on ordinary connections.

    lance_scan('path', version := 3, tag := 't', branch := 'b', as_of := TIMESTAMP '...')
        a table macro: SELECT * FROM query(__lance_ref(...)). The arguments are constants, so DuckDB calls the Python
        function __lance_ref while it binds the query. That opens the table, leaves it in the caller's frame under a
        fresh name, where DuckDB's scan of Python variables finds it, and returns "FROM" that name. The plan then
        holds the table: columns and filters are pushed into it, and the name is kept only for queries that are being
        bound.
        filter := 'a > 7' has it leave rows out that DuckDB does not know to leave out, such as those of a join;
        use_indices := false reads without indices; fresh := true reads the table's write-ahead log as well
    lance_scan('lake/*.lance'), lance_scan(['a.lance', 'b.lance'])
        the rows of several tables with equal columns, one after the other; also as a path
    lance_table('path', version := 3, ...)
        the same without system columns, for SELECT *, EXCEPT and what is to be written elsewhere
    lance_versions('path'), lance_files('path', version := 3), lance_fragments, lance_columns, lance_indices,
    lance_statistics, lance_tags, lance_branches
        what the table consists of
    lance_changes('path', 3, 5, since := 2, mode := 'net', drop_unchanged := true, key := ['id'], branch := 'b')
    lance_insertions('path', 3, 5), lance_deletions('path', 3, 5), lance_row_history('path', 3, 5)
        the same for the change feed, whose bounds are versions, tags or times
    lance_vector_search('path', 'v', [..]::FLOAT[], k := 10, filter := 'a > 7', version := 41, since := 40, ...)
    lance_fts('path', 'body', 'words', ...), lance_hybrid_search('path', 'v', [..], 'body', 'words', alpha := 0.5, ...)
        the rows whose vectors are nearest, that have words, or both; the arguments are those of the official extension
        and of time travel
    lance_vector_join('path', 'v', 'queries.lance', k := 3), lance_vector_join('path', 'v', [[..], [..]])
        the rows that are nearest to each of several vectors
    lance_search_changes('path', 41, vector_column := 'v', vector := [..], text_column := 'body', query := 'words')
        how what a search finds has changed since a version
    FROM 'path/x.lance', FROM 'path/x.lance@41', FROM 'path/x.lance@tag'
        a table without system columns, on connections of `connect`: an extension makes a macro of such a name
    FROM lake.x
        a table of a folder that was attached as `lake`
    FROM dataset
        a Python variable that holds a Dataset needs nothing from here

A statement that is prepared once reads the version that it was prepared with, and fails when there is a newer one by
then; one with parameters is planned anew, and sees it.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from threading import Lock
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakSet

import duckdb
import pyarrow as pa

from lance_sql import metadata_tables
from lance_sql.arrow_dataset import limit_wait_for_interpreter
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, LanceError, UnsupportedFeature
from lance_sql.store.allowed_bases import allowing
from lance_sql.store.cached import caching
from lance_sql.version_names import as_version, split_name

from . import duckdb_extension
from .arrow import EngineDataset
from .changes import open_changes, open_row_history
from .duckdb_tables import NO_COLUMN, FreshTable, feed_table, has_sources, table
from .folders import check_alike, is_written, paths_of
from .searching import NUM_NEEDED, SEARCHES, open_search
from .snapshots import open_version

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from lance_sql.catalogs import Catalog

_REFERENCE: Final = "__lance_ref"
_CHANGES: Final = "__lance_changes_ref"
_SEARCH: Final = "__lance_search_ref"
_HISTORY: Final = "__lance_row_history_ref"
_METADATA: Final = "__lance_metadata_ref"
# Not a macro that the user gave such a name.
_QUERY: Final = "system.main.query"
_TABLES: Final = "system.main.query_table"
# What they return is a query: of an opened table, or one that fails with what is wrong. An exception of a Python
# function would bring its source-code paths into DuckDB 1.5's message. To tell a name from a message in SQL would take
# DuckDB a fourth of the time in which it binds the rest.

# A path or a list of them, as one text.
_PATHS: Final = "to_json(path)::VARCHAR"
# All as texts, so that what is of another type is refused in our words.
_PLACE: Final = "version::VARCHAR, tag::VARCHAR, branch::VARCHAR, as_of::VARCHAR"
_ALL_COLUMNS: Final = f"SELECT * EXCLUDE ({NO_COLUMN}) FROM "


def _changes(mode: str, drop_unchanged: str, key: str = "NULL", trust_snapshots: str = "false") -> str:
    """The call that opens a change feed, in a macro with the parameters of its bounds."""
    bounds = ", ".join(f"{name}::VARCHAR" for name in ("start_version", "end_version", "since"))
    options = f"{mode}::VARCHAR, {drop_unchanged}::BOOLEAN, {key}, branch::VARCHAR, {trust_snapshots}::BOOLEAN"
    return f"{_QUERY}({_CHANGES}(path::VARCHAR, {bounds}, {options}))"


def _search(function: str) -> str:
    """A macro for a search; what it is given is one JSON text, in which lists of numbers stay what they are."""
    needed, names = NUM_NEEDED[function], SEARCHES[function]
    defaults = {"k": "10"}
    parameters = [*names[:needed], *(f"{name} := {defaults.get(name, 'NULL')}" for name in names[needed:])]
    # as texts, but what is a number, a list or true
    texts = {"filter", "query_filter", "version", "tag", "branch", "as_of", "since"}
    given = ", ".join(f"'{name}': {name}::VARCHAR" if name in texts else f"'{name}': {name}" for name in names)
    call = f"{_QUERY}({_SEARCH}('{function}', path::VARCHAR, to_json({{{given}}})::VARCHAR))"
    return f"MACRO {function}(path, {', '.join(parameters)}) AS TABLE SELECT * FROM {call}"


_MACROS: Final = (
    *map(_search, SEARCHES),
    *(
        f"MACRO {name}(path, version := NULL, tag := NULL, branch := NULL, as_of := NULL, filter := NULL,"
        " use_indices := true, fresh := false) AS TABLE "
        + _ALL_COLUMNS
        + f"{_QUERY}({_REFERENCE}({_PATHS}, {_PLACE}, {hidden}, filter::VARCHAR, use_indices::BOOLEAN,"
        " fresh::BOOLEAN))"
        for name, hidden in (("lance_scan", "true"), ("lance_table", "false"))
    ),
    *(
        f"MACRO lance_{name}(path, version := NULL, tag := NULL, branch := NULL, as_of := NULL) AS TABLE SELECT * FROM "
        f"{_QUERY}({_METADATA}('{name}', path::VARCHAR, {_PLACE}))"
        for name in metadata_tables.BY_NAME
    ),
    "MACRO lance_changes(path, start_version := NULL, end_version := NULL, since := NULL, mode := 'all',"
    " drop_unchanged := false, key := NULL, branch := NULL, trust_snapshots := false) AS TABLE SELECT * FROM "
    + _changes("mode", "drop_unchanged", "to_json(key)::VARCHAR", "trust_snapshots"),
    "MACRO lance_insertions(path, start_version := NULL, end_version := NULL, since := NULL, branch := NULL)"
    " AS TABLE SELECT * FROM " + _changes("'insert_only'", "false"),
    "MACRO lance_deletions(path, start_version := NULL, end_version := NULL, since := NULL, branch := NULL)"
    " AS TABLE SELECT * FROM " + _changes("'all'", "false") + " WHERE _change_type = 'delete'",
    "MACRO lance_row_history(path, start_version := NULL, end_version := NULL, branch := NULL)"
    " AS TABLE SELECT * FROM "
    f"{_QUERY}({_HISTORY}(path::VARCHAR, start_version::VARCHAR, end_version::VARCHAR, branch::VARCHAR))",
    f"MACRO {duckdb_extension.PATH_FUNCTION}(path) AS TABLE {_ALL_COLUMNS}"
    f"{_QUERY}({_REFERENCE}({_PATHS}, NULL, NULL, NULL, NULL, false, NULL, true, false))",
)
SECONDS_TO_WAIT: Final = 20.0
"""For Python's lock, in DuckDB 1.5: so long a half-read result whose connection was let go of may stand still."""

if not has_sources():
    # DuckDB 1.5 holds the lock while it waits for its threads, where the last that holds a connection is a result
    limit_wait_for_interpreter(SECONDS_TO_WAIT)

# More than any statement has references, with room for the statements of other threads.
_MAX_NAMES: Final = 256


def connect(
    database: str = ":memory:",
    *,
    statistics_cache: str | os.PathLike[str] | None = None,
    allow_bases: str | Sequence[str] | None = None,
    cache: str | os.PathLike[str] | bool | None = None,
    **options: Any,
) -> DuckDBPyConnection:
    """A connection with `lance_scan` and `FROM 'x.lance'`; the options are those of `duckdb.connect`.

    A database file that the process has open already, without the extension, has `lance_scan` only in DuckDB 1.5.
    """
    connection = duckdb_extension.open_with_extension(database, options)
    check_replacements(connection)
    for add in _functions(connection, statistics_cache, allow_bases, cache).values():
        # Another connection of the process may have added it. Asking takes longer than all the rest of this.
        with suppress(duckdb.NotImplementedException, duckdb.CatalogException):
            add()
    _add_macros(connection)
    _prepared.add(connection)
    return connection


_prepared: Final[WeakSet[DuckDBPyConnection]] = WeakSet()
"""Connections that have the functions already."""


def register(
    connection: DuckDBPyConnection, statistics_cache: str | os.PathLike[str] | None = None
) -> DuckDBPyConnection:
    """Adds `lance_scan`, `lance_changes` and their like to a connection, and returns the connection.

    Cursors of a database in memory have them too; cursors of a database in a file are registered themselves.
    `FROM 'x.lance'` needs a database that was opened by `connect`.

    statistics_cache: as for `lance_sql.open`, of tables that the connection opens by their paths
    raises: InvalidArgument for a connection that does not look at Python variables
    """
    check_replacements(connection)
    if statistics_cache is None and connection in _prepared:
        return connection
    functions = _functions(connection, statistics_cache)
    # an error would end a transaction of the caller's, so that trying is not enough here
    query = f"SELECT function_name FROM duckdb_functions() WHERE function_name IN ({', '.join('?' * len(functions))})"
    known = {name for (name,) in connection.execute(query, list(functions)).fetchall()}
    for name, add in functions.items():
        if name not in known:
            add()
    _add_macros(connection)
    _prepared.add(connection)
    return connection


def _functions(
    connection: DuckDBPyConnection,
    statistics_cache: str | os.PathLike[str] | None,
    allow_bases: str | Sequence[str] | None = None,
    cache: str | os.PathLike[str] | bool | None = None,
) -> dict[str, Callable[[], object]]:
    """What adds each of the functions that the macros call."""
    learned = None if statistics_cache is None else os.fspath(statistics_cache)
    functions: Sequence[tuple[str, Callable[..., str], Sequence[str]]]
    functions = ((_REFERENCE, functools.partial(_refer, learned), _OPENING), *_FUNCTIONS)
    contexts: list[Callable[[], AbstractContextManager[None]]] = []
    if allow_bases:
        places = ",".join([allow_bases] if isinstance(allow_bases, str) else allow_bases)
        contexts.append(functools.partial(allowing, places))
    if cache is not None:
        contexts.append(functools.partial(caching, cache))
    if contexts:
        functions = tuple((name, _inside(contexts, function), types) for name, function, types in functions)
    return {
        name: functools.partial(
            connection.create_function, name, function, list(types), "VARCHAR", null_handling="special"
        )
        for name, function, types in functions
    }


def _inside(
    contexts: Sequence[Callable[[], AbstractContextManager[None]]], function: Callable[..., str]
) -> Callable[..., str]:
    """A function that is called inside of contexts, which say how tables are opened."""
    made = functools.partial(_call_inside, contexts, function)
    # DuckDB looks at it to see how many arguments there are
    made.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return made


def _call_inside(
    contexts: Sequence[Callable[[], AbstractContextManager[None]]], function: Callable[..., str], *arguments: Any
) -> str:
    with ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context())
        return function(*arguments)


def _add_macros(connection: DuckDBPyConnection) -> None:
    # Temporary macros belong to one connection. In memory a lasting one leaves nothing behind, and cursors have it.
    kinds = ("TEMP ", "") if _is_in_memory(connection) else ("TEMP ",)
    connection.execute(";".join(f"CREATE OR REPLACE {kind}{macro}" for kind in kinds for macro in _MACROS))


def register_table(connection: DuckDBPyConnection, name: str, dataset: Dataset) -> None:
    """Makes one version of a table known under a name, with its own columns."""
    # DuckDB 1.5 would keep the database open for as long as the process lives
    if not has_sources() or NO_COLUMN in map(str.casefold, dataset.schema.names):
        connection.register(name, table(dataset))
        return
    # so that whoever counts rows is not given the values of the first column
    source = connection.from_arrow(table(dataset, with_no_column=True))
    connection.register(name, source.project(f"* EXCLUDE ({NO_COLUMN})"))


def attach(connection: DuckDBPyConnection, catalog: Catalog, name: str) -> None:
    """Makes the tables of a catalog known as `name.table` and `name.namespace.table`; those that come later are known
    after another call.

    Each is a view, so that every query reads the newest version. The views are in a database in memory of that name.

    raises: InvalidArgument for a name that a database with tables, or in a file, has
    """
    tables = list(catalog.walk())
    quoted = _identifier(name)
    query = "SELECT path IS NULL FROM duckdb_databases() WHERE lower(database_name) = lower(?)"
    known = connection.execute(query, [name]).fetchall()
    if not known:
        connection.execute(f"ATTACH ':memory:' AS {quoted}")
    query = "SELECT count(*) FROM duckdb_tables() WHERE lower(database_name) = lower(?)"
    if known not in ([], [(True,)]) or connection.execute(query, [name]).fetchall() != [(0,)]:
        raise InvalidArgument(f"The connection has a database {name!r} already: choose another name")
    for *namespace, table_name in tables:
        path = catalog.describe((*namespace, table_name)).path
        if not is_written(path):
            # declared only
            continue
        schema = f"{quoted}.{_identifier('.'.join(namespace) or 'main')}"
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        connection.execute(
            f"CREATE OR REPLACE VIEW {schema}.{_identifier(table_name)} AS FROM lance_table({_text(path)})"
        )


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def check_replacements(connection: DuckDBPyConnection) -> None:
    """
    raises: InvalidArgument for a connection that does not look at Python variables
    """
    settings = ("python_enable_replacements", "enable_external_access")
    query = "SELECT " + ", ".join(f"current_setting('{setting}')" for setting in settings)
    for setting, is_enabled in zip(settings, *connection.execute(query).fetchall(), strict=True):
        if not is_enabled:
            raise InvalidArgument(f"The DuckDB connection has {setting} = false; lance_scan needs it to be true")


def _is_in_memory(connection: DuckDBPyConnection) -> bool:
    query = "SELECT path IS NULL FROM duckdb_databases() WHERE database_name = current_database()"
    return connection.execute(query).fetchall() == [(True,)]


_numbers = itertools.count()
_names: deque[tuple[dict[str, Any], str]] = deque()
_lock = Lock()


def _refer(
    statistics_cache: str | None,
    path: str | None,
    version: str | None,
    tag: str | None,
    branch: str | None,
    as_of: str | None,
    with_system_columns: bool,
    filter: str | None,
    use_indices: bool | None,
    fresh: bool | None,
) -> str:
    """Opens a table while DuckDB binds a query; returns the query that reads it, or fails with what is wrong."""

    def opened(given: str) -> list[EngineDataset]:
        options: dict[str, Any] = {
            "version": _number(version),
            "tag": tag,
            "branch": branch,
            "as_of": as_of,
            "use_indices": use_indices is not False,
            "statistics_cache": statistics_cache,
        }
        found = [(each, open_version(each, **options)) for each in paths_of(json.loads(given))]
        check_alike({each: dataset.schema for each, dataset in found})
        if fresh:
            rows = [dataset.fresh_rows() for _, dataset in found]
            return [FreshTable(each if filter is None else each.where(filter)) for each in rows]
        return [
            table(
                dataset,
                with_system_columns=with_system_columns,
                with_no_column=True,
                where=filter,
                follows=(version, tag, as_of) == (None, None, None) and split_name(each)[0] == each,
            )
            for each, dataset in found
        ]

    return _published("lance_scan" if with_system_columns else "lance_table", path, opened)


def _refer_to_changes(
    path: str | None,
    start: str | None,
    end: str | None,
    since: str | None,
    mode: str | None,
    drop_unchanged: bool | None,
    key: str | None,
    branch: str | None,
    trust_snapshots: bool | None,
) -> str:
    """The same for the changes of a table."""

    def opened(path: str) -> EngineDataset:
        options: dict[str, Any] = {
            "since": since,
            "mode": mode,
            "drop_unchanged": drop_unchanged,
            "key": None if key is None else json.loads(key),
            "branch": branch,
            "trust_snapshots": trust_snapshots,
        }
        return feed_table(open_changes(path, start, end, **options))

    return _published("lance_changes", path, opened)


def _refer_to_row_history(path: str | None, start: str | None, end: str | None, branch: str | None) -> str:
    """The same for every image of its rows."""
    return _published(
        "lance_row_history", path, lambda path: feed_table(open_row_history(path, start, end, branch=branch))
    )


def _refer_to_search(function: str, path: str | None, arguments: str | None) -> str:
    """The same for what a search finds."""

    def opened(path: str) -> EngineDataset:
        given = json.loads(arguments or "{}")
        if given.get("version") is not None:
            given["version"] = _number(given["version"])
        return feed_table(open_search(function, path, given))

    return _published(function, path, opened)


def _refer_to_metadata(
    name: str, path: str | None, version: str | None, tag: str | None, branch: str | None, as_of: str | None
) -> str:
    """The same for what a version consists of."""

    def opened(path: str) -> pa.Table:
        found = open_version(path, version=_number(version), tag=tag, branch=branch, as_of=as_of)
        return metadata_tables.BY_NAME[name](found)

    return _published(f"lance_{name}", path, opened)


def _number(version: str | None) -> int | None:
    """raises: InvalidArgument for what is not the number of a version"""
    if version is None:
        return None
    number = as_version(version)
    if number is None:
        raise InvalidArgument(f"version={version!r} is not a whole number; a tag is given as tag={version!r}")
    return number


_OPENING: Final = (*["VARCHAR"] * 5, "BOOLEAN", "VARCHAR", "BOOLEAN", "BOOLEAN")
_FUNCTIONS: Final = (
    (_CHANGES, _refer_to_changes, (*["VARCHAR"] * 5, "BOOLEAN", *["VARCHAR"] * 2, "BOOLEAN")),
    (_HISTORY, _refer_to_row_history, ["VARCHAR"] * 4),
    (_SEARCH, _refer_to_search, ["VARCHAR"] * 3),
    (_METADATA, _refer_to_metadata, ["VARCHAR"] * 6),
)


_Opened: TypeAlias = EngineDataset | pa.Table | list[EngineDataset]


def _published(function: str, path: str | None, opened: Callable[[str], _Opened]) -> str:
    """Leaves what is opened where DuckDB looks for it, and returns the query that reads it; or one that fails."""
    if path is None:
        return _failing(f"{function} needs a path")
    try:
        found = opened(path)
    except LanceError as error:
        return _failing(str(error))
    namespace = _caller().f_globals
    tables = found if isinstance(found, list) else [found]
    # Without dots: DuckDB 1.5 would split the name at them.
    made = {f"__lance_{next(_numbers)}": each for each in tables}
    namespace.update(made)
    with _lock:
        _names.extend((namespace, name) for name in made)
        while len(_names) > max(_MAX_NAMES, len(made)):
            old_namespace, old_name = _names.popleft()
            old_namespace.pop(old_name, None)
    if len(made) == 1:
        return f"FROM {next(iter(made))}"
    # one after the other
    return f"FROM {_TABLES}([{', '.join(map(_text, made))}])"


def _failing(message: str) -> str:
    return f"FROM {_TABLES}(error({_text(message)}))"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _caller() -> FrameType:
    """The frame that DuckDB looks for variables in: the innermost one outside of its own Python modules."""
    frame: FrameType | None = sys._getframe(3)
    if frame is not None and frame.f_code is _call_inside.__code__:
        frame = frame.f_back
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "duckdb":
        frame = frame.f_back
    if frame is None:
        raise UnsupportedFeature("lance_scan was called without a Python frame")
    return frame
