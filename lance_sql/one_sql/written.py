"""Result of a statement that writes."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.one_sql.answer import Answer
from lance_sql.table.commit_summary import CommitSummary


class Written(Answer):
    """Summary of a write, as one row: `operation`, `version`, `rows_inserted`, `rows_updated`, `rows_deleted`, and
    for a merge `rows_equal`: matched rows that already had its values.

    dataset: the new version, or the newest one if nothing changed; None for a rehearsal
    change: the changes that were made, or would be
    numbers: further columns, such as `fragments_removed` of OPTIMIZE
    """

    def __init__(self, dataset: Dataset | None, change: CommitSummary, numbers: Mapping[str, int]) -> None:
        self.dataset = dataset
        self.change = change
        self.numbers = numbers

    def to_table(self) -> pa.Table:
        """Returns the row as a table."""
        change = self.change
        counts = {
            "rows_inserted": change.rows_inserted,
            "rows_updated": change.rows_updated,
            "rows_deleted": change.rows_deleted,
        }
        if change.rows_equal is not None:
            counts["rows_equal"] = change.rows_equal
        return pa.table(
            {
                "operation": pa.array([change.operation], pa.string()),
                "version": pa.array([None if self.dataset is None else self.dataset.version], pa.uint64()),
                **{name: pa.array([value], pa.int64()) for name, value in {**counts, **self.numbers}.items()},
            }
        )

    def to_reader(self) -> pa.RecordBatchReader:
        """Returns the row as a stream."""
        return self.to_table().to_reader()

    def __repr__(self) -> str:
        (row,) = self.to_pylist()
        return f"Written({', '.join(f'{name}={value!r}' for name, value in row.items() if value is not None)})"
