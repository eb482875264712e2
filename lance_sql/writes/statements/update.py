"""Updates rows: writes new copies with the same row ids to new fragments, and deletes the old ones.

Source: message Transaction.Update; row lineage, duties of a writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.assignment import assign
from lance_sql.format.schema import Schema
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.scanning import numbers, scan
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.coalesce import gathered
from lance_sql.writes.commit.operations import Update
from lance_sql.writes.statements import expressions
from lance_sql.writes.statements.moved_rows import MovedRows
from lance_sql.writes.statements.removed_rows import carrying, delete_rows
from lance_sql.writes.statements.session import RowCounts, WriteSession, on_latest

if TYPE_CHECKING:
    import pyarrow.compute as pc


def update(
    snapshot: Snapshot,
    values: Mapping[str, Any],
    where: str | pc.Expression | Predicate | None = None,
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    """Sets columns in the rows of the newest version that match the filter; creates no version if there are none.

    values: by column, see `expressions.compile`; they read the values before the update
    properties: stored with the transaction
    raises: as `Dataset.scan` for the filter; ColumnNotFound, InvalidArgument for the values; CommitConflict
    """
    if not isinstance(values, Mapping):
        raise InvalidArgument(f"New values are given by column, not as a {type(values).__name__}")
    if not values:
        raise InvalidArgument("No column is set")

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        schema = latest.manifest.schema
        fields = [schema.field(name, table=latest.label) for name in values]
        compute = expressions.compile(values, schema.arrow)
        for name in values:
            assign(name, pa.array([], compute.types[name]), schema.arrow.field(name))
        moved = MovedRows()
        names = [*schema.names, ROW_ID, ROW_ADDRESS]

        def rows() -> Iterator[pa.RecordBatch]:
            for part in gathered(scan(latest, names, where)):
                moved.add(numbers(part, ROW_ADDRESS), numbers(part, ROW_ID))
                computed = compute(part)
                columns = [
                    assign(field.name, computed[field.name], field) if field.name in computed else part.column(i)
                    for i, field in enumerate(schema.arrow)
                ]
                yield from pa.Table.from_arrays(columns, schema=schema.arrow).to_batches()

        fragments = session.writer().write_all(rows())
        tombstones = delete_rows(latest, moved.addresses)
        if not tombstones.affected:
            return latest
        operation = Update(
            removed_fragment_ids=tombstones.removed,
            updated_fragments=tombstones.updated,
            new_fragments=carrying(latest, fragments, moved.row_ids),
            fields_for_preserving_frag_bitmap=tuple(sorted(Schema(tuple(fields)).by_id)),
        )
        return session.commit(operation, RowCounts(updated=tombstones.num_rows), affected_rows=tombstones.affected)

    return on_latest(snapshot, "update", change, properties)
