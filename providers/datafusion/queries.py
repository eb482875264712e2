"""Queries in DataFusion over open tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
from datafusion import SessionConfig, SessionContext, column
from datafusion.functions import arrow_cast

from lance_sql import errors
from lance_sql.values import selection
from lance_sql.values.sql_text import identifier

from ..adapter import Request
from ..arrow import without_metadata
from ..sources import Source
from .registration import provided, register

# "DataFusion error: Plan("..."): the message comes last
_WRAPPED: Final = re.compile(r"^(?:\w+ error: )+")


class DataFusionError(Exception):
    """The one-line error of a query that DataFusion rejects; its own errors are plain exceptions."""


Errors: Final = (DataFusionError,)


def target(given: Any) -> SessionContext:
    """Returns the given context, or a new one, whose TIMESTAMPTZ has a zone."""
    config = SessionConfig().set("datafusion.execution.time_zone", "UTC")
    return register(SessionContext(config)) if given is None else given


def prepare(context: SessionContext, request: Request) -> tuple[Sequence[str], Callable[[], pa.RecordBatchReader]]:
    """Plans a query. Returns its columns, and a function that runs it on each call.

    raises: DataFusionError for a query that cannot be planned; errors of this library that end planning or running
    """
    for name, source in request.sources.items():
        context.register_table(name, provided(source))
    try:
        frame = context.sql(request.sql)
        if request.types:
            pairs = zip(frame.schema().names, request.types, strict=True)
            frame = frame.select(*(arrow_cast(column(identifier(name)), type).alias(name) for name, type in pairs))
        # The schema of a frame of SQL has the types before the analyzer aligns those of UNION, CASE and others, and its
        # stream delivers later types under that schema.
        frame = context.create_dataframe_from_logical_plan(frame.optimized_logical_plan())
    except Exception as error:
        raise errors.in_text(str(error)) or DataFusionError(_line(error)) from error
    finally:
        for name in request.sources:
            context.deregister_table(name)

    def read() -> pa.RecordBatchReader:
        try:
            return pa.RecordBatchReader.from_stream(frame)
        except Exception as error:
            raise errors.in_text(str(error)) or DataFusionError(_line(error)) from error

    return frame.schema().names, read


def column_types(context: SessionContext, source: Source) -> dict[str, str]:
    """Returns the types of a table's columns, as DataFusion spells them."""
    # DataFusion prints the metadata of members, and does not parse it
    bare = pa.schema([field.with_type(without_metadata(field.type)) for field in source.relation.schema])
    names = bare.names
    types = ", ".join(f"arrow_typeof(t.{identifier(each)}) AS c{number}" for number, each in enumerate(names))
    one_row = f"SELECT {types} FROM (SELECT 1) LEFT JOIN __lance_types AS t ON false"
    _, read = prepare(context, Request(one_row, {"__lance_types": Source(selection.empty(bare))}))
    return dict(zip(names, (column[0].as_py() for column in read().read_all()), strict=True))


def _line(error: Exception) -> str:
    """Returns the last cause of an error, in one line."""
    cause = str(error).rpartition("caused by\n")[2].strip()
    return _WRAPPED.sub("", cause.partition("\n")[0]) or type(error).__name__
