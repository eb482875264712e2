"""Repair of a table, decided by the findings of a check.

    rows of the newest version cannot be read    the newest version with all rows readable is restored
    files of an index are damaged                the index is rebuilt, or dropped if this library cannot write its kind
    the list of indices is damaged               all indices are dropped

No row is given up for an index, or for records such as transactions and tags. No version and no file is removed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Unpack

from lance_sql import opening
from lance_sql.dataset import Dataset
from lance_sql.errors import CommitConflict, CorruptFile, UnsupportedFeature
from lance_sql.health.verification import Report, verify
from lance_sql.runtime.progress import Progress
from lance_sql.store.access import AccessOptions, within
from lance_sql.values.keywords import suggests_keywords
from lance_sql.values.records import Record
from lance_sql.writes.statements import maintenance
from lance_sql.writes.statements.index_building import BUILT


@dataclass(frozen=True, slots=True, repr=False)
class Repair(Record):
    """Plan or result of a repair.

    report: the result of the check
    branch: None for main
    version: the version to restore; None if every row of the newest one can be read
    rebuilt, dropped: names of indices
    drops_all_indices: the list of indices in the manifest is damaged
    """

    report: Report
    branch: str | None
    version: int | None
    rebuilt: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    drops_all_indices: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to do."""
        return self.version is not None or bool(self.rebuilt or self.dropped) or self.drops_all_indices

    @property
    def newest(self) -> int:
        """Newest version when the table was checked."""
        return max(self.report.versions)

    def __str__(self) -> str:
        parts = [f"return to version {self.version}"] if self.version is not None else []
        if self.drops_all_indices:
            parts.append("drop all indices, whose list is damaged")
        for verb, names in (("build again", self.rebuilt), ("drop", self.dropped)):
            if names:
                parts.append(f"{verb} the index{'es' * (len(names) > 1)} {', '.join(map(repr, names))}")
        return ", ".join(parts) or "nothing to repair"


@suggests_keywords
def repair(
    uri: str | os.PathLike[str],
    *,
    branch: str | None = None,
    deep: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    **access: Unpack[AccessOptions],
) -> Repair:
    """Checks a table, and returns it to the newest version with all rows readable, if that is not the newest one;
    rebuilds or drops damaged indices. No version and no file is removed.

    deep: decode every page, and compare files with their checksums; without it, damage inside files is not found
    dry_run: change nothing
    progress: called with the number of checked fragments of versions, and the total
    access: keywords of `lance_sql.open` that say where the files are and how they are reached
    returns: the result or the plan; `report` contains the reasons
    raises: TableNotFound, VersionNotFound; CorruptFile if no version is healthy; CommitConflict if another writer
        commits at the same time

    >>> lance_sql.repair("examples/orders.lance").is_needed
    False
    """
    with within(access):
        report = verify(uri, branch=branch, deep=deep, progress=progress)
        planned = plan(report, branch=branch)
        if planned.is_needed and not dry_run:
            carry_out(planned)
    return planned


def plan(report: Report, *, branch: str | None = None) -> Repair:
    """Plans the repair of a table. Changes nothing.

    report: of a check of all versions of the branch
    raises: CorruptFile if no version is healthy; UnsupportedFeature if the newest one may be
    """
    healthy, newest = report.newest_healthy_version, max(report.versions)
    lost = {version for problem in report.problems if problem.affects == "rows" for version in problem.versions}
    for problem in report.problems:
        if problem.affects == "unknown" and newest in problem.versions and newest not in lost:
            raise UnsupportedFeature(f"version {newest} of {report.uri} cannot be checked by this release: {problem}")
    if healthy is None:
        raise CorruptFile(
            f"no version of {report.uri} is healthy: call salvage() to write its readable rows to a new table"
        )
    damaged = report.damaged_indices(healthy)
    returned = healthy if healthy != newest else None
    if report.has_damaged_index_list(healthy):
        return Repair(report, branch, returned, drops_all_indices=True)
    if not damaged:
        return Repair(report, branch, returned)
    opened = opening.open(report.uri, version=healthy, branch=branch)
    built = {index.name for index in opened.indices.list() if index.kind in BUILT and len(index.columns) == 1}
    return Repair(
        report,
        branch,
        returned,
        tuple(name for name in damaged if name in built),
        tuple(name for name in damaged if name not in built),
    )


def carry_out(planned: Repair) -> Dataset:
    """Runs a planned repair.

    returns: the newest version, with every row that could be read
    raises: CommitConflict when another writer has committed since the check; as `Dataset.restore`
    """
    version = planned.report.newest_healthy_version
    assert version is not None
    repaired = opening.open(planned.report.uri, version=version, branch=planned.branch)
    newest = max(snapshot.version for snapshot in repaired.snapshot.siblings())
    if newest != planned.newest:
        raise CommitConflict(
            f"{repaired.snapshot.name}: version {newest} was committed since the check of version {planned.newest}:"
            " plan the repair again"
        )
    if planned.version is not None or planned.drops_all_indices:
        restored = maintenance.restore(repaired.snapshot, version, drop_indices=planned.drops_all_indices)
        repaired = Dataset(restored)
    dropped = list(planned.dropped)
    for name in planned.rebuilt:
        try:
            repaired = repaired.indices.optimize([name], rebuild=True)
        except UnsupportedFeature:
            dropped.append(name)
    for name in dropped:
        repaired = repaired.indices.drop(name)
    return repaired
