"""Faults in the lineage of rows, the affected rows, and the queries that return wrong results for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import numpy as np

from lance_sql.health.commit_records import CommitRecord
from lance_sql.health.lineage_audit.audited_rows import LiveRows
from lance_sql.runtime.terminal_text import one_line
from lance_sql.table.versions import as_ranges
from lance_sql.values.arrays import U64, BoolMask


class Kind(StrEnum):
    """Kind of a fault."""

    UNREADABLE = "unreadable"
    """Row ids or versions are missing, or cannot be read."""
    WRONG_LENGTH = "wrong_length"
    """Row versions cover more or fewer rows than there are."""
    REPEATED_ID = "repeated_id"
    """Two live rows have one row id."""
    REUSED_ID = "reused_id"
    """A new row has an id that a row had before."""
    UNRESERVED_ID = "unreserved_id"
    """A row has an id that the table has not assigned yet, or the next id decreased."""
    LOST_ID = "lost_id"
    """A commit that removes no rows removed a row, or changed its id."""
    UNEXPECTED_ID = "unexpected_id"
    """A commit that inserts no rows added a row."""
    OTHER_ID = "other_id"
    """A row has another id than its transaction assigned."""
    CREATED_AT = "created_at"
    """The recorded version that inserted a row is wrong."""
    LAST_UPDATED_AT = "last_updated_at"
    """The recorded version that last changed a row is wrong."""
    LOST_LINEAGE = "lost_lineage"
    """The table had stable row ids, and no longer has them."""
    SHORT_ZONES = "short_zones"
    """An index has zones of other rows: an early release ignored deleted rows when it placed them."""
    CHANGED_FILE = "changed_file"
    """A file is missing, or changed since it was written."""


_IDS_SHOWN: Final = 100
_IDS: Final = ("changes", "row_history", "take", "_rowid", "indices")
_CREATED: Final = ("_row_created_at_version", "pylance: inserted rows of a delta")
_UPDATED: Final = ("_row_last_updated_at_version", "changes over a restore", "pylance: updated rows of a delta")

QUERIES: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.UNREADABLE: (*_IDS, *_CREATED, *_UPDATED),
    Kind.WRONG_LENGTH: (*_CREATED, *_UPDATED),
    Kind.REPEATED_ID: _IDS,
    Kind.REUSED_ID: _IDS,
    Kind.UNRESERVED_ID: _IDS,
    Kind.LOST_ID: _IDS,
    Kind.UNEXPECTED_ID: _IDS,
    Kind.OTHER_ID: _IDS,
    Kind.CREATED_AT: _CREATED,
    Kind.LAST_UPDATED_AT: _UPDATED,
    Kind.LOST_LINEAGE: (*_IDS, *_CREATED, *_UPDATED),
    Kind.SHORT_ZONES: ("pylance: filters on the column",),
    Kind.CHANGED_FILE: ("every query of its columns",),
}
"""Functions, columns and queries of other readers that return wrong results for rows with a fault, by kind."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault that a commit caused in the lineage of a fragment.

    version: the version of the commit, and the first one that has the fault
    operation: of the commit; None if it is not recorded
    fragment: its id; None for a fault of the whole version
    message: the problem, without the place
    ids: of the affected rows, ascending
    wrong_versions: parallel to `ids`, the wrong versions; empty for other kinds of faults
    newest: the newest audited version, with the number of rows that still have the fault; None if unknown
    job: the user's name of the job that the commit is a part of
    """

    version: int
    operation: str | None
    fragment: int | None
    kind: Kind
    message: str
    ids: U64 = field(default_factory=lambda: np.empty(0, np.uint64), compare=False)
    wrong_versions: U64 = field(default_factory=lambda: np.empty(0, np.uint64), compare=False)
    newest: tuple[int, int] | None = None
    job: str | None = None

    @property
    def num_rows(self) -> int:
        """Number of affected rows; 0 for faults that are not about single rows."""
        return len(self.ids)

    @property
    def queries(self) -> tuple[str, ...]:
        """Queries that return wrong results."""
        return QUERIES[self.kind]

    def __str__(self) -> str:
        by_job = f", job {self.job}" if self.job else ""
        where = f"version {self.version} ({self.operation or 'not recorded'}{by_job})"
        if self.fragment is not None:
            where += f", fragment {self.fragment}"
        return one_line(f"{where}: {self.message}")

    def to_dict(self) -> dict[str, Any]:
        """Returns the fault in types of JSON; includes only the first row ids."""
        version, rows = self.newest or (None, None)
        return {
            "version": self.version,
            "operation": self.operation,
            "job": self.job,
            "fragment": self.fragment,
            "kind": self.kind,
            "message": self.message,
            "rows": self.num_rows,
            "row_ids": self.ids[:_IDS_SHOWN].tolist(),
            "newest_version": version,
            "rows_in_newest_version": rows,
            "queries": self.queries,
        }


@dataclass(frozen=True, slots=True)
class Audited:
    """Result of an audit.

    versions: the versions whose commits were audited, ascending
    without_lineage: versions without stable row ids, which have nothing to audit
    partly: versions that were only partly audited, with the reason: the commit is not recorded or not known, or the
        version before was removed. The invariants of the version itself were audited
    faults: by version
    commits: of the audited versions that can be read, ascending
    job: of the audit, if only commits of one job were audited
    """

    versions: tuple[int, ...]
    without_lineage: tuple[int, ...]
    partly: Mapping[int, str]
    faults: tuple[Fault, ...]
    commits: tuple[CommitRecord, ...] = ()
    job: str | None = None

    def lines(self) -> Iterator[str]:
        """Yields the faults and the parts that were not audited as lines of text."""
        for fault in self.faults:
            yield f"  {fault}"
            if fault.newest is not None:
                version, rows = fault.newest
                there = f"{rows} of these rows" if rows else "none of these rows"
                yield f"    in version {version}: {there}"
        if self.faults:
            yield "  wrong for the rows concerned: " + "; ".join(self.affected_queries)
        if self.without_lineage:
            yield f"  without stable row ids: {as_ranges(self.without_lineage)}"
        reasons: dict[str, list[int]] = {}
        for version, reason in self.partly.items():
            reasons.setdefault(reason, []).append(version)
        for reason, of in reasons.items():
            yield f"  not compared with its commit, {one_line(reason)}: {as_ranges(of)}"

    @property
    def affected_queries(self) -> tuple[str, ...]:
        """Queries that return wrong results for some rows, each once."""
        return tuple(dict.fromkeys(query for fault in self.faults for query in fault.queries))

    def to_dict(self) -> dict[str, Any]:
        """Returns the result in types of JSON."""
        return {
            "without_lineage": self.without_lineage,
            "partly": {str(version): reason for version, reason in self.partly.items()},
            "affected_queries": self.affected_queries,
            "faults": [fault.to_dict() for fault in self.faults],
        }


@dataclass
class Findings:
    """Faults of one version; `operation` and `job` are those of its commit."""

    version: int
    operation: str | None
    job: str | None
    faults: list[Fault] = field(default_factory=list)

    def add(self, kind: Kind, message: str, fragment: int | None = None, ids: U64 | None = None) -> None:
        """Adds a fault that is not about row versions."""
        shown = np.empty(0, np.uint64) if ids is None else np.sort(ids)
        self.faults.append(Fault(self.version, self.operation, fragment, kind, message, shown, job=self.job))

    def add_versions(
        self, kind: Kind, what: str, rows: LiveRows, versions: U64, expected: U64, wrong: BoolMask
    ) -> None:
        """Adds faults for rows with other versions than expected, one per fragment."""
        for fragment in np.unique(rows.fragments[wrong]).tolist():
            positions = np.flatnonzero(wrong & (rows.fragments == fragment))
            order = np.argsort(rows.ids[positions], kind="stable")
            positions = positions[order]
            first = positions[0]
            example = f"row {rows.ids[first]}" + " and others" * (len(positions) > 1)
            concerned = rows_text(len(positions))
            message = f"{what} of {concerned} is {versions[first]} instead of {expected[first]} ({example})"
            self.faults.append(
                Fault(
                    self.version,
                    self.operation,
                    fragment,
                    kind,
                    message,
                    rows.ids[positions],
                    versions[positions],
                    job=self.job,
                )
            )


def rows_text(count: int, one: str = "", several: str = "") -> str:
    """Returns a number of rows, with the verb that agrees with it."""
    return f"{count} row{'s' * (count != 1)} {one if count == 1 else several}".rstrip()
