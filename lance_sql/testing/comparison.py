"""Comparison of the rows of two tables, which can be repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lance_sql.health.differences.column_rule import ColumnRule
from lance_sql.health.differences.compared_columns import SharedColumns
from lance_sql.health.differences.differing_rows import RowDifferences
from lance_sql.health.differences.matching import EqualRows, RuledKey
from lance_sql.health.differences.pairing import LeftOnly, Pair, Paired, RightOnly, pair
from lance_sql.runtime.progress import Work
from lance_sql.testing.tables import POSITION, AssertedRows
from lance_sql.values import keys, selection

_PAIRS_AT_ONCE: Final = 32 * 1024


@dataclass(frozen=True)
class Comparison:
    """Comparison of two tables with the same columns.

    rules: by column
    key: columns that identify rows; if empty, rows are compared in any order, as often as they occur
    in_order: without a key, compare rows at equal positions
    """

    expected: AssertedRows
    actual: AssertedRows
    rules: Mapping[str, ColumnRule]
    key: tuple[str, ...] = ()
    in_order: bool = False

    def differences(self, max_rows: int) -> RowDifferences:
        """Reads both tables. Missing rows count as deleted, unexpected ones as inserted.

        max_rows: the maximum number of missing, unexpected and updated rows in the result; all are counted
        raises: RepeatedKey when two rows of one table have the same key; InvalidArgument for a column that is no key
        """
        schema = self.expected.schema
        for name in self.key:
            is_json = name in self.expected.json or name in self.actual.json
            keys.check(name, schema.field(name).type, is_json=is_json)
        shared = SharedColumns(
            {name: name for name in schema.names}, dict(zip(schema.names, schema.types, strict=True)), ()
        )
        comparisons = {name: rule.same for name, rule in self.rules.items()}
        differences = RowDifferences(shared, self.key, max_rows, comparisons, POSITION)
        readers = self.expected.reader(), self.actual.reader()
        if self.in_order and not self.key:
            meetings = _in_order(*readers)
        else:
            by_key = RuledKey(self.key, ("the expected table", "the actual table"), self.rules)
            meetings = pair(*readers, by_key if self.key else EqualRows(self.rules))
        differences.add(meetings, counts_rewritten=False)
        return differences


def _in_order(before: pa.RecordBatchReader, after: pa.RecordBatchReader) -> Iterator[Pair]:
    """Yields all rows of both streams; rows at equal positions are pairs."""
    left = selection.empty(before.schema)
    for batch in Work(None).over(after):
        right = pa.Table.from_batches([batch], after.schema)
        while right.num_rows:
            if not left.num_rows:
                following = next(before, None)
                if following is None:
                    yield RightOnly(right)
                    break
                left = pa.Table.from_batches([following], before.schema)
            count = min(left.num_rows, right.num_rows, _PAIRS_AT_ONCE)
            if count:
                yield Paired(left.slice(0, count), right.slice(0, count))
            left, right = left.slice(count), right.slice(count)
    for rest in (left, *(pa.Table.from_batches([batch], before.schema) for batch in before)):
        if rest.num_rows:
            yield LeftOnly(rest)
