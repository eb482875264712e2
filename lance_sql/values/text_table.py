"""Rows as a table of text: aligned columns, between lines if they fit a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TextIO, TypeVar

import pyarrow as pa

from lance_sql.runtime.terminal_text import cut, one_line, width_of
from lance_sql.values import kinds
from lance_sql.values.value_text import text, values

_LEAST: Final = 8
"""Minimum width of a column; columns that do not fit_columns are left out."""

_AROUND: Final = 3
"""Characters of lines and padding around the text of a column."""


def fit_columns(widths: Sequence[int], room: int) -> tuple[list[int], list[int]]:
    """Chooses the columns to show, and their widths.

    widths: the full widths of the columns; room: characters of a line
    returns: numbers of columns, ascending: all, or as many from both ends as fit_columns; and their widths
    """
    # empty columns take one character
    widths = [max(width, 1) for width in widths]
    shown = list(range(len(widths)))
    while True:
        # one more column marks the columns left out
        gap = 0 if len(shown) == len(widths) else _AROUND + 1
        left = room - 1 - gap - _AROUND * len(shown)
        if sum(min(widths[column], _LEAST) for column in shown) <= left or len(shown) == 1:
            return shown, _shares([widths[column] for column in shown], max(left, 1))
        shown.pop(len(shown) // 2)


def _shares(widths: Sequence[int], left: int) -> list[int]:
    """Gives narrow columns their full width, and shares the rest among the wide ones."""
    shares = [0] * len(widths)
    columns = sorted(range(len(widths)), key=lambda column: widths[column])
    for num_done, column in enumerate(columns):
        share = left // (len(columns) - num_done)
        shares[column] = max(min(widths[column], share), 1)
        left -= shares[column]
    return shares


# Wider texts are cut in tables with lines only.
_MAX_WIDTH = 80
_MAX_TYPE = 24
_MOST_COUNTED: Final = 1_000_000

T = TypeVar("T")


def widths(rows: pa.Table) -> list[int]:
    """Returns the width of each column in a table without lines."""
    shown = (["NULL" if value is None else text(value) for value in row] for row in rows_of(rows.to_reader()))
    every = [rows.column_names, *shown]
    return [max(width_of(_cell(row[index], None)) for row in every) for index in range(rows.num_columns)]


def write_table(
    reader: pa.RecordBatchReader, stream: TextIO, *, boxes: bool, width: int | None, max_rows: int | None, types: bool
) -> None:
    """Writes aligned columns, with numbers to the right; holds all shown rows in memory to compute the widths.

    boxes: draw lines around the cells
    width: characters of a line, which tables with lines are fitted to
    max_rows: the maximum number of rows, the first and the last ones; those left out are counted
    types: show the types of columns below their names, in a table with lines
    """
    limit = _MAX_WIDTH if boxes else None
    names = [_cell(name, limit) for name in reader.schema.names]
    right = [kinds.is_number(field.type) for field in reader.schema]
    excerpt = _excerpt(reader, max_rows)
    rows = [["NULL" if value is None else _cell(text(value), limit) for value in row] for row in excerpt.rows]
    widths = [max(width_of(row[index]) for row in [names, *rows]) for index in range(len(names))]
    if not boxes:
        for number, row in enumerate([names, ["-" * width for width in widths], *rows]):
            if number == excerpt.first + 2 and number < len(rows) + 2:
                stream.write(f"... {excerpt.left_out:,} more rows\n")
            stream.write("  ".join(_padded(row, widths, right)).rstrip() + "\n")
        if excerpt.left_out and excerpt.first == len(rows):
            stream.write(f"... {excerpt.left_out:,} more rows\n")
        return
    heads = [names]
    if types:
        # long types are cut instead of widening a column
        heads.append([_cell(str(field.type), _MAX_TYPE) for field in reader.schema])
        widths = [max(width, width_of(type)) for width, type in zip(widths, heads[1], strict=True)]
    columns_left_out = 0
    if width is not None and widths:
        shown, widths = fit_columns(widths, width)
        columns_left_out = len(names) - len(shown)
        gap = len(shown) - len(shown) // 2 if columns_left_out else None
        right = _chosen(right, shown, gap, False)
        widths = [*widths[:gap], 1, *widths[gap:]] if gap is not None else widths
        heads, rows = ([_fitted(_chosen(row, shown, gap, "…"), widths) for row in part] for part in (heads, rows))
    lines = ["─" * (width + 2) for width in widths]
    stream.write(f"┌{'┬'.join(lines)}┐\n")
    for head in heads:
        _write_boxed(stream, _padded(head, widths, right))
    stream.write(f"├{'┼'.join(lines)}┤\n")
    for number, row in enumerate(rows):
        if number == excerpt.first:
            _write_boxed(stream, _padded(["·" for _ in widths], widths, right))
        _write_boxed(stream, _padded(row, widths, right))
    stream.write(f"└{'┴'.join(lines)}┘\n")
    total = len(rows) + excerpt.left_out
    count = f"{total:,} {'row' if total == 1 else 'rows'}" if excerpt.is_exact else f"More than {total:,} rows"
    notes = [f"{len(rows):,} shown"] if excerpt.left_out else []
    notes += [f"{columns_left_out} of {len(reader.schema)} columns left out"] if columns_left_out else []
    stream.write(count + (f" ({', '.join(notes)})" if notes else "") + "\n")


@dataclass(frozen=True, slots=True)
class _Excerpt:
    """Rows to show.

    first: the number of first rows; the others are the last ones
    left_out: the number of rows between, or after
    is_exact: whether all rows were counted
    """

    rows: list[tuple[Any, ...]]
    first: int
    left_out: int
    is_exact: bool


def _excerpt(reader: pa.RecordBatchReader, most: int | None) -> _Excerpt:
    """Returns the first rows and the last ones; only the first if counting takes too long."""
    rows: list[tuple[Any, ...]] = []
    last: list[pa.RecordBatch] = []
    at_end = (most or 0) // 4
    more = 0
    for batch in reader:
        room = batch.num_rows if most is None else min(most - len(rows), batch.num_rows)
        rows += _values_of(batch.slice(0, room))
        more += batch.num_rows - room
        if room < batch.num_rows:
            last.append(batch.slice(max(room, batch.num_rows - at_end)))
            while len(last) > 1 and sum(each.num_rows for each in last[1:]) >= at_end:
                del last[0]
        if more >= _MOST_COUNTED:
            reader.close()
            return _Excerpt(rows, len(rows), more, False)
    if not more:
        return _Excerpt(rows, len(rows), 0, True)
    end = [row for each in last for row in _values_of(each)][-at_end:] if at_end else []
    first = len(rows) - len(end)
    return _Excerpt([*rows[:first], *end], first, more, True)


def _chosen(cells: Sequence[T], shown: Sequence[int], gap: int | None, between: T) -> list[T]:
    """Returns the cells of some columns, with a placeholder for the others."""
    chosen = [cells[column] for column in shown]
    return chosen if gap is None else [*chosen[:gap], between, *chosen[gap:]]


def _fitted(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cut(cell, width) for cell, width in zip(cells, widths, strict=True)]


def _write_boxed(stream: TextIO, cells: list[str]) -> None:
    stream.write(f"│ {' │ '.join(cells)} │\n")


def rows_of(reader: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    for batch in reader:
        yield from _values_of(batch)


def _values_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    yield from zip(*(values(column) for column in batch.columns), strict=True)


def _cell(value: str, limit: int | None) -> str:
    """Returns a cell as one line: control characters are shown, texts longer than `limit` are cut."""
    shown = one_line(value)
    return shown if limit is None or len(shown) <= limit else shown[: limit - 1] + "…"


def _padded(cells: list[str], widths: list[int], right: list[bool]) -> list[str]:
    padded = []
    for cell, width, to_right in zip(cells, widths, right, strict=True):
        space = " " * (width - width_of(cell))
        padded.append(space + cell if to_right else cell + space)
    return padded
