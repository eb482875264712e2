"""The versions of a table, and what the commit of each did.

Commits of this library say it themselves. What others did follows from the kind of their transaction, from the number
of rows before and after, and from the row versions, which the manifest has: no page is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lance_sql.errors import LanceError
from lance_sql.scan.candidates import Candidates
from lance_sql.scan.filters import to_predicate
from lance_sql.scan.scan import Scan
from lance_sql.scan.system_columns import CREATED_AT, LAST_UPDATED_AT
from lance_sql.table.commit_summary import CommitSummary, from_properties
from lance_sql.table.fragments import Fragments
from lance_sql.table.snapshot import Snapshot

# What users call the operations of transactions, where this is not their name.
_AS_MEANT: Final = {"append": "insert", "rewrite": "compact", "merge": "add_columns", "project": "change_columns"}

_KEEPS_ROWS: Final = ("compact", "create_index", "add_columns", "change_columns", "update_config", "reserve_fragments")


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One version; None for what is not known.

    timestamp: of the commit, UTC
    operation: as the user meant it: insert, update, merge, delete, create, overwrite, compact, add_columns, ...
    rows: live rows of the version
    fragments: of the version
    rows_inserted, rows_updated, rows_deleted: by the commit
    files_written, bytes_written: of data files, by the commit
    duration_ms: of the change, from its beginning
    writer: library and release
    tags: that name the version
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


def history(snapshot: Snapshot, limit: int | None = None) -> tuple[HistoryEntry, ...]:
    """What the commits of the branch of a version did, as of now, ascending; damaged versions are among them.

    limit: only so many of the newest
    raises: UnsupportedFeature
    """
    snapshots = snapshot.siblings()
    first = max(len(snapshots) - limit, 0) if limit is not None else 0
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
        except LanceError as error:
            entries.append(HistoryEntry(each.version, tags=names, damage=str(error)))
            before = None
        is_first = False
    return tuple(entries)


def _readable(snapshot: Snapshot) -> Snapshot | None:
    try:
        _ = snapshot.manifest
    except LanceError:
        return None
    return snapshot


def _entry(snapshot: Snapshot, before: Snapshot | None, tags: tuple[str, ...], *, is_first: bool) -> HistoryEntry:
    """
    before: the version before this one, where it is there and can be read
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
    )


def _derived(
    snapshot: Snapshot, before: Snapshot | None, operation: str | None, rows: int, *, is_first: bool
) -> CommitSummary:
    """What a commit of another writer did, as far as the versions around it tell."""
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
        case "update" if snapshot.manifest.has_stable_row_ids:
            inserted, updated = _by_row_versions(snapshot)
            name = "merge" if inserted else "update"
            return CommitSummary(name, inserted, updated, rows_before + inserted - rows, *written)
    return CommitSummary(meant, None, None, None, *written)


def _by_row_versions(snapshot: Snapshot) -> tuple[int, int]:
    """How many rows a commit inserted and updated, by the versions that rows have."""
    inserted, written = (
        Scan(snapshot, (), to_predicate(snapshot, f"{column} = {snapshot.version}"), None, None).count_rows()
        for column in (CREATED_AT, LAST_UPDATED_AT)
    )
    return inserted, written - inserted


def _written(snapshot: Snapshot, before: Snapshot | None) -> tuple[int, int | None]:
    """New data files and their bytes; None for bytes that the manifest does not have."""
    mine = snapshot.manifest.fragments
    theirs = before.manifest.fragments if before is not None else Fragments.of(())
    # most fragments are as they were, to the byte
    messages = {theirs.message_bytes(place) for place in range(len(theirs))}
    changed = [mine[place] for place in range(len(mine)) if mine.message_bytes(place) not in messages]
    earlier = theirs.by_id([fragment.id for fragment in changed])
    known = {(file.path, file.base_id) for fragment in earlier.values() for file in fragment.files}
    new = [file for fragment in changed for file in fragment.files if (file.path, file.base_id) not in known]
    sizes = [file.size_bytes for file in new]
    return len(new), sum(sizes) if all(sizes) else None
