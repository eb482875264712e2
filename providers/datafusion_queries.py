"""A query in DataFusion over tables that were opened before."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import SessionContext
from datafusion.catalog import Table

from lance_sql.errors import InvalidArgument

from .arrow import EngineDataset
from .datafusion import register, widen
from .sources import Source

# "DataFusion error: Plan("..."): what is meant comes last
_WRAPPED: Final = re.compile(r"^(?:\w+ error: )+")


class DataFusionError(Exception):
    """What DataFusion does not run, in a line; its own errors are plain exceptions."""


Errors: Final = DataFusionError


def target(given: Any) -> SessionContext:
    """The context that was given, or a new one."""
    return register(SessionContext()) if given is None else given


def prepare(
    context: SessionContext, sql: str, sources: Mapping[str, Source]
) -> tuple[Sequence[str], Callable[[], pa.RecordBatchReader]]:
    """The columns of the query, and what runs it, each time that it is called.

    raises: DataFusionError for a query that cannot be planned
    """
    for name, source in sources.items():
        context.register_table(name, _table(source))
    try:
        frame = context.sql(sql)
    except Exception as error:
        raise DataFusionError(_line(error)) from error
    finally:
        for name in sources:
            context.deregister_table(name)

    def read() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(frame)

    return frame.schema().names, read


def column_types(context: SessionContext, source: Source) -> dict[str, str]:
    """The types of a table's columns, as DataFusion writes them."""
    names = source.relation.schema.names
    # a row for a table without rows
    types = ", ".join(f"arrow_typeof(t.{_quoted(each)}) AS c{number}" for number, each in enumerate(names))
    _, read = prepare(
        context, f"SELECT {types} FROM (SELECT 1) LEFT JOIN __lance_types AS t ON false", {"__lance_types": source}
    )
    return dict(zip(names, (column[0].as_py() for column in read().read_all()), strict=True))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _table(source: Source) -> Table:
    if isinstance(source.relation, pa.Table):
        return Table(ds.dataset(source.relation))
    if source.where is not None:
        raise InvalidArgument("The argument filter is DuckDB's alone: DataFusion hands over what WHERE says")
    return Table(EngineDataset(source.relation, widen, with_system_columns=source.with_system_columns))


def _line(error: Exception) -> str:
    return _WRAPPED.sub("", str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__)
