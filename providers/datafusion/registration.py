"""Registration of Lance tables with a SessionContext of DataFusion."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import Expr, SessionContext, udtf
from datafusion.catalog import CatalogProvider, SchemaProvider, Table

from lance_sql.catalogs import Catalog
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, LanceError, TableNotFound
from lance_sql.store.access import within

from ..arrow import EngineDataset, Relation, as_expression
from ..snapshots import open_version
from ..sources import Source, open_source
from ..table_functions import FUNCTIONS


def register(context: SessionContext) -> SessionContext:
    """Adds the table functions, and returns the context."""
    for name in FUNCTIONS:
        context.register_udtf(udtf(partial(_call, name), name))
    return context


def register_table(context: SessionContext, name: str, dataset: Dataset) -> None:
    """Registers one version of a table under a name, with its own columns. Replaces a table of that name."""
    if context.table_exist(name):
        context.deregister_table(name)
    context.register_table(name, _table(dataset, with_system_columns=False))


def attach(context: SessionContext, catalog: Catalog, name: str) -> list[tuple[str, ...]]:
    """Attaches the tables of a catalog as `name.table` and `name.namespace.table`. Each query looks up the catalog, and
    reads the newest version.

    returns: none, because DataFusion keeps no list of them
    """
    context.catalog().register_schema(name, _Namespace(catalog, ()))
    context.register_catalog_provider(name, _Catalog(catalog))
    return []


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
            with within(self._catalog.access):
                return _table(open_version(path), with_system_columns=False)
        except TableNotFound:
            return None

    def table_exist(self, name: str) -> bool:
        return name in self._catalog.tables(self._namespace)


class _HeldRows(ds.InMemoryDataset):  # type: ignore[misc]  # untyped base
    """A dataset of rows in memory that takes constant conditions."""

    def scanner(self, **options: Any) -> ds.Scanner:
        return super().scanner(**{**options, "filter": as_expression(options.get("filter"))})

    def get_fragments(self, filter: Any = None) -> Any:
        return super().get_fragments(as_expression(filter))


def widen(field: pa.Field) -> pa.Field:
    """Returns the field unchanged: DataFusion supports every type."""
    return field


def _table(dataset: Relation, *, with_system_columns: bool) -> Table:
    return Table(EngineDataset(dataset, widen, with_system_columns=with_system_columns))


def _call(function: str, *arguments: Expr) -> Table:
    """Opens a table function while a query is planned, so that each query reads the newest version."""
    try:
        names = FUNCTIONS[function].names
        if not 1 <= len(arguments) <= len(names) + 1:
            raise InvalidArgument(f"{function} takes a path, and after it {', '.join(names)}")
        path, *values = map(_value, arguments)
        if not isinstance(path, str):
            raise InvalidArgument(f"{function} takes a path first, not {path!r}")
        return provided(open_source(function, path, dict(zip(names, values, strict=False))))
    except LanceError as error:
        # DataFusion prints the traceback into its message; this reduces it to one line.
        raise error.with_traceback(None) from None


def provided(source: Source) -> Table:
    """Wraps a source as a table of DataFusion.

    raises: InvalidArgument for a source with a filter
    """
    if isinstance(source.relation, pa.Table):
        return Table(_HeldRows(source.relation))
    if source.where is not None:
        raise InvalidArgument("The argument filter is not supported in DataFusion: use WHERE, which is pushed down")
    return _table(source.relation, with_system_columns=source.with_system_columns)


def _value(argument: Expr) -> Any:
    value = argument.python_value()
    return value.as_py() if isinstance(value, pa.Scalar) else value
