"""Whether two tables are equal, and a readable answer where they are not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.testing import comparison
from lance_sql.testing.comparison import Tolerance
from lance_sql.testing.report import Report
from lance_sql.testing.tables import Rows, TableLike, names_of, rows


def assert_table_equal(
    actual: TableLike,
    expected: TableLike,
    *,
    key: str | Sequence[str] | None = None,
    check_row_order: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    ignore_columns: str | Iterable[str] = (),
    ignore_column_order: bool = False,
    max_errors: int = 10,
) -> None:
    """Fails unless two tables have the same columns and rows, in any order of the rows unless `check_row_order`.

    actual, expected: each a Lance table by path or as a `Dataset`, or rows in any form that `lance_sql.write` takes
    key: columns that tell rows apart: rows of equal keys are compared column by column
    rtol, atol: how far floats may be apart, as in NumPy; NaN is equal to NaN
    ignore_columns: columns of either table that do not count
    max_errors: so many rows are shown
    raises: AssertionError; InvalidArgument for a key that is not unique, or that is not a column of both tables

    >>> assert_table_equal({"id": [1, 2]}, [{"id": 2}, {"id": 1}])
    """
    ignored = names_of(ignore_columns)
    ours, wanted = rows(actual, "actual", ignored), rows(expected, "expected", ignored)
    problems = _column_problems(ours.table.schema, wanted.table.schema, ignore_column_order=ignore_column_order)
    if problems:
        raise AssertionError(Report(ours, wanted, max_errors).of_columns(problems))
    keys = names_of(key)
    unknown = [name for name in keys if name not in wanted.table.column_names]
    if unknown:
        raise InvalidArgument(f"The key {', '.join(map(repr, unknown))} is not a column of both tables")
    ours = _in_order_of(ours, wanted)
    tolerance = Tolerance(rtol, atol)
    if keys:
        found = comparison.by_key(ours.table, wanted.table, keys, tolerance)
    elif check_row_order:
        found = comparison.by_position(ours.table, wanted.table, tolerance)
    else:
        found = comparison.as_sets(ours.table, wanted.table, tolerance)
    if found:
        raise AssertionError(Report(ours, wanted, max_errors).of_rows(found, keys))


def _column_problems(actual: pa.Schema, expected: pa.Schema, *, ignore_column_order: bool) -> list[str]:
    problems = [f"{name}: missing" for name in expected.names if name not in actual.names]
    problems += [f"{name}: not expected" for name in actual.names if name not in expected.names]
    for field in expected:
        if field.name in actual.names and not actual.field(field.name).type.equals(field.type):
            problems.append(f"{field.name}: {actual.field(field.name).type}, expected {field.type}")
    if not problems and not ignore_column_order and actual.names != expected.names:
        problems.append(f"in the order {', '.join(actual.names)}, expected {', '.join(expected.names)}")
    return problems


def _in_order_of(actual: Rows, expected: Rows) -> Rows:
    table = actual.table.select(expected.table.column_names)
    return Rows(actual.name, table, actual.dataset, actual.versions)
