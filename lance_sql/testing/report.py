"""Report of a failed comparison: the first differences side by side, by key, with the commit that wrote the row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import islice, takewhile
from typing import Any

import click
import pyarrow as pa

from lance_sql.health.differences.differing_rows import DifferingPair, FirstRows, RowDifferences
from lance_sql.testing import settings
from lance_sql.testing.python_values import python_values
from lance_sql.testing.tables import POSITION, AssertedRows

_MAX_LENGTH = 60


@dataclass(frozen=True)
class DifferenceReport:
    """Text report about two tables.

    max_errors: the maximum number of rows shown
    """

    actual: AssertedRows
    expected: AssertedRows
    max_errors: int

    def of_columns(self, problems: Sequence[str]) -> str:
        """Reports columns that are missing, not expected, or of another type."""
        return "\n".join([f"The columns of {self.actual.name} differ:", *(f"  {problem}" for problem in problems)])

    def of_rows(self, differences: RowDifferences, key: Sequence[str]) -> str:
        """Reports rows that differ, are missing, or are not expected."""
        total = max(self.actual.num_rows, self.expected.num_rows)
        columns = [name for name in self.expected.schema.names if name in differences.cells]
        where = f", in {', '.join(columns)}" if columns else ""
        lines = [f"{differences.num_rows} of {total} rows of {self.actual.name} differ{where}:"]
        left = self.max_errors
        for title, count, shown in (
            ("with other values", differences.num_updated, self._changed(differences.updated(), key)),
            ("missing", differences.num_deleted, self._rows(self.expected, differences.deleted, "-", "red")),
            ("not expected", differences.num_inserted, self._rows(self.actual, differences.inserted, "+", "green")),
        ):
            if not count:
                continue
            lines.append(f"  {count} {title}")
            for row in islice(shown, max(left, 0)):
                lines += row
            if count > left:
                lines.append(f"    ... {count - max(left, 0)} more (max_errors={self.max_errors})")
            left -= count
        return "\n".join(lines)

    def _changed(self, pairs: Iterable[DifferingPair], key: Sequence[str]) -> Iterator[list[str]]:
        for pair in pairs:
            expected, actual = pair.before, pair.after
            shown = ", ".join(f"{name}={short(_cell(expected, name))}" for name in key)
            lines = [f"    {shown or f'row {expected[POSITION][0]}'}{self._origin(self.actual, actual)}"]
            width = max(map(len, pair.columns))
            values = [(name, *side_by_side(_cell(actual, name), _cell(expected, name))) for name in pair.columns]
            longest = max(len(value) for _, value, _ in values)
            for name, value, wanted in values:
                lines.append(
                    f"      {name:<{width}}  {self._style(f'{value:<{longest}}', 'green')}"
                    f"  expected {self._style(wanted, 'red')}"
                )
            yield lines

    def _rows(self, source: AssertedRows, first: FirstRows, sign: str, colour: str) -> Iterator[list[str]]:
        rows = first.table()
        for row in (rows.slice(number, 1) for number in range(rows.num_rows)):
            values = ", ".join(f"{name}={short(_cell(row, name))}" for name in self.expected.schema.names)
            yield [f"    {self._style(f'{sign} {values}', colour)}{self._origin(source, row)}"]

    def _origin(self, rows: AssertedRows, row: pa.Table) -> str:
        origin = rows.origin(row)
        return f"   ({origin})" if origin else ""

    def _style(self, text: str, colour: str) -> str:
        return click.style(text, fg=colour) if settings.in_colour else text


def short(value: Any) -> str:
    """Returns a value for a message, cut if it is long."""
    return _cut(_text(value), 0)


def side_by_side(one: Any, other: Any) -> tuple[str, str]:
    """Returns two values for a message; long ones are cut to the part where they begin to differ."""
    texts = _text(one), _text(other)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = max(same - _MAX_LENGTH // 2, 0) if max(map(len, texts)) > _MAX_LENGTH else 0
    return _cut(texts[0], start), _cut(texts[1], start)


def _cell(row: pa.Table, name: str) -> Any:
    """Returns a Python value; a time that Python cannot hold as text."""
    (value,) = python_values(row[name])
    return _Plain(value) if isinstance(value, str) and pa.types.is_temporal(row[name].type) else value


class _Plain(str):
    """Text that is shown without quotes."""


def _cut(text: str, start: int) -> str:
    shown = f"...{text[start:]}" if start else text
    return shown if len(shown) <= _MAX_LENGTH else f"{shown[: _MAX_LENGTH - 3]}..."


def _text(value: Any) -> str:
    """Formats a value as in SQL: texts are quoted, so that spaces and types are visible."""
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, _Plain | Decimal | date | time | timedelta) else repr(value)
