"""Deletes rows: writes deletion files, or removes whole fragments without any file.

Source: message Transaction.Delete; row lineage, what each operation does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.scanning import addresses
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.operations import Delete
from lance_sql.writes.statements.removed_rows import delete_rows
from lance_sql.writes.statements.session import RowCounts, WriteSession, on_latest

if TYPE_CHECKING:
    import pyarrow.compute as pc


def delete(
    snapshot: Snapshot, where: str | pc.Expression | Predicate, properties: Mapping[str, str] | None = None
) -> Snapshot:
    """Deletes the rows of the newest version that match the filter; creates no version if there are none.

    properties: stored with the transaction
    raises: as `Dataset.scan` for the filter; InvalidArgument without one; CommitConflict
    """
    if where is None:
        raise InvalidArgument("Pass a filter; 'true' deletes all rows")

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        tombstones = delete_rows(latest, addresses(latest, where))
        if not tombstones.affected:
            return latest
        operation = Delete(tombstones.updated, tombstones.removed, str(where))
        return session.commit(operation, RowCounts(deleted=tombstones.num_rows), affected_rows=tombstones.affected)

    return on_latest(snapshot, "delete", change, properties)
