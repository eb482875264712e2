"""Plan of the publication of a branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.changes.contracts import ContractReport
from lance_sql.changes.images import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION
from lance_sql.changes.publishing.conflict_rows import SIDE, conflict_rows
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.values.records import Page

_OF_A_CHANGE: Final = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP, ROW_ID, SIDE)
_SHOWN_CONFLICTS: Final = 50
"""Maximum number of conflicting rows on a page."""


@dataclass(frozen=True, repr=False)
class Publication(Page):
    """Plan of publishing a branch to the branch that it began with.

    table: its name
    branch, version: the branch, and its version to publish
    parent: the branch that it began with, "main" by default
    base: the version that the branch began with
    onto: the newest version of the other branch
    inserted, updated, deleted: rows
    conflicts: rows that both have changed, from both sides: the columns of the table, `_rowid`, `_change_type`, and
        `side`, which is "branch" or "other"; at most 1,000 of each
    report: the check of the rows of the branch against the rules of the table
    """

    table: str
    branch: str
    version: int
    base: int
    onto: int
    inserted: int
    updated: int
    deleted: int
    conflicts: pa.Table
    report: ContractReport
    parent: str = "main"

    @property
    def is_forward(self) -> bool:
        """Whether nothing else was committed since the branch began."""
        return self.onto == self.base

    def __str__(self) -> str:
        counts = f"{self.inserted} inserted, {self.updated} updated and {self.deleted} deleted rows"
        message = f"{self.branch} version {self.version}: {counts} onto version {self.onto}"
        if self.conflicts.num_rows:
            ids = pc.unique(self.conflicts.column(ROW_ID)).to_pylist()
            message += f"; {len(ids)} rows were changed on both, such as the one with _rowid {ids[0]}"
        if not self.report.is_kept:
            message += f"; {len(self.report.failures)} rules are broken"
        return message

    def __repr__(self) -> str:
        return str(self)

    template = "publication"

    def page_values(self, *, is_part: bool) -> dict[str, Any]:
        """Returns the values for the templates."""
        names = [name for name in self.conflicts.schema.names if name not in _OF_A_CHANGE]
        return {
            "plan": self,
            "num_conflicts": pc.count_distinct(self.conflicts.column(ROW_ID)).as_py(),
            "conflicts": conflict_rows(self.conflicts, names, _SHOWN_CONFLICTS),
        }
