"""Result of a check of a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from lance_sql.health.lineage_audit.faults import Audited, Fault
from lance_sql.runtime.terminal_text import one_line
from lance_sql.table.versions import as_ranges
from lance_sql.values.frames import Frames
from lance_sql.values.records import Page

Affected: TypeAlias = Literal["rows", "index", "record", "unknown", "lineage"]
"""Subject of a problem: rows or values that cannot be read, or changed since they were written; an index, without
which every row can be read; records about rows and versions, such as row ids, transactions and tags, while all rows
are readable; features that this release does not support and cannot check; or the lineage of rows: row ids and row
versions that contradict the commits."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Numbers of files in a check of checksums.

    with_checksum: files with a recorded checksum, which was compared
    without: files of other writers, and of early releases of this library
    """

    with_checksum: int
    without: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem, and the versions that it affects.

    file, column, page: the place, as far as it is known
    affects: the subject of the problem
    index: the name of the damaged index; None for other problems, or for all indices of the version
    """

    versions: tuple[int, ...]
    file: str | None
    column: str | None
    page: int | None
    message: str
    affects: Affected = "rows"
    index: str | None = None

    def __str__(self) -> str:
        within = [f"column {self.column!r}"] if self.column is not None else []
        within += [f"page {self.page}"] if self.page is not None else []
        where = ": ".join(part for part in (self.file, ", ".join(within)) if part)
        shown = f"{where}: {self.message}" if where else self.message
        return f"{one_line(shown)} ({as_ranges(self.versions)})"


@dataclass(frozen=True, slots=True, repr=False)
class Report(Frames, Page):
    """Result of a check.

    versions: the checked versions, ascending; of an audit alone, those whose commits were audited
    readable_columns: by damaged version the top-level columns that can still be read; missing if there are none
    columns: by version the top-level columns; missing if the manifest cannot be read
    damaged_columns: by version the columns with unreadable values; missing if all values are readable
    compared: the comparison with checksums; None if it was not requested
    checksums_only: no file was opened
    num_rows_in_log: rows of the write-ahead log that are in no version, after the newest of the checked versions
    lineage: the audit of the lineage of rows; None if it was not requested
    mended: the commit that ended the damage of older versions, such as "version 15 returned to version 12"; None if
        the newest version is damaged, or none is
    """

    uri: str
    versions: tuple[int, ...]
    problems: tuple[Problem, ...]
    readable_columns: Mapping[int, tuple[str, ...]]
    is_deep: bool
    columns: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    damaged_columns: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    compared: Compared | None = None
    checksums_only: bool = False
    num_rows_in_log: int = 0
    lineage: Audited | None = None
    mended: str | None = None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Faults in the lineage of rows, by version."""
        return () if self.lineage is None else self.lineage.faults

    @property
    def partly(self) -> Mapping[int, str]:
        """Versions whose lineage was only partly audited, with the reason."""
        return {} if self.lineage is None else self.lineage.partly

    @property
    def without_lineage(self) -> tuple[int, ...]:
        """Versions without stable row ids, which have nothing to audit."""
        return () if self.lineage is None else self.lineage.without_lineage

    @property
    def affected_queries(self) -> tuple[str, ...]:
        """Queries that return wrong results for rows with faults in their lineage, each once."""
        return () if self.lineage is None else self.lineage.affected_queries

    @property
    def is_healthy(self) -> bool:
        """Whether no problem of any kind was found in any of the versions."""
        return not self.problems

    @property
    def newest_is_healthy(self) -> bool:
        """Whether no problem of any kind was found in the newest of the checked versions."""
        newest = max(self.versions, default=None)
        return not any(newest in problem.versions for problem in self.problems)

    @property
    def newest_healthy_version(self) -> int | None:
        """Newest of the checked versions with all rows readable; None if there is none. A damaged index does not count,
        because it loses no row."""
        lost = ("rows", "unknown")
        damaged = {version for problem in self.problems if problem.affects in lost for version in problem.versions}
        return max((version for version in self.versions if version not in damaged), default=None)

    def damaged_indices(self, version: int) -> tuple[str, ...]:
        """Returns the names of the damaged indices of a version."""
        names = [problem.index for problem in self.problems if version in problem.versions]
        return tuple(sorted({name for name in names if name is not None}))

    def has_damaged_index_list(self, version: int) -> bool:
        """Whether the list of indices in the manifest of a version is damaged."""
        return any(
            problem.affects == "index" and problem.index is None and version in problem.versions
            for problem in self.problems
        )

    def __repr__(self) -> str:
        return f"Report({self.uri!r}, versions={len(self.versions)}, problems={len(self.problems)})"

    def to_table(self) -> pa.Table:
        """Returns one row for each problem."""
        rows = self.problems
        return pa.table(
            {
                "message": pa.array([each.message for each in rows], pa.string()),
                "affects": pa.array([each.affects for each in rows], pa.string()),
                "versions": pa.array([list(each.versions) for each in rows], pa.list_(pa.uint64())),
                "file": pa.array([each.file for each in rows], pa.string()),
                "column": pa.array([each.column for each in rows], pa.string()),
                "page": pa.array([each.page for each in rows], pa.int64()),
                "index": pa.array([each.index for each in rows], pa.string()),
            }
        )

    template = "verify"

    def page_values(self, *, is_part: bool) -> dict[str, Any]:
        from lance_sql.health.verification import verification_page

        return verification_page.page_values(self, is_part=is_part)

    def to_dict(self) -> dict[str, Any]:
        """Returns the report in types of JSON; faults have only their first row ids."""
        content = dataclasses.asdict(dataclasses.replace(self, lineage=None)) | {
            "is_healthy": self.is_healthy,
            "newest_is_healthy": self.newest_is_healthy,
            "newest_healthy_version": self.newest_healthy_version,
        }
        del content["lineage"]
        return content if self.lineage is None else content | self.lineage.to_dict()

    def __str__(self) -> str:
        if self.lineage is not None and self.checksums_only:
            return "\n".join(self._of_audit(self.lineage))
        lines = list(self._of_files())
        if self.lineage is not None:
            lines[0] += f"; lineage audited, {self._faults_found}"
            lines += self.lineage.lines()
        return "\n".join(lines)

    @property
    def _faults_found(self) -> str:
        count = len(self.faults)
        return f"{count} fault{'s' * (count > 1)} found" if count else "no fault found"

    def _of_audit(self, lineage: Audited) -> Iterator[str]:
        audited = lineage.versions
        what = f"lineage of {as_ranges(audited)} audited" if audited else "no lineage to audit"
        yield f"{self.uri}: {what}" + (
            f"; {self._faults_found}" if self.faults or (audited and self.is_healthy) else ""
        )
        yield from lineage.lines()
        for problem in self.problems:
            # faults contain the messages of changed files
            if problem.affects != "lineage" and not any(problem.message in fault.message for fault in self.faults):
                yield f"  {problem}"

    def _of_files(self) -> Iterator[str]:
        checked = f"{self.uri}: {as_ranges(self.versions)} checked" + (", every page decoded" if self.is_deep else "")
        problems = [problem for problem in self.problems if problem.affects != "lineage"]
        if not problems:
            yield f"{checked}; no damage found"
            yield f"  {self.limits}"
            return
        yield f"{checked}; {len(problems)} problem{'s' * (len(problems) > 1)} found"
        yield from (f"  {problem}" for problem in problems)
        for version, columns in self.readable_columns.items():
            shown = one_line(", ".join(columns))
            yield f"  version {version} can still be read without the damaged columns: {shown}"
        newest = self.newest_healthy_version
        yield f"  newest healthy version: {newest if newest is not None else 'none'}"
        if self.newest_is_healthy:
            by = f": {self.mended}" if self.mended is not None else ""
            yield f"  only older versions are damaged, and readers of the newest one do not need them{by}"
        if newest is not None and (self.damaged_indices(newest) or self.has_damaged_index_list(newest)):
            yield (
                f"  every row of version {newest} can be read; filters do without its damaged indices, and 'lance-sql"
                " repair' builds them again or drops them"
            )
        yield f"  {self.limits}"

    @property
    def limits(self) -> str:
        """Description of the parts that were not checked, and of damage that such a check cannot detect."""
        if self.num_rows_in_log:
            return f"{self.num_rows_in_log} rows of the write-ahead log are in no version. {self._limits}"
        return self._limits

    @property
    def _limits(self) -> str:
        if self.compared is None:
            return "pages were not decoded, and no checksums compared: --deep does both"
        total = self.compared.with_checksum + self.compared.without
        files = f"{total} file{'s' * (total != 1)}"
        said = f"{self.compared.with_checksum} of {files} compared with their checksum"
        if not self.compared.without:
            return said
        unseen = "were not read" if self.checksums_only else "may have wrong values that this check cannot detect"
        return f"{said}; files without one, such as those of other writers, {unseen}"
