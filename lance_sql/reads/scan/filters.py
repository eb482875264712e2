"""Conversion of the user's filters to predicates over the columns of a version."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import pyarrow as pa

from lance_sql.errors import ColumnNotFound
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.predicates import Predicate, from_arrow, from_sql
from lance_sql.runtime.caches import LruCache
from lance_sql.table.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.compute as pc


def to_predicate(snapshot: Snapshot, filter: str | pc.Expression | Predicate | None) -> Predicate | None:
    """Converts a filter to a predicate: SQL text, an Arrow expression, or a predicate, which is returned unchanged.

    raises: ColumnNotFound; InvalidArgument for a filter that is invalid for the types; UnsupportedFeature for
        unsupported SQL
    """
    if filter is None or isinstance(filter, Predicate):
        return filter
    if not isinstance(filter, str):
        return from_arrow(filter, _schema(snapshot), table=snapshot.label)
    with _lock:
        parsed = _parsed.setdefault(snapshot, LruCache("parsed filters", most_entries=_MOST_PARSED))
        predicate = parsed.get(filter)
    if predicate is None:
        predicate = _parse(snapshot, filter)
        with _lock:
            parsed.put(filter, predicate)
    return predicate


_MOST_PARSED: Final = 64
_lock = Lock()
_parsed: WeakKeyDictionary[Snapshot, LruCache[str, Predicate]] = WeakKeyDictionary()


def _schema(snapshot: Snapshot) -> pa.Schema:
    """Returns the schema of the columns that a filter may use."""
    hidden = system_columns.available(stable_row_ids=snapshot.manifest.has_stable_row_ids)
    return pa.schema([*snapshot.manifest.schema.arrow, *(system_columns.field(name) for name in hidden)])


def _parse(snapshot: Snapshot, text: str) -> Predicate:
    try:
        return from_sql(text, _schema(snapshot), table=snapshot.label)
    except ColumnNotFound:
        hidden = system_columns.available(stable_row_ids=snapshot.manifest.has_stable_row_ids)
        system_columns.require_in_text(text, hidden, snapshot.name)
        raise
