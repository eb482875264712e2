"""Python values that name no columns, such as tuples, and what to pass instead of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lance_sql.writes.statements.frames import is_of

_COLUMN: Final = "pass a dict of columns, as in {'a': values}"

_WHOLE: Final[tuple[tuple[Callable[[Any], bool], str], ...]] = (
    (
        lambda data: isinstance(data, np.ndarray) and data.dtype.names is not None,
        "pass its columns, as in {name: rows[name] for name in rows.dtype.names}",
    ),
    (lambda data: isinstance(data, np.ndarray) and data.ndim > 1, "pass its columns, as in {'a': values[:, 0]}"),
    (lambda data: isinstance(data, np.ndarray), _COLUMN),
    (lambda data: isinstance(data, (pa.Array, pa.ChunkedArray)) and not pa.types.is_struct(data.type), _COLUMN),
    (
        lambda data: is_of(data, "pandas", "Series") or is_of(data, "polars", "Series"),
        "pass a frame, as in series.to_frame('a')",
    ),
    (
        lambda data: isinstance(data, (str, bytes)) or hasattr(data, "__fspath__"),
        "open it first, as with pyarrow.dataset.dataset(path)",
    ),
    (
        lambda data: type(data).__name__ in ("DuckDBPyConnection", "Connection") and hasattr(data, "sql"),
        "pass the result of a query, as in connection.sql(query)",
    ),
)
"""Tests of sources, and what to pass instead."""

_PARTS: Final[tuple[tuple[Callable[[Any], bool], str], ...]] = (
    (
        lambda row: isinstance(row, np.void),
        "pass the columns of the array, as in {name: rows[name] for name in rows.dtype.names}",
    ),
    (lambda row: hasattr(type(row), "_asdict"), "pass [row._asdict() for row in rows]"),
    (dataclasses.is_dataclass, "pass [dataclasses.asdict(row) for row in rows]"),
    (lambda row: hasattr(type(row), "model_dump"), "pass [row.model_dump() for row in rows]"),
    (lambda row: is_of(row, "sqlite3", "Row"), "pass [dict(row) for row in rows]"),
    (lambda row: is_of(row, "pandas", "Series"), "pass [row.to_dict() for row in rows]"),
    (
        lambda row: isinstance(row, (tuple, list)),
        "name the columns, as in [dict(zip(['a', 'b'], row)) for row in rows]",
    ),
    (
        lambda row: isinstance(row, (set, str, bytes, int, float, complex, type(None), np.generic, pa.Scalar)),
        _COLUMN,
    ),
    (lambda row: isinstance(row, Iterator) and not isinstance(row, pa.RecordBatchReader), "pass dicts of rows"),
)
"""Tests of parts of an iterable, and what to pass instead of the iterable."""


def instead_of(data: object) -> str | None:
    """Returns what to pass instead of a source; None for one that may have rows."""
    return next((text for is_one, text in _WHOLE if is_one(data)), None)


def instead_of_part(part: object) -> str | None:
    """Returns what to pass instead of an iterable with this part; None for a part that may have rows."""
    if isinstance(part, Mapping):
        return None
    return next((text for is_one, text in _PARTS if is_one(part)), None)
