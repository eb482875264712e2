"""Conversion of the user's filters to predicates over the columns of a version, or of other rows."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any, Final, Protocol, TypeAlias, overload
from weakref import WeakKeyDictionary

import pyarrow as pa

from lance_sql.errors import ColumnNotFound
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.predicates import Predicate, from_arrow, from_sql
from lance_sql.runtime.caches import LruCache
from lance_sql.table.snapshot import Snapshot


class ArrowExpression(Protocol):
    """An expression of `pyarrow.compute`, which has no types of its own."""

    def is_valid(self) -> Any:
        """Whether a value is not NULL."""


Filter: TypeAlias = str | ArrowExpression | Predicate
"""Condition on rows: SQL text, an Arrow expression or a predicate, over columns and system columns."""


@overload
def bound(filter: None, schema: pa.Schema, hidden: Iterable[str], table: str) -> None: ...


@overload
def bound(filter: Filter, schema: pa.Schema, hidden: Iterable[str], table: str) -> Predicate: ...


def bound(filter: Filter | None, schema: pa.Schema, hidden: Iterable[str], table: str) -> Predicate | None:
    """Converts a filter to a predicate: SQL text, an Arrow expression, or a predicate, which is returned unchanged.

    hidden: the system columns that it may use beside those of the schema
    table: name of the rows in messages
    raises: ColumnNotFound; InvalidArgument for a filter that is invalid for the types; UnsupportedFeature for
        unsupported SQL
    """
    if filter is None or isinstance(filter, Predicate):
        return filter
    schema = pa.schema([*schema, *map(system_columns.field, hidden)])
    if isinstance(filter, str):
        return from_sql(filter, schema, table=table)
    return from_arrow(filter, schema, table=table)


def to_predicate(snapshot: Snapshot, filter: Filter | None) -> Predicate | None:
    """Converts a filter on the rows of a version, see `bound`."""
    if not isinstance(filter, str):
        return filter if filter is None else _bound(snapshot, filter)
    with _lock:
        parsed = _parsed.setdefault(snapshot, LruCache("parsed filters", most_entries=_MOST_PARSED))
        predicate = parsed.get(filter)
    if predicate is None:
        predicate = _bound(snapshot, filter)
        with _lock:
            parsed.put(filter, predicate)
    return predicate


_MOST_PARSED: Final = 64
_lock = Lock()
_parsed: WeakKeyDictionary[Snapshot, LruCache[str, Predicate]] = WeakKeyDictionary()


def _bound(snapshot: Snapshot, filter: Filter) -> Predicate:
    manifest = snapshot.manifest
    hidden = system_columns.available(stable_row_ids=manifest.has_stable_row_ids)
    try:
        return bound(filter, manifest.schema.arrow, hidden, snapshot.label)
    except ColumnNotFound:
        if isinstance(filter, str):
            system_columns.require_in_text(filter, hidden, snapshot.name)
        raise
