"""Plan of the publication of a branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.changes.contracts import ContractReport
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.images import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION
from lance_sql.changes.publishing.conflict_rows import SIDE, conflict_rows
from lance_sql.format.schema.primary_key import naming_columns
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.values.keywords import methods_suggest_keywords
from lance_sql.values.records import Page
from lance_sql.values.value_text import text

_OF_A_CHANGE: Final = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP, ROW_ID, SIDE)
_SHOWN_CONFLICTS: Final = 50
"""Maximum number of conflicting rows on a page."""
_SHOWN_ROWS: Final = 25
"""Maximum number of inserted, updated and deleted rows on a page, each."""
_IN_A_PART: Final = 5


@methods_suggest_keywords
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
        `side`, which is "branch" or "other"; at most 1,000 of each. Rows that are the same on both are no conflict
    report: the check of the rows of the branch against the rules of the table
    published: the version that has published the branch already; None if there is anything to publish
    key: the columns that identify rows, if any do
    feed: the net changes of the branch
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
    published: int | None = None
    key: tuple[str, ...] = ()
    feed: ChangeFeed | None = field(default=None, compare=False)

    @property
    def is_forward(self) -> bool:
        """Whether nothing else was committed since the branch began."""
        return self.onto == self.base

    @property
    def named_by(self) -> tuple[str, ...]:
        """Columns whose values name a row for people; `_rowid` if no other does."""
        known = naming_columns(self.feed.snapshot.manifest.schema) if self.feed is not None else ()
        return self.key or known or (ROW_ID,)

    def __str__(self) -> str:
        if self.published is not None:
            return f"{self.branch} version {self.version} was published already as version {self.published}"
        counts = f"{self.inserted} inserted, {self.updated} updated and {self.deleted} deleted rows"
        message = f"{self.branch} version {self.version}: {counts} onto version {self.onto}"
        if self.conflicts.num_rows:
            count, names = self._num_conflicts, [name for name in self.named_by if name in self.conflicts.schema.names]
            first = ", ".join(f"{name}={text(self.conflicts[name][0].as_py())}" for name in names)
            were = "row was" if count == 1 else "rows were"
            message += f"; {count} {were} changed on both, such as the one with {first}"
        if failures := self.report.failures:
            names = [each.rule.name for each in failures]
            message += f"; {len(names)} {'rule is' if len(names) == 1 else 'rules are'} broken: {', '.join(names)}"
        return message

    def __repr__(self) -> str:
        return str(self)

    @property
    def _num_conflicts(self) -> int:
        count: int = pc.count_distinct(self.conflicts.column(ROW_ID)).as_py()
        return count

    template = "publication"

    def page_values(self, *, is_part: bool) -> dict[str, Any]:
        """Returns the values for the templates."""
        from lance_sql.changes import feed_page

        names = [name for name in self.conflicts.schema.names if name not in _OF_A_CHANGE]
        shown: tuple[Sequence[str], Sequence[Any]] = ((), ())
        if self.feed is not None and self.feed.end >= self.feed.start:
            shown = feed_page.changed_rows(self.feed, _IN_A_PART if is_part else _SHOWN_ROWS)
        return {
            "plan": self,
            "num_conflicts": self._num_conflicts,
            "conflicts": conflict_rows(self.conflicts, names, _SHOWN_CONFLICTS, self.named_by),
            "names": shown[0],
            "rows": shown[1],
            "num_columns": len(names),
            "left_out": self.inserted + self.updated + self.deleted - len(shown[1]),
        }
