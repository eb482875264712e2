"""Deletes rows: writes deletion files, or removes whole fragments without any file.

Source: message Transaction.Delete; row lineage, what each operation does.
"""

from __future__ import annotations

from collections.abc import Mapping

from lance_sql.reads.scan.filters import Filter
from lance_sql.reads.scan.scanning import addresses
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arguments import check_selection
from lance_sql.writes.statements.row_changes import commit, deleted, write
from lance_sql.writes.statements.session import WriteSession, on_latest


def delete(snapshot: Snapshot, where: Filter, properties: Mapping[str, str] | None = None) -> Snapshot:
    """Deletes the rows of the newest version that match the filter; creates no version if there are none.

    properties: stored with the transaction
    raises: as `Dataset.scan` for the filter; InvalidArgument without one; CommitConflict
    """
    check_selection(where, "deletes")

    def change(session: WriteSession) -> Snapshot:
        gone = deleted(addresses(session.snapshot, where))
        return commit(session, [write(session.snapshot, [gone], session.writer)], predicate=str(where))

    return on_latest(snapshot, "delete", change, properties)
