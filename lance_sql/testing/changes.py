"""Assertions about the changes of a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql.changes.feed import ChangeFeed
from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.python_values import array
from lance_sql.format.schema.extensions import with_extensions
from lance_sql.format.schema.primary_key import primary_key
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.testing.comparable import comparable, hashable, python_values
from lance_sql.testing.comparison import equal_values
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
    """Fails unless the net changes of the commits after a version are exactly these. A row that was inserted and then
    updated counts as inserted.

    table: a Lance table by path or as a `Dataset`
    since: the version, tag or time after which the changes begin
    inserted, updated, deleted: the number of rows, or the `key` values of exactly these rows; tuples for a key with
        several columns, each as often as there are such rows. An omitted kind may have any number
    unchanged_columns: columns that must have the same value in every updated row as before
    key: columns that identify rows; by default the table's unenforced primary key. Tables without stable row ids are
        compared by it
    raises: AssertionError; as `Dataset.changes`

    >>> made = orders.delete("status = 'cancelled'")
    >>> assert_changes(made, since=1, inserted=0, updated=0)
    """
    __tracebackhide__ = True
    source = dataset(table)
    keys = names_of(key) or list(primary_key(source.snapshot.manifest.schema))
    wanted = {"inserted": inserted, "updated": updated, "deleted": deleted}
    for name, value in wanted.items():
        wanted[name] = _wanted(name, value)
    if any(not isinstance(value, int | None) for value in wanted.values()) and not keys:
        raise InvalidArgument("Rows are named by the values of a key: give the columns as key=")
    stable = source.snapshot.manifest.has_stable_row_ids
    feed = source.changes(since=since, mode="net", key=None if stable else keys or None)
    problems = []
    for name, kind in _KINDS.items():
        expected = wanted[name]
        if isinstance(expected, int):
            count = feed.count_rows(f"_change_type = '{kind}'")
            if count != expected:
                problems.append(f"{count} rows were {name}, expected {expected}")
        elif expected is not None:
            rows = feed.scan(keys, f"_change_type = '{kind}'").to_table()
            problems += _differences(name, rows, expected, keys)
    for column in names_of(unchanged_columns):
        if column in feed.range.replaced_columns:
            problems.append(f"{column} is another column: the one that had this name was dropped or renamed")
        else:
            problems += _changed_values(feed, column, keys)
    if problems:
        name = f"{source.uri} between version {since} and {source.version}"
        raise AssertionError("\n  ".join([f"The changes of {name} are not as expected:", *problems]))


def _wanted(name: str, value: Any) -> int | Collection[Any] | None:
    """Returns a number of rows, or keys.

    raises: InvalidArgument for anything else
    """
    if value is None:
        return None
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        items = value.tolist() if isinstance(value, np.ndarray) and value.dtype.kind not in "mM" else list(value)
        return [item.as_py() if isinstance(item, pa.Scalar) else item for item in items]
    raise InvalidArgument(f"{name} is a number of rows, or the keys of rows, not {value!r}")


def _differences(name: str, rows: pa.Table, expected: Collection[Any], key: Sequence[str]) -> list[str]:
    """Returns problems of the keys of inserted, updated or deleted rows; each key counts as often as it occurs."""
    actual, shown = _keys(rows)
    named, shown_names = _named_keys(expected, rows.schema, key)
    problems = []
    for more, less, what in ((named, actual, f"not {name}"), (actual, named, f"{name}, but not expected to be")):
        left = more - less
        if left:
            texts = sorted(
                (shown | shown_names)[each] + (f" ({count} times)" if count > 1 else "") for each, count in left.items()
            )
            rest = f" and {len(texts) - _MAX_SHOWN} more" if len(texts) > _MAX_SHOWN else ""
            problems.append(f"{what}: {', '.join(key)} {', '.join(texts[:_MAX_SHOWN])}{rest}")
    return problems


def _keys(rows: pa.Table) -> tuple[Counter[Hashable], dict[Hashable, str]]:
    """Counts the occurrences of each key; also returns its text."""
    return _counted([_parts(column) for column in rows.columns])


def _named_keys(
    expected: Collection[Any], schema: pa.Schema, key: Sequence[str]
) -> tuple[Counter[Hashable], dict[Hashable, str]]:
    """Converts the keys in a test to keys of rows. A value that its column cannot hold is the key of no row.

    raises: InvalidArgument for keys of another number of columns
    """
    values = [(value,) if len(key) == 1 or not isinstance(value, (tuple, list)) else value for value in expected]
    if any(len(value) != len(key) for value in values):
        raise InvalidArgument(f"A key has {len(key)} columns, {', '.join(key)}: give tuples of their values")
    return _counted([_named_parts(field, [value[i] for value in values]) for i, field in enumerate(schema)])


def _counted(columns: Sequence[Sequence[_Part]]) -> tuple[Counter[Hashable], dict[Hashable, str]]:
    keys, shown = list[Hashable](), dict[Hashable, str]()
    for parts in zip(*columns, strict=True):
        key = tuple(value for value, _ in parts)
        keys.append(key)
        texts = [text for _, text in parts]
        shown[key] = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
    return Counter(keys), shown


def _parts(column: pa.ChunkedArray) -> list[_Part]:
    values = map(hashable, comparable(column).to_pylist())
    return list(zip(values, map(short, python_values(column)), strict=True))


def _named_parts(field: pa.Field, values: Sequence[Any]) -> list[_Part]:
    type = with_extensions(field).type
    try:
        return _parts(pa.chunked_array([array(values, type, field.name)], type))
    except InvalidArgument:
        if len(values) == 1:
            text = short(values[0])
            return [((_NO_VALUE, text), text)]
    return [part for value in values for part in _named_parts(field, [value])]


_Part: TypeAlias = tuple[Hashable, str]
"""Value of a key in one column, and its text."""

_NO_VALUE = object()
"""Marker before the text of a value that the column cannot hold."""


def _changed_values(feed: ChangeFeed, column: str, key: Sequence[str]) -> list[str]:
    """Returns problems of updated rows whose images differ in a column."""
    shown = [name for name in key if name != column]
    before, after = (
        feed.scan([ROW_ID, column, *shown], f"_change_type = 'update_{image}'").to_table()
        for image in ("preimage", "postimage")
    )
    earlier = {row: position for position, row in enumerate(before[ROW_ID].to_pylist())}
    old, new = (comparable(images[column]).to_pylist() for images in (before, after))
    problems = []
    for position, row in enumerate(after[ROW_ID].to_pylist()):
        was = earlier.get(row)
        if was is not None and equal_values(new[position], old[was]):
            continue
        name = ", ".join(f"{each}={short(_value(after, position, each))}" for each in shown) or f"{ROW_ID}={row}"
        had, has = side_by_side(None if was is None else _value(before, was, column), _value(after, position, column))
        problems.append(f"{column} changed: {name} had {had}, has {has}")
    if len(problems) > _MAX_SHOWN:
        problems[_MAX_SHOWN:] = [f"{column} changed in {len(problems) - _MAX_SHOWN} more rows"]
    return problems


def _value(table: pa.Table, row: int, column: str) -> Any:
    return python_values(table[column].slice(row, 1))[0]
