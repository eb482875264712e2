"""SQL engines over Lance tables. Each engine's module is imported on first use.

register(connection)               the table functions in a DuckDB connection
register(connection, name, table)  one table under a name, in every engine
attach(connection, folder, as_=)   the tables of a folder as a schema, in DuckDB and DataFusion
register(spark)                    the format "lance" in a Spark session
read_spark(spark, table, ...)      a Spark frame of some columns and rows of a table
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lance_sql.errors import InvalidArgument
from lance_sql.values.keywords import suggests_keywords

from . import adapter, attached

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from lance_sql.catalogs import Catalog
    from lance_sql.dataset import Dataset

_LOG = logging.getLogger("lance_sql")

__all__ = ["attach", "read_spark", "register"]


@suggests_keywords
def register(
    target: Any,
    name: str | None = None,
    table: Dataset | str | os.PathLike[str] | None = None,
    **opening: Any,
) -> Any:
    """Prepares a DuckDB connection, a DataFusion SessionContext or a SparkSession. Returns the object to query.

    Without a name, `lance_scan('path', ...)` becomes a table function. With one, `table` becomes a table of that name,
    with its own columns.

    table: a Dataset, or a path or URI, which is read as of now
    opening: keywords of `lance_sql.open`, such as `version` and `storage_options`, for a path or URI
    raises: InvalidArgument for another kind of target; TableNotFound, VersionNotFound
    """
    if (name is None) != (table is None):
        raise InvalidArgument("register needs both a name and a table, or neither: pass both")
    if opening and table is None:
        raise InvalidArgument(f"{next(iter(opening))}= is about one table: pass its name and path, or call connect")
    engine = adapter.of(target)
    if engine is None:
        kind = f"{type(target).__module__}.{type(target).__qualname__}"
        raise InvalidArgument(
            f"Cannot register Lance tables with a {kind}: pass {adapter.connections(adapter.every())}"
        )
    target = engine.registration.register(target)
    if name is not None and table is not None:
        engine.registration.register_table(target, name, _opened(table, opening))
    return target


@suggests_keywords
def attach(target: Any, folder: str | os.PathLike[str] | Catalog, *, as_: str) -> Any:
    """Attaches the tables of a folder or of a catalog as a schema of DuckDB or DataFusion. Returns the object to query.

    `folder/orders.lance` becomes `as_.orders`, and the table `orders` of the namespace `sales` becomes
    `as_.sales.orders`, with its own columns. Each query reads the newest version. Nested namespaces have
    dots in their names, as in `as_."sales.eu".orders`. A connection of DuckDB 2.0 from `connect` also sees tables that
    are created or dropped later, as DataFusion does; with others, call `attach` again.
    A table that cannot be read raises its error when it is queried. So do, in DuckDB, two names that differ only in
    case.

    folder: or the address of a REST namespace, or the result of `lance_sql.catalog`, whose keywords of access all
        statements of the connection have from then on
    raises: InvalidArgument for another kind of target, and for a name that is taken; TableNotFound without the folder

    >>> connection = lance_sql.attach(lance_sql.connect(), "examples", as_="lake")
    >>> connection.execute("SELECT count(*) > 0 FROM lake.orders").fetchall()
    [(True,)]
    """
    from lance_sql.catalogs import Catalog, catalog
    from lance_sql.store.access import within

    engine = adapter.of(target)
    if engine is None or not engine.attaches:
        kind = f"{type(target).__module__}.{type(target).__qualname__}"
        able = filter(lambda each: each.attaches, adapter.every())
        raise InvalidArgument(f"Cannot attach a folder to a {kind}: pass {adapter.connections(able)}")
    attached_catalog = folder if isinstance(folder, Catalog) else catalog(folder, **attached.access_of(target))
    target = engine.registration.register(target)
    attached.give_access(target, attached_catalog.access)
    with within(attached.access_of(target)):
        attached.remember(target, as_, attached_catalog, engine.registration.attach(target, attached_catalog, as_))
    return target


def attach_again(target: Any) -> bool:
    """Attaches the catalogs of a DuckDB connection again whose tables are others now. Logs the error of one that cannot
    be listed. Returns whether there was one."""
    from lance_sql.errors import LanceError

    changed = False
    for name, known in attached.of(target).items():
        try:
            if frozenset(known.catalog.walk()) != known.listed:
                attach(target, known.catalog, as_=name)
                changed = True
        except (LanceError, OSError) as error:
            _LOG.warning("The attached catalog %s has the tables as before: %s", name, str(error).partition("\n")[0])
    return changed


@suggests_keywords
def read_spark(
    spark: Any,
    table: Dataset | str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    filter: str | None = None,
    **opening: Any,
) -> Any:
    """Opens a Spark frame that reads only some columns and rows of a table.

    Spark does not pass the columns of a query to a Python source, and its filter pushdown loses rows. Therefore pass
    both here. Spark may filter the frame further.

    table, opening: as for `register`; the frame stays at the version found now
    columns: in the order wanted, including system columns; all columns of the table by default
    filter: SQL as for `Dataset.scan`: in DuckDB's dialect, and times without a zone are UTC
    raises: TableNotFound, VersionNotFound, ColumnNotFound; InvalidArgument and UnsupportedFeature for the filter

    >>> read_spark(spark, "examples/orders.lance", ["id"], "status = 'open'").count()  # doctest: +SKIP
    104
    """
    if adapter.of(spark) is not adapter.named("spark"):
        raise InvalidArgument(f"read_spark needs a SparkSession, not a {type(spark).__qualname__}")
    from .spark import data_source as provider

    dataset = _opened(table, opening)
    # raises errors here, rather than in a worker of Spark
    _ = dataset.scan(columns, filter).schema
    return provider.read(provider.register(spark), dataset, columns, filter)


def _opened(table: Dataset | str | os.PathLike[str], opening: Mapping[str, Any]) -> Dataset:
    from lance_sql.dataset import Dataset
    from lance_sql.opening import open

    if not isinstance(table, Dataset):
        return open(table, **opening)
    if opening:
        raise InvalidArgument("A Dataset is a fixed version: pass a path for time travel")
    return table
