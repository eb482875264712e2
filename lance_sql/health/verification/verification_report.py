"""Result of a check of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pyarrow as pa

from lance_sql.runtime.terminal_text import one_line
from lance_sql.table.versions import as_ranges
from lance_sql.values.frames import Frames

Affected: TypeAlias = Literal["rows", "index", "record", "unknown"]
"""Subject of a problem: rows or values that cannot be read, or changed since they were written; an index, without
which every row can be read; records about rows and versions, such as row ids, transactions and tags, while all rows
are readable; or features that this release does not support and cannot check."""


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
class Report(Frames):
    """Result of a check.

    versions: the checked versions, ascending
    readable_columns: by damaged version the top-level columns that can still be read; missing if there are none
    columns: by version the top-level columns; missing if the manifest cannot be read
    damaged_columns: by version the columns with unreadable values; missing if all values are readable
    compared: the comparison with checksums; None if it was not requested
    checksums_only: nothing else was checked
    num_rows_in_log: rows of the write-ahead log that are in no version, after the newest of the checked versions
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

    def to_html(self) -> str:
        """Renders a page in one file that needs no network.

        raises: MissingDependency where Jinja2 is not installed
        """
        from lance_sql.health.verification import verification_page

        return verification_page.as_page(self)

    def _repr_html_(self) -> str | None:
        from lance_sql.health.verification import verification_page

        return verification_page.as_part(self)

    def __str__(self) -> str:
        checked = f"{self.uri}: {as_ranges(self.versions)} checked" + (", every page decoded" if self.is_deep else "")
        if self.is_healthy:
            return f"{checked}; no damage found\n  {self.limits}"
        lines = [f"{checked}; {len(self.problems)} problem{'s' * (len(self.problems) > 1)} found"]
        lines += [f"  {problem}" for problem in self.problems]
        for version, columns in self.readable_columns.items():
            shown = one_line(", ".join(columns))
            lines.append(f"  version {version} can still be read without the damaged columns: {shown}")
        newest = self.newest_healthy_version
        lines.append(f"  newest healthy version: {newest if newest is not None else 'none'}")
        if newest is not None and (self.damaged_indices(newest) or self.has_damaged_index_list(newest)):
            lines.append(
                f"  every row of version {newest} can be read; filters do without its damaged indices, and 'lance-sql"
                " repair' builds them again or drops them"
            )
        lines.append(f"  {self.limits}")
        return "\n".join(lines)

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
        said = f"{self.compared.with_checksum} of {files} compared with the checksum of when they were written"
        if not self.compared.without:
            return said
        unseen = "was only seen to be there" if self.checksums_only else "may have other values without being found out"
        return f"{said}; what has no checksum, such as files of other writers, {unseen}"
