"""Error of a failed comparison, with the differences as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from lance_sql.testing.comparison import Comparison
from lance_sql.testing.tables import POSITION
from lance_sql.values.frames import Frames
from lance_sql.values.selection import whole
from lance_sql.values.value_text import text, values

_SCHEMA: Final = pa.schema(
    [
        pa.field("what", pa.string(), nullable=False),
        pa.field("column", pa.string(), nullable=False),
        pa.field("actual", pa.string()),
        pa.field("expected", pa.string()),
        pa.field("actual_row", pa.int64()),
        pa.field("expected_row", pa.int64()),
    ]
)


class TableDifferenceError(AssertionError, Frames):
    """Error for two tables with different rows. Its text contains the first differences, its rows contain all.

    >>> from lance_sql.testing import assert_table_equal
    >>> try:
    ...     assert_table_equal({"id": [1, 2], "v": [5, 6]}, {"id": [1, 3], "v": [7, 6]}, key="id")
    ... except TableDifferenceError as error:
    ...     error.to_table().select(["what", "id", "column", "actual", "expected"]).to_pylist()[0]
    {'what': 'changed', 'id': 1, 'column': 'v', 'actual': '5', 'expected': '7'}
    """

    def __init__(self, message: str, comparison: Comparison) -> None:
        super().__init__(message)
        self._comparison = comparison

    def to_table(self) -> pa.Table:
        """Compares again, and returns a row for each cell that differs, and for each cell of a row that only one table
        has.

        returns: `what` ("changed", "missing" or "unexpected"), the columns of the key, `column`, `actual` and
            `expected` as texts, NULL where there is none, and `actual_row` and `expected_row`, the positions in both
        """
        schema, key = self._comparison.expected.schema, list(self._comparison.key)
        cells, rows = [], []
        for row, of_row in self._rows():
            cells += of_row
            rows += [row.select(key)] * len(of_row)
        columns = list(zip(*cells, strict=True)) if cells else [()] * len(_SCHEMA)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
        keys = pa.concat_tables(
            [pa.schema([schema.field(name).with_nullable(True) for name in key]).empty_table(), *rows]
        )
        fields = [pa.field(name, keys.schema.field(name).type) for name in key]
        return pa.table(
            [arrays[0], *keys.columns, *arrays[1:]], schema=pa.schema([_SCHEMA.field(0), *fields, *list(_SCHEMA)[1:]])
        )

    def _rows(self) -> Iterator[tuple[pa.Table, list[tuple[Any, ...]]]]:
        """Yields rows that differ, each as a table with its key, with its cells."""
        num_rows = max(self._comparison.expected.num_rows, self._comparison.actual.num_rows)
        differences = self._comparison.differences(num_rows)
        for pair in differences.updated():
            expected, actual = pair.before, pair.after
            yield (
                expected,
                [
                    (
                        "changed",
                        name,
                        _cell(actual, name),
                        _cell(expected, name),
                        _position(actual),
                        _position(expected),
                    )
                    for name in pair.columns
                ],
            )
        names = self._comparison.expected.schema.names
        for row in _single(differences.deleted.table()):
            yield row, [("missing", name, None, _cell(row, name), None, _position(row)) for name in names]
        for row in _single(differences.inserted.table()):
            yield row, [("unexpected", name, _cell(row, name), None, _position(row), None) for name in names]


def _single(rows: pa.Table) -> Iterator[pa.Table]:
    return (rows.slice(number, 1) for number in range(rows.num_rows))


def _position(row: pa.Table) -> int:
    return int(row[POSITION][0].as_py())


def _cell(row: pa.Table, name: str) -> str | None:
    (value,) = values(whole(row[name]))
    return None if value is None else text(value)
