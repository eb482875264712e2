"""Updates rows: writes new copies with the same row ids to new fragments, and deletes the old ones.

Source: message Transaction.Update; row lineage, duties of a writer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan.filters import Filter
from lance_sql.reads.scan.scanning import numbers, scan
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arguments import check_selection
from lance_sql.values.coalesce import gathered
from lance_sql.writes.statements import expressions
from lance_sql.writes.statements.row_changes import commit, replaced, typed, write
from lance_sql.writes.statements.session import WriteSession, on_latest


def update(
    snapshot: Snapshot,
    values: Mapping[str, Any],
    where: Filter | None = None,
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    """Sets columns in the rows of the newest version that match the filter; creates no version if there are none.

    values: by column, see `expressions.compile`; they read the values before the update
    properties: stored with the transaction
    raises: as `Dataset.scan` for the filter; ColumnNotFound, InvalidArgument for the values, and without a filter;
        CommitConflict
    """
    if not isinstance(values, Mapping):
        raise InvalidArgument(f"New values must be a dict by column, not a {type(values).__name__}")
    if not values:
        raise InvalidArgument("No column to set: pass at least one")
    check_selection(where, "updates")

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        schema = latest.manifest.schema
        for name in values:
            schema.field(name, table=latest.label)
        compute = expressions.compile(values, schema.arrow)
        # before rows are read
        typed(schema.arrow, {name: pa.array([], type) for name, type in compute.types.items()})
        names = [*schema.names, ROW_ID, ROW_ADDRESS]
        changes = (
            replaced(
                schema.arrow,
                typed(schema.arrow, compute(part)),
                part,
                numbers(part, ROW_ID),
                numbers(part, ROW_ADDRESS),
            )
            for part in gathered(scan(latest, names, where))
        )
        return commit(session, [write(latest, changes, session.writer, in_order=True)])

    return on_latest(snapshot, "update", change, properties)
