"""Assertions about the changes of a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from lance_sql.changes.feed import ChangeFeed
from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.python_values import array
from lance_sql.format.schema.extensions import with_extensions
from lance_sql.format.schema.primary_key import primary_key
from lance_sql.health.differences import open_table
from lance_sql.health.differences.column_rule import ColumnRule
from lance_sql.health.differences.compared_columns import SharedColumns
from lance_sql.health.differences.differing_rows import RowDifferences, adapted
from lance_sql.health.differences.pairing import UniqueKey, pair
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.testing.python_values import python_values
from lance_sql.testing.report import short, side_by_side
from lance_sql.testing.tables import TableLike, names_of
from lance_sql.values import keys as keys_rule
from lance_sql.values.arrays import BoolMask
from lance_sql.values.keywords import suggests_keywords

_KINDS = {"inserted": "insert", "updated": "update_postimage", "deleted": "delete"}
_MAX_SHOWN = 10


@suggests_keywords
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
    source = open_table(table)
    keys = names_of(key) or list(primary_key(source.snapshot.manifest.schema))
    for name in keys:
        if name in source.schema.names:
            is_json = source.snapshot.manifest.schema.is_json(name)
            keys_rule.check(name, source.schema.field(name).type, is_json=is_json)
    wanted = {"inserted": inserted, "updated": updated, "deleted": deleted}
    for name, value in wanted.items():
        wanted[name] = _wanted(name, value)
    if any(not isinstance(value, int | None) for value in wanted.values()) and not keys:
        raise InvalidArgument("Expected rows are keys, and the table has no primary key: pass key=")
    stable = source.snapshot.manifest.has_stable_row_ids
    feed = source.changes(since=since, mode="net", key=None if stable else keys or None)
    problems = []
    for name, kind in _KINDS.items():
        expected = wanted[name]
        if isinstance(expected, int):
            count = feed.count_rows(f"_change_type = '{kind}'")
            if count != expected:
                problems.append(f"{count} {'row was' if count == 1 else 'rows were'} {name}, expected {expected}")
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
    raise InvalidArgument(f"{name}={value!r} is not a number of rows or a list of keys")


def _differences(name: str, rows: pa.Table, expected: Collection[Any], key: Sequence[str]) -> list[str]:
    """Returns problems of the keys of inserted, updated or deleted rows; each key counts as often as it occurs."""
    named, of_no_row = _named_keys(expected, rows.schema, key)
    tables = (named, rows)
    numbers = keys_rule.numbered([keys_rule.columns_of(table) for table in tables], nulls_are_equal=True)
    size = max(int(each.max(initial=-1)) for each in numbers) + 1
    counts = [np.bincount(each, minlength=size) for each in numbers]
    problems = []
    for side, what in enumerate((f"not {name}", f"{name}, but not expected to be")):
        left = Counter(of_no_row if side == 0 else ())
        more, first = np.unique(numbers[side], return_index=True)
        for number, row in zip(more.tolist(), first.tolist(), strict=True):
            if counts[side][number] > counts[1 - side][number]:
                left[_shown(tables[side].slice(row, 1))] += int(counts[side][number] - counts[1 - side][number])
        if left:
            texts = sorted(text + (f" ({count} times)" if count > 1 else "") for text, count in left.items())
            rest = f" and {len(texts) - _MAX_SHOWN} more" if len(texts) > _MAX_SHOWN else ""
            problems.append(f"{what}: {', '.join(key)} {', '.join(texts[:_MAX_SHOWN])}{rest}")
    return problems


def _named_keys(expected: Collection[Any], schema: pa.Schema, key: Sequence[str]) -> tuple[pa.Table, list[str]]:
    """Converts the keys in a test to keys of rows. A value that its column cannot hold is the key of no row.

    returns: the keys of rows, and the texts of the others
    raises: InvalidArgument for keys of another number of columns
    """
    values = [(value,) if len(key) == 1 or not isinstance(value, (tuple, list)) else value for value in expected]
    if any(len(value) != len(key) for value in values):
        raise InvalidArgument(f"The key has {len(key)} columns ({', '.join(key)}): pass tuples of their values")
    columns = [_named_values(field, [value[i] for value in values]) for i, field in enumerate(schema)]
    is_held = np.logical_and.reduce([flags for _, flags in columns])
    table = pa.Table.from_arrays([array for array, _ in columns], list(key)).filter(pa.array(is_held))
    return table, [_text(value) for value, held in zip(values, is_held.tolist(), strict=True) if not held]


def _named_values(field: pa.Field, values: Sequence[Any]) -> tuple[pa.Array, BoolMask]:
    """Converts values to the type of a column; returns them with a mask of those that it can hold."""
    type = with_extensions(field).type
    try:
        return array(values, type, field.name), np.ones(len(values), np.bool_)
    except InvalidArgument:
        if len(values) == 1:
            return pa.nulls(1, type), np.zeros(1, np.bool_)
    arrays, flags = zip(*(_named_values(field, [value]) for value in values), strict=True)
    return pa.concat_arrays(arrays), np.concatenate(flags)


def _shown(row: pa.Table) -> str:
    return _text([python_values(column)[0] for column in row.columns])


def _text(key: Sequence[Any]) -> str:
    texts = list(map(short, key))
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _changed_values(feed: ChangeFeed, column: str, key: Sequence[str]) -> list[str]:
    """Returns problems of updated rows whose images differ in a column."""
    shown = [name for name in key if name != column]
    before, after = (
        adapted(feed.scan([ROW_ID, column, *shown], f"_change_type = 'update_{image}'").to_reader(), {})
        for image in ("preimage", "postimage")
    )
    shared = SharedColumns({column: column}, {}, ())
    differences = RowDifferences(shared, (), _MAX_SHOWN, {column: ColumnRule().same})
    differences.add(pair(before, after, UniqueKey([ROW_ID])), counts_rewritten=False)
    problems = []
    for each in differences.updated():
        name = ", ".join(f"{name}={short(_value(each.after, name))}" for name in shown or [ROW_ID])
        had, has = side_by_side(_value(each.before, column), _value(each.after, column))
        problems.append(f"{column} changed: {name} had {had}, has {has}")
    if differences.num_updated > _MAX_SHOWN:
        problems.append(f"{column} changed in {differences.num_updated - _MAX_SHOWN} more rows")
    return problems


def _value(row: pa.Table, column: str) -> Any:
    return python_values(row[column])[0]
