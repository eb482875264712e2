"""Report of a failed comparison: the first differences side by side, by key, with the commit that wrote the row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import islice, takewhile
from typing import Any

import click
import pyarrow as pa

from lance_sql.testing import settings
from lance_sql.testing.comparable import python_values
from lance_sql.testing.comparison import Differences
from lance_sql.testing.tables import Rows

_MAX_LENGTH = 60


@dataclass(frozen=True)
class Report:
    """Text report about two tables.

    max_errors: the maximum number of rows shown
    """

    actual: Rows
    expected: Rows
    max_errors: int

    def of_columns(self, problems: Sequence[str]) -> str:
        """Reports columns that are missing, not expected, or of another type."""
        return "\n".join([f"The columns of {self.actual.name} differ:", *(f"  {problem}" for problem in problems)])

    def of_rows(self, differences: Differences, key: Sequence[str]) -> str:
        """Reports rows that differ, are missing, or are not expected."""
        total = max(self.actual.table.num_rows, self.expected.table.num_rows)
        where = f", in {', '.join(differences.columns)}" if differences.columns else ""
        lines = [f"{differences.num_rows} of {total} rows of {self.actual.name} differ{where}:"]
        parts = (
            (f"{len(differences.changed)} with other values", self._changed(differences.changed, key)),
            (f"{len(differences.missing)} missing", self._rows(self.expected, differences.missing, "-", "red")),
            (
                f"{len(differences.unexpected)} not expected",
                self._rows(self.actual, differences.unexpected, "+", "green"),
            ),
        )
        left = self.max_errors
        for (title, shown), count in zip(
            parts, (len(differences.changed), len(differences.missing), len(differences.unexpected)), strict=True
        ):
            if not count:
                continue
            lines.append(f"  {title}")
            for row in islice(shown, max(left, 0)):
                lines += row
            if count > left:
                lines.append(f"    ... {count - max(left, 0)} more (max_errors={self.max_errors})")
            left -= count
        return "\n".join(lines)

    def _changed(self, pairs: Sequence[tuple[int, int, tuple[str, ...]]], key: Sequence[str]) -> Iterator[list[str]]:
        for mine, theirs, names in pairs:
            shown = ", ".join(f"{name}={self._value(self.expected, theirs, name)}" for name in key) or f"row {theirs}"
            origin = self.actual.origin(mine)
            lines = [f"    {shown}" + (f"   ({origin})" if origin else "")]
            width = max(map(len, names))
            values = [
                (name, *side_by_side(_cell(self.actual, mine, name), _cell(self.expected, theirs, name)))
                for name in names
            ]
            longest = max(len(value) for _, value, _ in values)
            for name, value, wanted in values:
                lines.append(
                    f"      {name:<{width}}  {self._style(f'{value:<{longest}}', 'green')}"
                    f"  expected {self._style(wanted, 'red')}"
                )
            yield lines

    def _rows(self, rows: Rows, positions: Sequence[int], sign: str, colour: str) -> Iterator[list[str]]:
        for position in positions:
            names = rows.table.column_names
            values = ", ".join(f"{name}={self._value(rows, position, name)}" for name in names)
            origin = rows.origin(position)
            yield [f"    {self._style(f'{sign} {values}', colour)}" + (f"   ({origin})" if origin else "")]

    def _value(self, rows: Rows, position: int, name: str) -> str:
        return short(_cell(rows, position, name))

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


def _cell(rows: Rows, row: int, name: str) -> Any:
    """Returns a Python value; a time that Python cannot hold as text."""
    column = rows.table[name].slice(row, 1)
    (value,) = python_values(column)
    return _Plain(value) if isinstance(value, str) and pa.types.is_temporal(column.type) else value


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
