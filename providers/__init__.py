"""SQL engines over Lance tables. Each engine's module is imported when it is first asked for.

connect()                          a DuckDB connection that knows Lance tables
register(connection)               the same for an existing DuckDB connection
register(connection, name, table)  one table under a name, for all of them alike
register(spark)                    the format "lance" in a Spark session
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_sql.errors import InvalidArgument, UnsupportedFeature

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from lance_sql.dataset import Dataset

__all__ = ["connect", "register"]


def connect(database: str = ":memory:", **options: Any) -> Any:
    """A DuckDB connection in which `lance_scan('x.lance')` and `FROM 'x.lance'` are tables.

    options: of `duckdb.connect`
    raises: UnsupportedFeature when DuckDB is not installed

    >>> connection = lance_sql.connect()
    >>> connection.execute("SELECT count(*) > 0 FROM 'examples/orders.lance'").fetchall()
    [(True,)]
    """
    try:
        from . import duckdb as provider
    except ImportError as error:
        raise _missing("DuckDB", "duckdb", error) from error
    return provider.connect(database, **options)


def register(
    target: Any,
    name: str | None = None,
    table: Dataset | str | os.PathLike[str] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
    **time_travel: Any,
) -> Any:
    """Prepares a DuckDB connection, a DataFusion SessionContext or a SparkSession; returns what to query.

    Without a name, `lance_scan('path', ...)` becomes a table function. With one, `table` becomes a table of that name,
    with its own columns.

    table: a Dataset, or a path or URI, which may come with `version`, `tag`, `branch`, `as_of` and
        `storage_options`; a table given by its path is read as of now
    raises: InvalidArgument for another kind of target; TableNotFound, VersionNotFound
    """
    if (name is None) != (table is None):
        raise InvalidArgument("register takes a name and a table together")
    engine = type(target).__module__.partition(".")[0]
    if engine in ("duckdb", "_duckdb"):
        from . import duckdb as provider
    elif engine == "datafusion":
        from . import datafusion as provider  # type: ignore[no-redef]  # one of several engines
    elif engine == "pyspark":
        from . import spark as provider  # type: ignore[no-redef]  # as above
    elif engine == "lance_sql":
        from . import duckdb as provider
    else:
        kind = f"{type(target).__module__}.{type(target).__qualname__}"
        raise InvalidArgument(
            f"Cannot register Lance tables with a {kind}: give a DuckDB connection, a SessionContext or a SparkSession"
        )
    target = provider.register(target)
    if name is not None and table is not None:
        provider.register_table(target, name, _opened(table, storage_options, time_travel))
    return target


def _opened(
    table: Dataset | str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None,
    time_travel: Mapping[str, Any],
) -> Dataset:
    from lance_sql.dataset import Dataset, open

    if not isinstance(table, Dataset):
        return open(table, storage_options=storage_options, **time_travel)
    if storage_options or time_travel:
        raise InvalidArgument("A Dataset is one version already; time travel goes with a path")
    return table


def _missing(engine: str, extra: str, error: ImportError) -> UnsupportedFeature:
    return UnsupportedFeature(f"{engine} is not installed ({error}). Install it with: pip install 'lance-sql[{extra}]'")
