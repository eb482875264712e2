"""Collector of the faults of one version."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lance_sql.health.lineage_audit.audit_report import Fault, Kind
from lance_sql.health.lineage_audit.audited_rows import LiveRows
from lance_sql.values.arrays import U64, BoolMask


@dataclass
class Findings:
    """Faults of one version."""

    version: int
    operation: str | None
    faults: list[Fault] = field(default_factory=list)

    def add(self, kind: Kind, message: str, fragment: int | None = None, ids: U64 | None = None) -> None:
        """Adds a fault that is not about row versions."""
        shown = np.empty(0, np.uint64) if ids is None else np.sort(ids)
        self.faults.append(Fault(self.version, self.operation, fragment, kind, message, shown))

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
                Fault(self.version, self.operation, fragment, kind, message, rows.ids[positions], versions[positions])
            )


def rows_text(count: int, one: str = "", several: str = "") -> str:
    """Returns a number of rows, with the verb that agrees with it."""
    return f"{count} row{'s' * (count != 1)} {one if count == 1 else several}".rstrip()
