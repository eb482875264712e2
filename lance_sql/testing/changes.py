"""What a job changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.testing.report import short, side_by_side
from lance_sql.testing.tables import TableLike, dataset, names_of

_KINDS = {"inserted": "insert", "updated": "update_postimage", "deleted": "delete"}
_MAX_SHOWN = 10


def assert_changes(
    table: TableLike,
    *,
    since: int | str | datetime | date,
    inserted: int | Collection[Any] | None = None,
    updated: int | Collection[Any] | None = None,
    deleted: int | Collection[Any] | None = None,
    unchanged_columns: str | Iterable[str] = (),
    key: str | Sequence[str] | None = None,
) -> None:
    """Fails unless the commits after a version did this to the rows, and nothing else, taken together: a row that was
    inserted and updated is an inserted one.

    table: a Lance table by path or as a `Dataset`
    since: the version, tag or time after which the changes begin
    inserted, updated, deleted: how many rows, or the values of `key` of exactly these rows, tuples where the key has
        several columns; what is left out may be any number
    unchanged_columns: columns that have the same value in every updated row as before
    key: columns that tell rows apart; for tables without stable row ids rows are compared by it
    raises: AssertionError; as `Dataset.changes`

    >>> made = orders.delete("status = 'cancelled'")
    >>> assert_changes(made, since=1, inserted=0, updated=0)
    """
    found = dataset(table)
    keys = names_of(key)
    wanted = {"inserted": inserted, "updated": updated, "deleted": deleted}
    if any(not isinstance(value, int | None) for value in wanted.values()) and not keys:
        raise InvalidArgument("Rows are named by the values of a key: give the columns as key=")
    stable = found.snapshot.manifest.has_stable_row_ids
    feed = found.changes(since=since, mode="net", key=None if stable else keys or None)
    problems = []
    for name, kind in _KINDS.items():
        expected = wanted[name]
        if isinstance(expected, int):
            count = feed.count_rows(f"_change_type = '{kind}'")
            if count != expected:
                problems.append(f"{count} rows were {name}, expected {expected}")
        elif expected is not None:
            rows = feed.scan(keys, f"_change_type = '{kind}'").to_table()
            problems += _differences(name, _keys(rows), set(expected), keys)
    for column in names_of(unchanged_columns):
        problems += _changed_values(feed, column, keys)
    if problems:
        name = f"{found.uri} between version {since} and {found.version}"
        raise AssertionError("\n  ".join([f"The changes of {name} are not as expected:", *problems]))


def _keys(rows: pa.Table) -> set[Any]:
    columns = [column.to_pylist() for column in rows.columns]
    return set(columns[0]) if len(columns) == 1 else set(zip(*columns, strict=True))


def _differences(name: str, found: set[Any], expected: set[Any], key: Sequence[str]) -> list[str]:
    problems = []
    for keys, what in ((expected - found, f"not {name}"), (found - expected, f"{name}, but not expected to be")):
        if keys:
            shown = ", ".join(map(short, sorted(keys, key=repr)[:_MAX_SHOWN]))
            more = f" and {len(keys) - _MAX_SHOWN} more" if len(keys) > _MAX_SHOWN else ""
            problems.append(f"{what}: {', '.join(key)} {shown}{more}")
    return problems


def _changed_values(feed: Any, column: str, key: Sequence[str]) -> list[str]:
    """What is wrong where the two images of an updated row differ in a column."""
    shown = [name for name in key if name != column]
    before, after = (
        feed.scan(["_rowid", column, *shown], f"_change_type = 'update_{image}'").to_table()
        for image in ("preimage", "postimage")
    )
    earlier = dict(zip(before["_rowid"].to_pylist(), before[column].to_pylist(), strict=True))
    problems = []
    for row in after.to_pylist():
        was, now = earlier.get(row["_rowid"]), row[column]
        if was != now and not (was != was and now != now):
            name = ", ".join(f"{each}={short(row[each])}" for each in shown) or f"_rowid={row['_rowid']}"
            had, has = side_by_side(was, now)
            problems.append(f"{column} changed: {name} had {had}, has {has}")
    if len(problems) > _MAX_SHOWN:
        problems[_MAX_SHOWN:] = [f"{column} changed in {len(problems) - _MAX_SHOWN} more rows"]
    return problems
