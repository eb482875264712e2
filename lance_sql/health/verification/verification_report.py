"""What a check of a table has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pyarrow as pa

from lance_sql.runtime.terminal_text import one_line
from lance_sql.table.versions import as_ranges
from lance_sql.values.frames import Frames

Affected: TypeAlias = Literal["rows", "index", "record", "unknown"]
"""What a problem is about: rows or values that cannot be read, or are not those that were written; an index, which
every row can be read without; what is recorded of rows and versions, such as row ids, transactions and tags, while the
rows are all there; or what this release does not know, and cannot check."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Files that were looked at by a check of checksums.

    with_checksum: of which a checksum is recorded, and was compared
    without: those of other writers, and of early releases of this library
    """

    with_checksum: int
    without: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, and the versions that it is wrong for.

    file, column, page: where, as far as that is known
    affects: what is lost by it
    index: the name of the damaged index; None where it is another problem, or all indices of the version
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
    """What a check has found.

    versions: those that were checked, ascending
    readable_columns: by damaged version the top-level columns that can still be read; missing where nothing can be
    columns: by version the top-level columns; missing where the manifest cannot be read
    damaged_columns: by version those of which some value cannot be read; missing where all can be
    compared: with checksums; None where that was not asked for
    checksums_only: nothing else was looked at
    num_rows_in_log: rows of the write-ahead log that no version has, after the newest of the checked versions
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
        """The newest of the checked versions of which every row can be read; None where there is none. A damaged index
        takes no row away."""
        lost = ("rows", "unknown")
        damaged = {version for problem in self.problems if problem.affects in lost for version in problem.versions}
        return max((version for version in self.versions if version not in damaged), default=None)

    def damaged_indices(self, version: int) -> tuple[str, ...]:
        """The names of the indices of a version that are damaged."""
        names = [problem.index for problem in self.problems if version in problem.versions]
        return tuple(sorted({name for name in names if name is not None}))

    def has_damaged_index_list(self, version: int) -> bool:
        """Whether the manifest of a version does not tell which indices it has."""
        return any(
            problem.affects == "index" and problem.index is None and version in problem.versions
            for problem in self.problems
        )

    def __repr__(self) -> str:
        return f"Report({self.uri!r}, versions={len(self.versions)}, problems={len(self.problems)})"

    def to_table(self) -> pa.Table:
        """One row for each problem."""
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
        """A page in one file, which needs no network.

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
        """What was not looked at, and what such a check cannot see, in words."""
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
