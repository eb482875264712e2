"""Invariants of every row of a table, whatever a job did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.changes.bounds import last
from lance_sql.changes.contracts.sense import missing
from lance_sql.changes.history import BranchHistory
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.health.differences import open_table
from lance_sql.reads.scan.system_columns import CREATED_AT, ROW_ID
from lance_sql.testing.python_values import python_values
from lance_sql.testing.report import short
from lance_sql.testing.tables import TableLike, names_of
from lance_sql.values import keys
from lance_sql.values.keywords import suggests_keywords
from lance_sql.values.sql_text import identifier

_MAX_SHOWN: Final = 5


@suggests_keywords
def assert_invariants(
    table: TableLike,
    *,
    unique: str | Sequence[str] | Iterable[Sequence[str]] = (),
    not_null: str | Iterable[str] = (),
    foreign_keys: Mapping[str, tuple[TableLike, str]] | None = None,
    holds: str | Iterable[str] = (),
    lineage_since: int | str | datetime | date | None = None,
) -> None:
    """Fails unless every row of a table satisfies these rules; reports all broken rules.

    table: a Lance table by path or as a `Dataset`
    unique: a key: a column, or several that are unique together; or several such keys, as tuples or lists
    not_null: columns without NULLs
    foreign_keys: columns whose values, unless NULL, are in a column of another Lance table: (table, column)
    holds: SQL conditions that no row breaks; NULL does not break a condition
    lineage_since: a version, tag or time: rows that existed then must have the same `_row_created_at_version` now
    raises: AssertionError

    >>> assert_invariants(orders, unique="id", not_null=["id", "status"], holds="amount >= 0 OR amount IS NULL")
    """
    __tracebackhide__ = True
    source = open_table(table)
    problems = []
    for key in _keys(unique):
        problems += _repeated(source, key)
    for column in names_of(not_null):
        count = source.count_rows(f"{identifier(column)} IS NULL")
        if count:
            problems.append(f"{column}: {_rows(count)} {'is' if count == 1 else 'are'} NULL")
    for column, (other, name) in (foreign_keys or {}).items():
        problems += _dangling(source, column, open_table(other), name)
    for condition in names_of(holds):
        count = source.count_rows(f"NOT ({condition}\n)")
        if count:
            example = source.scan(filter=f"NOT ({condition}\n)", limit=1).to_table().to_pylist()[0]
            shown = ", ".join(f"{name}={short(value)}" for name, value in example.items())
            problems.append(f"{condition}: {_rows(count)} {'breaks' if count == 1 else 'break'} it, such as {shown}")
    if lineage_since is not None:
        problems += _lost_lineage(source, lineage_since)
    if problems:
        raise AssertionError("\n  ".join([f"{source.uri} version {source.version} breaks rules:", *problems]))


def _keys(unique: str | Sequence[str] | Iterable[Sequence[str]]) -> list[list[str]]:
    if isinstance(unique, str):
        return [[unique]]
    given = list(unique)
    if given and all(isinstance(each, str) for each in given):
        return [[str(each) for each in given]]
    return [list(each) for each in given]


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _repeated(table: Dataset, key: list[str]) -> list[str]:
    rows = table.scan(key).to_table()
    for field in rows.schema:
        keys.check(field.name, field.type, is_json=table.snapshot.manifest.schema.is_json(field.name))
    numbers = keys.number(rows, nulls_are_equal=False)
    repeated = keys.repeated(numbers)
    if not len(repeated):
        return []
    counts = np.bincount(numbers)[numbers[repeated]]
    shown = "; ".join(
        ", ".join(f"{name}={short(python_values(rows[name].slice(row, 1))[0])}" for name in key) + f" {count} times"
        for row, count in zip(repeated[:_MAX_SHOWN].tolist(), counts.tolist(), strict=False)
    )
    values = "1 value is" if len(repeated) == 1 else f"{len(repeated)} values are"
    return [f"({', '.join(key)}) is not unique: {values} repeated: {shown}"]


def _dangling(table: Dataset, column: str, other: Dataset, name: str) -> list[str]:
    values, referenced = (each.scan([of]).to_table().column(0) for each, of in ((table, column), (other, name)))
    left = missing(values, f"foreign_keys: {column}", referenced, f"{name} of {other.uri}")
    if not len(left):
        return []
    shown = ", ".join(map(short, python_values(pa.chunked_array([left.slice(0, _MAX_SHOWN)]))))
    what = "1 value is" if len(left) == 1 else f"{len(left)} values are"
    return [f"{column}: {what} not in {name} of {other.uri}: {shown}"]


def _lost_lineage(table: Dataset, since: int | str | datetime | date) -> list[str]:
    if CREATED_AT not in table.system_columns:
        raise InvalidArgument(f"{table.uri} was created without stable row ids, so it has no lineage to check")
    history = BranchHistory(table.snapshot)
    before = Dataset(history.snapshot_at(last(history, since)))
    old, new = (each.scan([ROW_ID, CREATED_AT]).to_table() for each in (before, table))
    joined = old.join(new, keys=ROW_ID, join_type="inner", left_suffix="_before", right_suffix="_now")
    wrong = joined.filter(pc.field(f"{CREATED_AT}_before") != pc.field(f"{CREATED_AT}_now"))
    if not wrong.num_rows:
        return []
    row = wrong.slice(0, 1).to_pylist()[0]
    was, now = row[f"{CREATED_AT}_before"], row[f"{CREATED_AT}_now"]
    return [
        f"{CREATED_AT}: {wrong.num_rows} rows that were there in version {before.version} have another one in version "
        f"{table.version}, such as _rowid {row[ROW_ID]}: {was} became {now}"
    ]
