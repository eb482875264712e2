"""Versions of a table with the operations of their commits.

Commits of this library record their operation and counts. For other writers, they follow from the kind of transaction,
the number of rows before and after, and the row versions in the manifest. No page is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

import pyarrow as pa

from lance_sql.errors import TABLE_ERRORS
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.filters import to_predicate
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.system_columns import CREATED_AT, LAST_UPDATED_AT
from lance_sql.table.commit_summary import CommitSummary, from_properties
from lance_sql.table.fragments import Fragments, new_files
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import as_ranges
from lance_sql.values.arguments import check_number
from lance_sql.values.frames import Frames
from lance_sql.values.moments import instant
from lance_sql.values.records import Record

# Names of operations for users, if they differ from those of transactions.
_AS_MEANT: Final = {"append": "insert", "rewrite": "compact", "merge": "add_columns", "project": "change_columns"}

_TIME: Final = pa.timestamp("us", "UTC")
_KEEPS_ROWS: Final = ("compact", "create_index", "add_columns", "change_columns", "update_config", "reserve_fragments")


@dataclass(frozen=True, slots=True, repr=False)
class HistoryEntry(Record):
    """One version; unknown values are None.

    timestamp: of the commit, UTC
    operation: from the user's view: insert, update, merge, delete, create, overwrite, compact, add_columns, ...
    rows: live rows of the version
    fragments: of the version
    rows_inserted, rows_updated, rows_deleted: by the commit
    files_written, bytes_written: of data files, by the commit
    duration_ms: of the change, from its beginning
    writer: library and release
    job: the user's name of the job that the commit is a part of
    write_id: of a write in two steps: the prefix of the names of its data files
    user, host: the user and host of the process that committed
    statement: the SQL statement that made the commit
    tags: the tags of the version
    properties: of the commit, by its caller
    damage: why the version cannot be read; all but its number and tags is None then
    """

    version: int
    timestamp: datetime | None = None
    operation: str | None = None
    rows: int | None = None
    fragments: int | None = None
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    files_written: int | None = None
    bytes_written: int | None = None
    duration_ms: int | None = None
    writer: str | None = None
    tags: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    damage: str | None = None
    job: str | None = None
    write_id: str | None = None
    user: str | None = None
    host: str | None = None
    statement: str | None = None


class History(tuple[HistoryEntry, ...], Frames):
    """Versions of a branch, ascending, with the operations of their commits.

    snapshot: any version of the branch
    """

    snapshot: Snapshot

    def __new__(cls, snapshot: Snapshot, entries: Iterable[HistoryEntry]) -> History:
        history = super().__new__(cls, tuple(entries))
        history.snapshot = snapshot
        return history

    def __reduce__(self) -> tuple[type[History], tuple[Snapshot, tuple[HistoryEntry, ...]]]:
        return History, (self.snapshot, tuple(self))

    def __repr__(self) -> str:
        numbers = as_ranges([entry.version for entry in self]) if self else "no versions"
        return f"History({self.snapshot.name!r}, {numbers})"

    def to_table(self) -> pa.Table:
        """Returns one row for each version and its commit; `damage` is the reason why a version cannot be read."""
        return pa.table(
            {
                "version": pa.array([entry.version for entry in self], pa.uint64()),
                "timestamp": pa.array([entry.timestamp for entry in self], _TIME),
                "operation": pa.array(
                    ["(damaged)" if entry.damage else entry.operation for entry in self], pa.string()
                ),
                "fragments": self._numbers("fragments"),
                "rows": self._numbers("rows"),
                "inserted": self._numbers("rows_inserted"),
                "updated": self._numbers("rows_updated"),
                "deleted": self._numbers("rows_deleted"),
                "files_written": self._numbers("files_written"),
                "bytes_written": self._numbers("bytes_written"),
                "duration_ms": self._numbers("duration_ms"),
                "writer": self._texts("writer"),
                "job": self._texts("job"),
                "user": self._texts("user"),
                "host": self._texts("host"),
                "statement": self._texts("statement"),
                "tags": pa.array([", ".join(entry.tags) or None for entry in self], pa.string()),
                "damage": self._texts("damage"),
            }
        )

    def _numbers(self, field: str) -> pa.Array:
        return pa.array([getattr(entry, field) for entry in self], pa.int64())

    def _texts(self, field: str) -> pa.Array:
        return pa.array([getattr(entry, field) for entry in self], pa.string())

    def to_html(self) -> str:
        """Renders a chart of inserted and deleted rows, and the versions, as a page in one file that needs no network.

        raises: MissingDependency where Jinja2 is not installed
        """
        from lance_sql.changes.version_history import history_page

        snapshot = self.snapshot
        return history_page.as_page(snapshot.name, snapshot.uri, self, snapshot.branches(), branch=snapshot.branch)

    def _repr_html_(self) -> str | None:
        from lance_sql.changes.version_history import history_page

        return history_page.as_part(self.snapshot.name, self.snapshot.uri, self)


def history(
    snapshot: Snapshot,
    limit: int | None = None,
    *,
    since: datetime | date | timedelta | str | None = None,
    job: str | None = None,
) -> History:
    """Returns the commits of a version's branch, as of now, ascending. Includes damaged versions, except with `job`.

    limit, since, job: as for `Dataset.history`; the newest `limit` versions of those that `since` and `job` leave
    raises: UnsupportedFeature; InvalidArgument for an invalid time
    """
    check_number("limit", limit, least=0)
    snapshots = snapshot.siblings()
    first = max(len(snapshots) - limit, 0) if limit is not None and job is None else 0
    if since is not None:
        first = max(first, _first_since(snapshots, instant(since)))
    tags: dict[int, list[str]] = {}
    for name, tag in snapshot.tags().items():
        if tag.branch == snapshot.branch:
            tags.setdefault(tag.version, []).append(name)
    entries = []
    before = _readable(snapshots[first - 1]) if first else None
    is_first = first == 0
    for each in snapshots[first:]:
        names = tuple(tags.get(each.version, ()))
        try:
            entries.append(_entry(each, before, names, is_first=is_first))
            before = each
        except TABLE_ERRORS as error:
            entries.append(HistoryEntry(each.version, tags=names, damage=error.in_table))
            before = None
        is_first = False
    if job is not None:
        entries = [entry for entry in entries if entry.job == job][-limit if limit else None :]
    return History(snapshot, entries)


def _first_since(snapshots: Sequence[Snapshot], moment: datetime) -> int:
    """Returns the index of the first snapshot that was committed at a moment or later."""
    for number in reversed(range(len(snapshots))):
        readable = _readable(snapshots[number])
        if readable is not None and readable.manifest.timestamp < moment:
            return number + 1
    return 0


def operation(snapshot: Snapshot) -> str | None:
    """Returns the operation of a version's commit, as `HistoryEntry.operation`; None if unknown.

    raises: UnsupportedFeature, CorruptFile
    """
    transaction = snapshot.transaction()
    if transaction is None:
        return None
    said = from_properties(transaction.properties)
    if said is not None and said.operation:
        return said.operation
    if snapshot.version == 1:
        return "create"
    meant = _AS_MEANT.get(transaction.operation or "", transaction.operation)
    return _merge_or_update(_by_row_versions(snapshot)[0]) if _counts(snapshot, meant) else meant


def _counts(snapshot: Snapshot, meant: str | None) -> bool:
    """Whether the row versions are more precise than the transaction: merges are recorded as updates."""
    return meant == "update" and snapshot.manifest.has_stable_row_ids


def _merge_or_update(inserted: int) -> str:
    return "merge" if inserted else "update"


def _readable(snapshot: Snapshot) -> Snapshot | None:
    try:
        _ = snapshot.manifest
    except TABLE_ERRORS:
        return None
    return snapshot


def _entry(snapshot: Snapshot, before: Snapshot | None, tags: tuple[str, ...], *, is_first: bool) -> HistoryEntry:
    """
    before: the version before this one, if it exists and can be read
    is_first: of the branch
    """
    manifest = snapshot.manifest
    transaction = snapshot.transaction()
    said = from_properties(transaction.properties) if transaction is not None else None
    rows = Candidates.all_of(snapshot).num_rows
    if said is None:
        operation = transaction.operation if transaction is not None else None
        said = _derived(snapshot, before, operation, rows, is_first=is_first)
    recorded = manifest.writer_version
    return HistoryEntry(
        version=snapshot.version,
        timestamp=manifest.timestamp,
        operation=said.operation or None,
        rows=rows,
        fragments=len(manifest.fragments),
        rows_inserted=said.rows_inserted,
        rows_updated=said.rows_updated,
        rows_deleted=said.rows_deleted,
        files_written=said.files_written,
        bytes_written=said.bytes_written,
        duration_ms=said.duration_ms,
        writer=said.writer or (f"lance {recorded}" if recorded else None),
        tags=tags,
        properties=tuple(said.properties.items()),
        job=said.job_name,
        write_id=said.job,
        user=said.user,
        host=said.host,
        statement=said.statement,
    )


def _derived(
    snapshot: Snapshot, before: Snapshot | None, operation: str | None, rows: int, *, is_first: bool
) -> CommitSummary:
    """Derives the operation and counts of another writer's commit from the versions before and after."""
    meant = _AS_MEANT.get(operation or "", operation or "")
    if is_first and snapshot.version == 1:
        return CommitSummary("create", rows, 0, 0, *_written(snapshot, None))
    if before is None:
        return CommitSummary(meant)
    rows_before = Candidates.all_of(before).num_rows
    written = _written(snapshot, before)
    if meant in _KEEPS_ROWS:
        return CommitSummary(meant, 0, None if meant == "add_columns" else 0, 0, *written)
    match meant:
        case "insert":
            return CommitSummary(meant, rows - rows_before, 0, 0, *written)
        case "delete":
            return CommitSummary(meant, 0, 0, rows_before - rows, *written)
        case "overwrite":
            return CommitSummary(meant, rows, 0, rows_before, *written)
        case _ if _counts(snapshot, meant):
            inserted, updated = _by_row_versions(snapshot)
            return CommitSummary(_merge_or_update(inserted), inserted, updated, rows_before + inserted - rows, *written)
    return CommitSummary(meant, None, None, None, *written)


def _by_row_versions(snapshot: Snapshot) -> tuple[int, int]:
    """Counts the rows that a commit inserted and updated, from their row versions."""
    inserted, written = (
        Scan(snapshot, (), to_predicate(snapshot, f"{column} = {snapshot.version}"), None, None).count_rows()
        for column in (CREATED_AT, LAST_UPDATED_AT)
    )
    return inserted, written - inserted


def _written(snapshot: Snapshot, before: Snapshot | None) -> tuple[int, int | None]:
    """Counts the new data files and their bytes; None if the manifest lacks a size."""
    theirs = before.manifest.fragments if before is not None else Fragments.of(())
    sizes = [file.size_bytes for _, file in new_files(snapshot.manifest.fragments, theirs)]
    return len(sizes), sum(sizes) if all(sizes) else None
