"""Lance tables in DataFusion.

    lance_scan('path'[, version or tag[, as_of]])
                                            a table function, with system columns; DataFusion has no named arguments.
                                            The path may name the version itself, as in 'orders.lance@41'
    lance_table('path'[, version or tag[, as_of]])
                                            the same without system columns
    lance_versions('path'[, version or tag]), lance_files, lance_fragments, lance_columns, lance_indices,
    lance_statistics, lance_tags, lance_branches
                                            what the table consists of
    lance_changes('path', start, end, since, mode, drop_unchanged, trust_snapshots)
    lance_insertions('path', start, end), lance_deletions('path', start, end), lance_row_history('path', start, end)
                                            the change feed; bounds are versions, tags or times, or NULL
    lance_vector_search('path', 'v', '[1, 2]', k, filter, prefilter, version, tag, branch, as_of, since, metric, ...)
                                            the rows whose vectors are nearest; the vector is JSON, as text
    lance_fts, lance_hybrid_search, lance_vector_join, lance_search_changes
                                            the other searches, likewise
    FROM name                               a table that was registered under a name, with its own columns

DataFusion hands filters over for good, and reads a partition for each task of a scan.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import Expr, SessionContext, udtf
from datafusion.catalog import CatalogProvider, SchemaProvider, Table

from lance_sql.catalogs import Catalog, metadata_tables
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, LanceError, TableNotFound

from ..arrow import EngineDataset, Relation
from ..change_feeds import open_changes, open_row_history
from ..search_arguments import SEARCHES
from ..searching import open_search
from ..snapshots import open_version


def register(context: SessionContext) -> SessionContext:
    """Adds the table functions; returns the context."""
    functions = (_lance_scan, _lance_table, _lance_changes, _lance_insertions, _lance_deletions, _lance_row_history)
    for function in functions:
        context.register_udtf(udtf(function, function.__name__.removeprefix("_")))
    for name in SEARCHES:
        context.register_udtf(udtf(partial(_search, name), name))
    for name in metadata_tables.TABLES:
        context.register_udtf(udtf(partial(_metadata, name), f"lance_{name}"))
    return context


def register_table(context: SessionContext, name: str, dataset: Dataset) -> None:
    """Makes one version of a table known under a name, with its own columns; replaces a table of that name."""
    if context.table_exist(name):
        context.deregister_table(name)
    context.register_table(name, _table(dataset, with_system_columns=False))


def attach(context: SessionContext, catalog: Catalog, name: str) -> None:
    """Makes the tables of a catalog known as `name.table` and `name.namespace.table`. Each query finds what is in the
    catalog then, and reads the newest version."""
    context.catalog().register_schema(name, _Namespace(catalog, ()))
    context.register_catalog_provider(name, _Catalog(catalog))


class _Catalog(CatalogProvider):
    """A catalog, whose namespaces are schemas."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def schema_names(self) -> set[str]:
        return {".".join(name[:-1]) or "main" for name in self._catalog.walk()}

    def schema(self, name: str) -> _Namespace | None:  # type: ignore[override]  # DataFusion takes these as well
        namespace = () if name == "main" else tuple(name.split("."))
        try:
            self._catalog.tables(namespace)
        except TableNotFound:
            return None
        return _Namespace(self._catalog, namespace)


class _Namespace(SchemaProvider):
    """The tables of a namespace as a schema."""

    def __init__(self, catalog: Catalog, namespace: tuple[str, ...]) -> None:
        self._catalog = catalog
        self._namespace = namespace

    def table_names(self) -> set[str]:
        return set(self._catalog.tables(self._namespace))

    def table(self, name: str) -> Table | None:
        try:
            path = self._catalog.describe((*self._namespace, name)).path
            return _table(open_version(path), with_system_columns=False)
        except TableNotFound:
            return None

    def table_exist(self, name: str) -> bool:
        return name in self._catalog.tables(self._namespace)


def widen(type: pa.DataType) -> pa.DataType:
    """DataFusion takes every type as it is."""
    return type


def _table(dataset: Relation, *, with_system_columns: bool) -> Table:
    return Table(EngineDataset(dataset, widen, with_system_columns=with_system_columns))


def _lance_scan(*arguments: Expr) -> Table:
    """Called while a query is planned, so that each query reads the newest version."""
    try:
        return _table(_open("lance_scan", arguments), with_system_columns=True)
    except LanceError as error:
        # DataFusion prints the traceback into its message; this leaves one line of it.
        raise error.with_traceback(None) from None


def _lance_table(*arguments: Expr) -> Table:
    try:
        return _table(_open("lance_table", arguments), with_system_columns=False)
    except LanceError as error:
        raise error.with_traceback(None) from None


def _metadata(name: str, *arguments: Expr) -> Table:
    try:
        table = metadata_tables.TABLES[name](_open(f"lance_{name}", arguments))
    except LanceError as error:
        raise error.with_traceback(None) from None
    return Table(ds.dataset(table))


def _search(name: str, *arguments: Expr) -> Table:
    try:
        names = SEARCHES[name]
        if not 1 <= len(arguments) <= len(names) + 1:
            raise InvalidArgument(f"{name} takes a path, and after it {', '.join(names)}")
        path, *values = map(_value, arguments)
        if not isinstance(path, str):
            raise InvalidArgument(f"{name} takes a path first, not {path!r}")
        given = dict(zip(names, values, strict=False))
        return _table(open_search(name, path, given), with_system_columns=False)
    except LanceError as error:
        raise error.with_traceback(None) from None


def _open(function: str, arguments: tuple[Expr, ...]) -> Dataset:
    if not 1 <= len(arguments) <= 3:
        raise InvalidArgument(f"{function} takes a path, and after it a version or tag, or NULL and a time")
    path, chosen, as_of, *_ = [*map(_value, arguments), None, None]
    if not isinstance(path, str):
        raise InvalidArgument(f"{function} takes a path first, not {path!r}")
    if as_of is not None and not isinstance(as_of, str | datetime):
        raise InvalidArgument(f"{function} takes a time third, not {as_of!r}")
    match chosen:
        case None:
            return open_version(path, as_of=as_of)
        case int(version) if not isinstance(version, bool):
            return open_version(path, version=version, as_of=as_of)
        case str(tag):
            return open_version(path, tag=tag, as_of=as_of)
    raise InvalidArgument(f"{function} takes a version number or a tag, not {chosen!r}")


_ARGUMENTS: Final = (
    "a start",
    "an end",
    "a version since which",
    "a mode",
    "whether unchanged rows are dropped",
    "whether snapshots are trusted",
)


def _lance_changes(*arguments: Expr) -> Table:
    return _changes("lance_changes", arguments, most=7)


def _lance_insertions(*arguments: Expr) -> Table:
    return _changes("lance_insertions", arguments, most=3, mode="insert_only")


def _lance_deletions(*arguments: Expr) -> Table:
    return _changes("lance_deletions", arguments, most=3, kind="delete")


def _lance_row_history(*arguments: Expr) -> Table:
    return _changes("lance_row_history", arguments, most=3, has_images=True)


def _changes(
    name: str,
    arguments: tuple[Expr, ...],
    *,
    most: int,
    mode: str | None = None,
    kind: str | None = None,
    has_images: bool = False,
) -> Table:
    """Called while a query is planned, as `_lance_scan`.

    most: arguments that the function takes
    has_images: every image of the rows is wanted, with the time that it was there
    """
    try:
        if not 1 <= len(arguments) <= most:
            others = ", ".join(_ARGUMENTS[: most - 1])
            raise InvalidArgument(f"{name} takes a path, and after it {others}")
        values: list[Any] = [_value(argument) for argument in arguments]
        path, start, end, since, wanted, drops, trusts, *_ = values + [None] * len(_ARGUMENTS)
        if not isinstance(path, str):
            raise InvalidArgument(f"{name} takes a path first, not {path!r}")
        if has_images:
            return _table(open_row_history(path, start, end), with_system_columns=False)
        for what, value in zip(_ARGUMENTS[4:], (drops, trusts), strict=True):
            if value is not None and not isinstance(value, bool):
                raise InvalidArgument(f"{name} takes {what} as true or false, not {value!r}")
        feed = open_changes(
            path, start, end, since=since, mode=mode or wanted, drop_unchanged=drops, trust_snapshots=trusts
        )
        return _table(feed.only(kind) if kind is not None else feed, with_system_columns=False)
    except LanceError as error:
        raise error.with_traceback(None) from None


def _value(argument: Expr) -> Any:
    value = argument.python_value()
    return value.as_py() if isinstance(value, pa.Scalar) else value
