"""What is known of the columns of a version without reading their values."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from lance_sql.dataset import Dataset

_SCHEMA: Final = pa.schema(
    [
        ("column", pa.string()),
        ("type", pa.string()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("nulls", pa.int64()),
        ("smallest", pa.string()),
        ("largest", pa.string()),
        ("exact", pa.bool_()),
        ("distinct_values", pa.int64()),
    ]
)


def statistics(dataset: Dataset) -> pa.Table:
    """One row for each column; NULL for what is not known."""
    rows = [
        {
            "column": each.column,
            "type": str(each.type),
            "rows": each.num_rows,
            "bytes": each.num_bytes,
            "nulls": each.num_nulls,
            "smallest": _text(each.smallest),
            "largest": _text(each.largest),
            "exact": each.is_exact,
            "distinct_values": each.num_distinct,
        }
        for each in dataset.statistics()
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else str(value)
