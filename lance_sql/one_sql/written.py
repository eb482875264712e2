"""Result of a statement that writes."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.table.commit_summary import CommitSummary
from lance_sql.values.frames import Frames


class Written(Frames):
    """Summary of a write, as one row: `operation`, `version`, `rows_inserted`, `rows_updated`, `rows_deleted`, and
    for a merge `rows_equal`: matched rows that already had its values.

    dataset: the new version, or the newest one if nothing changed; None for a rehearsal
    change: the changes that were made, or would be
    """

    def __init__(self, dataset: Dataset | None, change: CommitSummary) -> None:
        self.dataset = dataset
        self.change = change

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
                **{name: pa.array([value], pa.int64()) for name, value in counts.items()},
            }
        )

    def to_reader(self) -> pa.RecordBatchReader:
        """Returns the row as a stream."""
        return self.to_table().to_reader()

    def to_pylist(self) -> list[dict[str, object]]:
        """Returns the row as a dict."""
        rows: list[dict[str, object]] = self.to_table().to_pylist()
        return rows

    def fetchall(self) -> list[tuple[object, ...]]:
        """Returns the row as a tuple."""
        return [tuple(row.values()) for row in self.to_pylist()]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_table().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str | None:
        from lance_sql.values import html

        return html.part("rows_part", schema=self.to_table().schema, rows=self.fetchall(), has_more=False)

    def __repr__(self) -> str:
        (row,) = self.to_pylist()
        return f"Written({', '.join(f'{name}={value!r}' for name, value in row.items() if value is not None)})"
