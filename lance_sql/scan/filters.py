"""What users give as a filter -> predicates over the columns of a version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lance_sql.errors import ColumnNotFound
from lance_sql.scan import system_columns
from lance_sql.scan.predicates import Predicate, from_arrow, from_sql
from lance_sql.table.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.compute as pc


def to_predicate(snapshot: Snapshot, filter: str | pc.Expression | Predicate | None) -> Predicate | None:
    """The predicate that a filter means: SQL text, an Arrow expression, or a predicate as it is.

    raises: ColumnNotFound; InvalidArgument for a filter that makes no sense for the types; UnsupportedFeature for SQL
        that a filter cannot have
    """
    if filter is None or isinstance(filter, Predicate):
        return filter
    hidden = system_columns.available(stable_row_ids=snapshot.manifest.has_stable_row_ids)
    schema = pa.schema([*snapshot.manifest.schema.arrow, *(system_columns.field(name) for name in hidden)])
    if isinstance(filter, str):
        try:
            return from_sql(filter, schema, table=snapshot.label)
        except ColumnNotFound:
            system_columns.require_in_text(filter, hidden, snapshot.name)
            raise
    return from_arrow(filter, schema, table=snapshot.label)
