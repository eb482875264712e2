"""Stable row ids, and with them row history and the change feed, for a table that was created without.

Source: row lineage, enabling; message Transaction.Merge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from lance_sql.errors import CommitConflict, InvalidArgument, RetryableConflict
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit import assigned_ids
from lance_sql.writes.statements.session import RowCounts, WriteSession, on_latest

Indices: TypeAlias = Literal["keep", "drop"]


def enable(snapshot: Snapshot, *, indices: Indices = "keep", properties: Mapping[str, str] | None = None) -> Snapshot:
    """Gives every row of the newest version a stable id. No data file is read or written.

    raises: InvalidArgument for a table that has them, and for indices that cannot be kept; CommitConflict when other
        writers are always first
    """
    if indices not in ("keep", "drop"):
        raise InvalidArgument(f"indices={indices!r} is neither 'keep' nor 'drop'")

    def change(session: WriteSession) -> Snapshot:
        operation = assigned_ids.merge_with_row_ids(session.snapshot, keeps_indices=indices == "keep")
        try:
            return session.commit(operation, RowCounts())
        except RetryableConflict:
            raise
        except CommitConflict as error:
            # whatever others did: it can be done after that
            raise RetryableConflict(error.message) from error

    return on_latest(snapshot, "enable_stable_row_ids", change, properties)
