"""What holds for every row of a table, whatever a job did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Final

import pyarrow.compute as pc

from lance_sql.changes.bounds import last
from lance_sql.changes.history import History
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.scan.system_columns import CREATED_AT, ROW_ID
from lance_sql.testing.report import short
from lance_sql.testing.tables import TableLike, dataset, names_of

_MAX_SHOWN: Final = 5


def assert_invariants(
    table: TableLike,
    *,
    unique: str | Sequence[str] | Iterable[Sequence[str]] = (),
    not_null: str | Iterable[str] = (),
    foreign_keys: Mapping[str, tuple[TableLike, str]] | None = None,
    holds: str | Iterable[str] = (),
    lineage_since: int | str | datetime | date | None = None,
) -> None:
    """Fails unless every row of a table keeps these rules; all that are broken are named.

    table: a Lance table by path or as a `Dataset`
    unique: a key: a column, or several that are unique together; or several such keys, each as a tuple or list
    not_null: columns without NULLs
    foreign_keys: columns whose values, unless NULL, are in a column of another Lance table: (table, column)
    holds: conditions in SQL that no row breaks; one that is NULL is not broken
    lineage_since: a version, tag or time: rows that have been there since have the same `_row_created_at_version`
    raises: AssertionError

    >>> assert_invariants(orders, unique="id", not_null=["id", "status"], holds="amount >= 0 OR amount IS NULL")
    """
    found = dataset(table)
    problems = []
    for key in _keys(unique):
        problems += _repeated(found, key)
    for column in names_of(not_null):
        count = found.count_rows(f"{_quoted(column)} IS NULL")
        if count:
            problems.append(f"{column}: {count} rows are NULL")
    for column, (other, name) in (foreign_keys or {}).items():
        problems += _dangling(found, column, dataset(other), name)
    for condition in names_of(holds):
        count = found.count_rows(f"NOT ({condition})")
        if count:
            example = found.scan(filter=f"NOT ({condition})", limit=1).to_table().to_pylist()[0]
            shown = ", ".join(f"{name}={short(value)}" for name, value in example.items())
            problems.append(f"{condition}: {count} rows break it, such as {shown}")
    if lineage_since is not None:
        problems += _lost_lineage(found, lineage_since)
    if problems:
        raise AssertionError("\n  ".join([f"{found.uri} version {found.version} breaks rules:", *problems]))


def _keys(unique: str | Sequence[str] | Iterable[Sequence[str]]) -> list[list[str]]:
    if isinstance(unique, str):
        return [[unique]]
    given = list(unique)
    if given and all(isinstance(each, str) for each in given):
        return [[str(each) for each in given]]
    return [list(each) for each in given]


def _quoted(column: str) -> str:
    """A column's name in SQL."""
    return '"' + column.replace('"', '""') + '"'


def _repeated(table: Dataset, key: list[str]) -> list[str]:
    rows = table.scan(key).to_table()
    counted = rows.group_by(key).aggregate([([], "count_all")])
    repeated = counted.filter(pc.field("count_all") > 1)
    if not repeated.num_rows:
        return []
    shown = "; ".join(
        ", ".join(f"{name}={short(row[name])}" for name in key) + f" {row['count_all']} times"
        for row in repeated.slice(0, _MAX_SHOWN).to_pylist()
    )
    return [f"({', '.join(key)}) is not unique: {repeated.num_rows} values are repeated: {shown}"]


def _dangling(table: Dataset, column: str, other: Dataset, name: str) -> list[str]:
    values = table.scan([column]).to_table()[column].unique().drop_null()
    known = other.scan([name]).to_table()[name]
    left = values.filter(pc.invert(pc.is_in(values, value_set=known.cast(values.type).combine_chunks())))
    if not len(left):
        return []
    shown = ", ".join(map(short, left.slice(0, _MAX_SHOWN).to_pylist()))
    return [f"{column}: {len(left)} values are not in {name} of {other.uri}: {shown}"]


def _lost_lineage(table: Dataset, since: int | str | datetime | date) -> list[str]:
    if CREATED_AT not in table.system_columns:
        raise InvalidArgument(f"{table.uri} was created without stable row ids, so there is no lineage to be kept")
    history = History(table.snapshot)
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
