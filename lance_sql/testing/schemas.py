"""Assertion about the columns of a table, without reading its rows."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.health.differences import open_table
from lance_sql.testing.tables import TableLike, rows
from lance_sql.values.keywords import suggests_keywords


@suggests_keywords
def assert_schema(
    table: TableLike,
    expected: pa.Schema | Mapping[str, pa.DataType | str],
    *,
    check_nullable: bool = False,
    ignore_column_order: bool = False,
    allow_others: bool = False,
) -> None:
    """Fails unless a table has these columns, of these types.

    table: as for `assert_table_equal`; no row of a Lance table is read
    expected: Arrow types by column, or their text as Arrow prints it: "int64", "decimal128(10, 2)"
    check_nullable: also compare the nullability of columns, for an Arrow schema
    allow_others: the table may have more columns
    raises: AssertionError, which names every wrong column

    >>> assert_schema("examples/orders.lance", {"id": "int64", "amount": "decimal128(10, 2)"}, allow_others=True)
    """
    __tracebackhide__ = True
    if isinstance(table, (str, os.PathLike, Dataset)):
        opened = open_table(table)
        actual, label = opened.schema, opened.snapshot.label
    else:
        actual, label = rows(table, "actual").schema, "The table"
    wanted = {field.name: field.type for field in expected} if isinstance(expected, pa.Schema) else dict(expected)
    problems = [f"{name}: missing, expected {type}" for name, type in wanted.items() if name not in actual.names]
    if not allow_others:
        problems += [f"{name}: not expected, {actual.field(name).type}" for name in actual.names if name not in wanted]
    for name, type in wanted.items():
        if name not in actual.names:
            continue
        field = actual.field(name)
        if (str(field.type) if isinstance(type, str) else field.type) != type:
            problems.append(f"{name}: {field.type}, expected {type}")
        elif check_nullable and isinstance(expected, pa.Schema) and expected.field(name).nullable != field.nullable:
            problems.append(
                f"{name}: {'may be' if field.nullable else 'may not be'} NULL, expected the other way round"
            )
    order = [name for name in actual.names if name in wanted]
    if not problems and not ignore_column_order and order != list(wanted):
        problems.append(f"in the order {', '.join(order)}, expected {', '.join(wanted)}")
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise AssertionError(f"{label} has other columns:{lines}")
