"""Enables stable row ids, and with them row lineage and the change feed, for a table created without them.

Source: row lineage, enabling; message Transaction.Merge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from lance_sql.errors import CommitConflict, InvalidArgument, RetryableConflict
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit import assigned_row_ids
from lance_sql.writes.statements.session import RowCounts, WriteSession, on_latest

Indices: TypeAlias = Literal["keep", "drop"]


def enable(snapshot: Snapshot, *, indices: Indices = "keep", properties: Mapping[str, str] | None = None) -> Snapshot:
    """Assigns a stable id to every row of the newest version. Reads and writes no data file.

    raises: InvalidArgument if the table has stable row ids, and for indices that cannot be kept; CommitConflict if
        other writers are always first
    """
    if indices not in ("keep", "drop"):
        raise InvalidArgument(f"indices={indices!r} is neither 'keep' nor 'drop'")

    def change(session: WriteSession) -> Snapshot:
        operation = assigned_row_ids.merge_with_row_ids(session.snapshot, keeps_indices=indices == "keep")
        try:
            return session.commit(operation, RowCounts())
        except RetryableConflict:
            raise
        except CommitConflict as error:
            # regardless of the other commit, a retry can succeed
            raise RetryableConflict(error.message) from error

    return on_latest(snapshot, "enable_stable_row_ids", change, properties)
