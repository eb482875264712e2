"""The columns of a version."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from lance_sql.dataset import Dataset

_SCHEMA: Final = pa.schema(
    [("column", pa.string()), ("type", pa.string()), ("nullable", pa.bool_()), ("hidden", pa.bool_())]
)


def columns(dataset: Dataset) -> pa.Table:
    """One row for each column, those that have to be asked for by name (`_rowid`, ...) last."""
    hidden = dataset.scan(dataset.system_columns).schema
    rows = [
        {"column": field.name, "type": str(field.type), "nullable": field.nullable, "hidden": is_hidden}
        for schema, is_hidden in ((dataset.schema, False), (hidden, True))
        for field in schema
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)
