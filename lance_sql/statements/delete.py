"""Deleting rows: deletion files, or nothing at all where a whole fragment goes.

Source: message Transaction.Delete; row lineage, what each operation does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_sql.commit.committer import commit
from lance_sql.commit.operations import Delete
from lance_sql.errors import InvalidArgument
from lance_sql.scan.predicates import Predicate
from lance_sql.statements.retry import on_latest
from lance_sql.statements.rows import bury
from lance_sql.statements.scanning import addresses
from lance_sql.table.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.compute as pc


def delete(snapshot: Snapshot, where: str | pc.Expression | Predicate) -> Snapshot:
    """Deletes the rows of the newest version that pass the filter; a version is made even when there are none.

    raises: as `Dataset.scan` for the filter; InvalidArgument without one; CommitConflict
    """
    if where is None:
        raise InvalidArgument("Say which rows are deleted: 'true' is all of them")

    def change(latest: Snapshot) -> Snapshot:
        gone = bury(latest, addresses(latest, where))
        return commit(latest, Delete(gone.updated, gone.removed, str(where)), affected_rows=gone.affected)

    return on_latest(snapshot, change)
