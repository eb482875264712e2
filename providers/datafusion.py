"""Lance tables in DataFusion.

    lance_scan('path'[, version or tag])    a table function, with system columns; DataFusion has no named arguments
    FROM name                               a table that was registered under a name, with its own columns

DataFusion hands filters over for good and reads one partition per fragment of the dataset.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from datafusion import Expr, SessionContext, udtf
from datafusion.catalog import Table

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, LanceError

from .arrow import EngineDataset
from .snapshots import open_version


def register(context: SessionContext) -> SessionContext:
    """Adds the table function `lance_scan`; returns the context."""
    context.register_udtf(udtf(_lance_scan, "lance_scan"))
    return context


def register_table(context: SessionContext, name: str, dataset: Dataset) -> None:
    """Makes one version of a table known under a name, with its own columns; replaces a table of that name."""
    if context.table_exist(name):
        context.deregister_table(name)
    context.register_table(name, _table(dataset, with_system_columns=False))


def widen(type: pa.DataType) -> pa.DataType:
    """DataFusion takes every type as it is."""
    return type


def _table(dataset: Dataset, *, with_system_columns: bool) -> Table:
    return Table(EngineDataset(dataset, widen, with_system_columns=with_system_columns))


def _lance_scan(*arguments: Expr) -> Table:
    """Called while a query is planned, so that each query reads the newest version."""
    try:
        return _table(_open(arguments), with_system_columns=True)
    except LanceError as error:
        # DataFusion prints the traceback into its message; this leaves one line of it.
        raise error.with_traceback(None) from None


def _open(arguments: tuple[Expr, ...]) -> Dataset:
    if not 1 <= len(arguments) <= 2:
        raise InvalidArgument("lance_scan takes a path, and a version or tag after it")
    path, *chosen = (_value(argument) for argument in arguments)
    if not isinstance(path, str):
        raise InvalidArgument(f"lance_scan takes a path first, not {path!r}")
    match chosen:
        case [] | [None]:
            return open_version(path)
        case [int(version)] if not isinstance(version, bool):
            return open_version(path, version=version)
        case [str(tag)]:
            return open_version(path, tag=tag)
    raise InvalidArgument(f"lance_scan takes a version number or a tag, not {chosen[0]!r}")


def _value(argument: Expr) -> Any:
    value = argument.python_value()
    return value.as_py() if isinstance(value, pa.Scalar) else value
