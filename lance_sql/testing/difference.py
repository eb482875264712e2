"""Error of a failed comparison, with the differences as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from lance_sql.testing.comparison import Differences
from lance_sql.values.frames import Frames
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

    def __init__(
        self, message: str, actual: pa.Table, expected: pa.Table, differences: Differences, key: Sequence[str]
    ) -> None:
        super().__init__(message)
        self._actual = actual
        self._expected = expected
        self._differences = differences
        self._key = list(key)

    def to_table(self) -> pa.Table:
        """Returns a row for each cell that differs, and for each cell of a row that only one table has.

        returns: `what` ("changed", "missing" or "unexpected"), the columns of the key, `column`, `actual` and
            `expected` as texts, NULL where there is none, and `actual_row` and `expected_row`, the positions in both
        """
        cells = list(self._cells())
        columns = list(zip(*cells, strict=True)) if cells else [()] * len(_SCHEMA)
        table = pa.table(
            [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)], _SCHEMA
        )
        mine, theirs = table["actual_row"], table["expected_row"]
        for name in self._key:
            # a row that only one table has is identified by its key in that table
            here, there = self._actual[name].take(mine), self._expected[name].take(theirs)
            key_values = pa.chunked_array([pa.array(map(_first, here.to_pylist(), there.to_pylist()), here.type)])
            table = table.add_column(table.column_names.index("column"), name, key_values)
        return table

    def _cells(self) -> Iterator[tuple[Any, ...]]:
        for mine, theirs, names in self._differences.changed:
            for name in names:
                yield (
                    "changed",
                    name,
                    _cell(self._actual, mine, name),
                    _cell(self._expected, theirs, name),
                    mine,
                    theirs,
                )
        for row in self._differences.missing:
            for name in self._expected.column_names:
                yield "missing", name, None, _cell(self._expected, row, name), None, row
        for row in self._differences.unexpected:
            for name in self._actual.column_names:
                yield "unexpected", name, _cell(self._actual, row, name), None, row, None


def _first(*given: Any) -> Any:
    return next((value for value in given if value is not None), None)


def _cell(table: pa.Table, row: int, name: str) -> str | None:
    (value,) = values(table[name].slice(row, 1).combine_chunks())
    return None if value is None else text(value)
