"""Changes in the envelope of Debezium's connectors, for consumers that already read it.

    {"before": null, "after": {"id": 7, "status": "open"}, "op": "c", "ts_ms": 1795546800000,
     "source": {"connector": "lance-sql", "table": "orders.lance", "lsn": 42, "row_id": 1204, ..}}

op      c an inserted row, u an updated one, d a deleted one, r a row of a snapshot

An update is one envelope with both images. An update of the key is a delete of the old key and a create of the new one.
Of one commit, and of a net feed, all keys are deleted before one is created: `id = id + 1` frees each key first. Values
are those of JSON, as the command line writes them.

Source: Debezium documentation, data change events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.images import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, DELETE, INSERT, POSTIMAGE, PREIMAGE
from lance_sql.changes.snapshot_feed import SnapshotFeed
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.values.value_text import as_json, values

_COLUMNS: Final = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP, ROW_ID)
_CONNECTOR: Final = "lance-sql"


def envelopes(feed: ChangeFeed) -> Iterator[dict[str, Any]]:
    """Yields the changes of a feed in order, with both images of an update in one envelope.

    raises: as reading the feed
    """
    ops = {INSERT: "r" if isinstance(feed, SnapshotFeed) else "c", POSTIMAGE: "u", DELETE: "d"}
    described = {*_COLUMNS, *(field.name for field in feed.feed_fields)}
    names = [name for name in feed.schema.names if name not in described]
    # images of one row have equal row ids, or equal keys
    identity, key = feed.key, feed.key or feed.naming_columns
    before: dict[tuple[Any, ...], dict[str, Any]] = {}
    # rows with new keys, until all old keys of the commit are deleted
    moved: list[dict[str, Any]] = []
    for batch in feed.scan([*names, *_COLUMNS]).to_reader():
        kinds, versions, times, ids = (batch.column(name).to_pylist() for name in _COLUMNS)
        for kind, version, time, row_id, row in zip(kinds, versions, times, ids, _rows(batch, names), strict=True):
            if kind != POSTIMAGE:
                yield from moved
                moved = []
            of_row = (version, *_values(row, identity)) if identity else (version, row_id)
            if kind == PREIMAGE:
                # its other image follows in the same commit
                before[of_row] = row
                continue
            moment = int(time.timestamp() * 1000)
            one = {"ts_ms": moment, "source": _source(feed, version, row_id, moment)}
            earlier = row if kind == DELETE else before.pop(of_row, None)
            if kind == POSTIMAGE and earlier is not None and _values(earlier, key) != _values(row, key):
                yield {"before": earlier, "after": None, "op": ops[DELETE], **one}
                moved.append({"before": None, "after": row, "op": ops[INSERT], **one})
                continue
            yield {"before": earlier, "after": None if kind == DELETE else row, "op": ops[kind], **one}
    yield from moved


def _values(row: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    """Returns the values of columns of a row of JSON, where NaN equals itself."""
    found = (_value(row, name) for name in names)
    return tuple(value if value == value else "NaN" for value in found)


def _value(row: Mapping[str, Any] | None, name: str) -> Any:
    """Returns the value of a column, or of a member of a struct by its path."""
    if row is None or name in row:
        return None if row is None else row[name]
    top, _, below = name.partition(".")
    return _value(row[top], below)


def _source(feed: ChangeFeed, version: int, row_id: int, moment: int) -> Mapping[str, Any]:
    return {
        "connector": _CONNECTOR,
        "name": feed.table,
        "table": feed.table,
        "branch": feed.branch,
        "lsn": version,
        "row_id": row_id,
        "ts_ms": moment,
        "snapshot": "true" if isinstance(feed, SnapshotFeed) else "false",
    }


def _rows(batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    columns = [values(batch.column(name)) for name in names]
    for row in zip(*columns, strict=True) if columns else ((),) * batch.num_rows:
        yield dict(zip(names, map(as_json, row), strict=True))
