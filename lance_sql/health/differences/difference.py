"""Result of a comparison of two tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from lance_sql.health.commit_records import CommitRecord
from lance_sql.values.keywords import methods_suggest_keywords
from lance_sql.values.records import Page

ColumnKind: TypeAlias = Literal["added", "dropped", "renamed", "type", "nullable"]

_INVERSE: Mapping[ColumnKind, ColumnKind] = {"added": "dropped", "dropped": "added"}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two compared tables or versions.

    name: for people, such as "orders.lance version 41"
    rows, fragments, files: their numbers
    bytes: of its data files; None if a manifest does not record them
    """

    name: str
    uri: str
    version: int
    rows: int
    fragments: int
    files: int
    bytes: int | None


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """Change of a column.

    name: in the second table; in the first one for a dropped column
    before, after: its type, its name if it was renamed, or whether it may be NULL; None if there is no such column
    """

    kind: ColumnKind
    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """Value of a row that exists in both tables, converted by `value_text.values`."""

    column: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class UpdatedRow:
    """Row with changed values.

    key: values of the columns `Difference.shown`
    cells: the differing cells, in the order of the columns
    """

    key: tuple[Any, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class DataFileChange:
    """Data file that only one of the two has.

    rows: of the fragment, including deleted ones; bytes: None if the manifest does not record them
    """

    path: str
    fragment: int
    rows: int
    bytes: int | None


@methods_suggest_keywords
@dataclass(frozen=True)
class Difference(Page):
    """Difference between two tables, `before` and `after`. Rows are inserted, deleted and updated on the way from the
    first to the second.

    key: the columns that identify rows; `_rowid` for versions of one table
    shown: the columns of `UpdatedRow.key`: those of the key, and after `_rowid` the columns that name a row for people
    columns: the changes of columns
    not_compared: shared columns whose types have no common type
    rows_inserted, rows_deleted, rows_updated: exact counts. A row is updated if a shared column differs
    rows_rewritten: rows that were rewritten with the same values; 0 if all rows were paired
    cells_updated: by column, the number of updated rows in which it differs
    inserted, deleted: the first of these rows; there may be more
    updated: the first updated rows; there may be more
    files_added, files_removed: data files that only one version of the same table has; empty for different tables
    is_one_table: the two are versions of one table
    commits: the commits between two versions of one history, ascending; empty for others

    >>> difference = lance_sql.diff("examples/orders.lance@5", "examples/orders.lance@6")
    >>> difference.rows_inserted, difference.rows_updated, difference.rows_deleted
    (12, 10, 0)
    >>> difference.cells_updated["status"]
    10
    """

    before: Side
    after: Side
    key: tuple[str, ...]
    shown: tuple[str, ...]
    columns: tuple[ColumnChange, ...]
    not_compared: tuple[str, ...]
    rows_inserted: int
    rows_deleted: int
    rows_updated: int
    rows_rewritten: int
    cells_updated: Mapping[str, int]
    inserted: pa.Table
    deleted: pa.Table
    updated: tuple[UpdatedRow, ...]
    files_added: tuple[DataFileChange, ...]
    files_removed: tuple[DataFileChange, ...]
    is_one_table: bool
    commits: tuple[CommitRecord, ...] = ()

    @property
    def has_differences(self) -> bool:
        """Whether columns or rows differ. Files alone do not count: a compaction changes nothing for queries."""
        return bool(self.columns or self.rows_inserted or self.rows_deleted or self.rows_updated or self.not_compared)

    def reversed(self) -> Difference:
        """Returns the difference from the later side to the earlier one."""
        return replace(
            self,
            before=self.after,
            after=self.before,
            columns=tuple(map(_inverse, self.columns)),
            rows_inserted=self.rows_deleted,
            rows_deleted=self.rows_inserted,
            inserted=self.deleted,
            deleted=self.inserted,
            updated=tuple(
                UpdatedRow(row.key, tuple(Cell(cell.column, cell.after, cell.before) for cell in row.cells))
                for row in self.updated
            ),
            files_added=self.files_removed,
            files_removed=self.files_added,
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the difference in types of JSON."""
        from lance_sql.health.differences import difference_report

        return difference_report.as_dict(self)

    def to_text(self, *, width: int | None = None) -> str:
        """Returns a text report.

        width: the maximum number of characters of a line; unlimited by default
        """
        from lance_sql.health.differences import difference_report

        return difference_report.as_text(self, width)

    template = "diff"

    def page_values(self, *, is_part: bool) -> dict[str, Any]:
        from lance_sql.health.differences import difference_report

        return difference_report.page_values(self, is_part=is_part)

    def head(self, num_rows: int) -> Difference:
        """Returns the difference with at most `num_rows` inserted, deleted and updated rows; counts are unchanged."""
        return replace(
            self,
            inserted=self.inserted.slice(0, num_rows),
            deleted=self.deleted.slice(0, num_rows),
            updated=self.updated[:num_rows],
        )

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        counts = (f"{name}={getattr(self, f'rows_{name}')}" for name in ("inserted", "updated", "deleted"))
        columns = f", columns={len(self.columns)}" if self.columns else ""
        return f"Difference({self.before.name!r}, {self.after.name!r}, {', '.join(counts)}{columns})"


def _inverse(change: ColumnChange) -> ColumnChange:
    name = change.before if change.kind == "renamed" and change.before is not None else change.name
    kind = _INVERSE.get(change.kind, change.kind)
    return dataclasses.replace(change, kind=kind, name=name, before=change.after, after=change.before)
