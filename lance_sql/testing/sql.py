"""Assertion about the result of a query."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lance_sql.errors import InvalidArgument, missing_package
from lance_sql.health.differences import open_table
from lance_sql.testing.equality import assert_table_equal
from lance_sql.testing.python_values import python_values, same_in_python
from lance_sql.testing.report import short
from lance_sql.testing.tables import TableLike
from lance_sql.values.keywords import suggests_keywords

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_SHOWN = 10


@suggests_keywords
def assert_sql(tables: TableLike | Mapping[str, TableLike], sql: str, expected: Any, **options: Any) -> None:
    """Fails unless a query returns these rows.

    tables: a Lance table, named in the query like its file without the suffix, or several by name
    sql: a query in DuckDB
    expected: a list of tuples, in the query's order; or rows, as for `assert_table_equal`, in any order. In tuples, 1
        is neither True nor 1.0, a decimal (which sums of integers are) is any number of its value, NaN is equal to NaN
    options: of `assert_table_equal`, if `expected` is not a list of tuples
    raises: AssertionError; InvalidArgument for a row that is no tuple, and for options with tuples; MissingDependency
        without DuckDB

    >>> assert_sql(orders, "SELECT count(*) FROM orders WHERE amount < 0", [(0,)])
    """
    __tracebackhide__ = True
    result = query(tables, sql)
    if not isinstance(expected, list) or any(isinstance(row, Mapping) for row in expected):
        assert_table_equal(result, expected, **options)
        return
    # an unknown keyword is a TypeError here, too
    inspect.signature(assert_table_equal).bind(result, expected, **options)
    if options:
        raise InvalidArgument(f"{next(iter(options))}= compares rows by column: pass dicts, not tuples")
    # columns of a query may have equal names
    rows = list(zip(*map(python_values, result.columns), strict=True))
    wanted = [_row(row) for row in expected]
    if len(rows) != len(wanted) or not all(map(same_in_python, rows, wanted)):
        lines = ["The query gives other rows than expected:", f"  {sql.strip()}"]
        for number, (ours, theirs) in enumerate(zip(_padded(rows, wanted), _padded(wanted, rows), strict=True)):
            if not same_in_python(ours, theirs):
                lines.append(f"  row {number}: {_shown(ours)}, expected {_shown(theirs)}{_of_types(ours, theirs)}")
        raise AssertionError("\n".join(lines[: _MAX_SHOWN + 2]))


def _row(row: Any) -> tuple[Any, ...]:
    if isinstance(row, list | tuple):
        return tuple(row)
    raise InvalidArgument(f"A row must be a tuple, such as ({short(row)},), not {short(row)}")


def query(tables: TableLike | Mapping[str, TableLike], sql: str) -> pa.Table:
    """Returns the rows of a query over Lance tables."""
    try:
        from lance_sql.providers.duckdb.registration import connect, register_table
    except ImportError as error:
        raise missing_package("Queries need DuckDB", "duckdb") from error
    named = tables if isinstance(tables, Mapping) else {_name(tables): tables}
    with connect() as connection:
        for name, table in named.items():
            register_table(connection, name, open_table(table))
        return connection.sql(sql).to_arrow_table()


def _name(table: TableLike) -> str:
    return PurePath(open_table(table).uri.rstrip("/")).name.removesuffix(".lance")


def _padded(rows: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    return [*rows, *[None] * (len(other) - len(rows))]


def _of_types(ours: Any, theirs: Any) -> str:
    """Names the values that have another type than the equal expected one; empty if other values differ too."""
    if ours is None or theirs is None or len(ours) != len(theirs):
        return ""
    differing = [number for number in range(len(ours)) if not same_in_python(ours[number], theirs[number])]
    pairs = [(number, ours[number], theirs[number]) for number in differing]
    if not all(_is_equal(one, other) and type(one) is not type(other) for _, one, other in pairs):
        return ""
    named = [f"value {n + 1} is {type(one).__name__}, expected {type(other).__name__}" for n, one, other in pairs]
    return f": the types differ ({'; '.join(named)}); write {short(pairs[0][1])}, or CAST it in the query"


def _is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


def _shown(row: Any) -> str:
    return "no row" if row is None else f"({', '.join(map(short, row))})"
