"""The rules of a table, as a table."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.changes.contracts.rules import as_table
from lance_sql.dataset import Dataset


def rules(dataset: Dataset) -> pa.Table:
    """One row for each rule of the table."""
    return as_table(dataset.rules())
