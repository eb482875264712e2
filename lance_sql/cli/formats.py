"""Rows as text: tables for people, JSON, CSV and Markdown for other programs, Arrow for fast ones.

All but `table` are written batch by batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TextIO, TypeVar

import pyarrow as pa

from lance_sql.cli.fitting import fit
from lance_sql.runtime.terminal_text import cut, one_line, width_of
from lance_sql.values.value_text import as_json, text, values

# Wider texts are cut in tables with lines only.
_MAX_WIDTH = 80
_MAX_TYPE = 24
_MOST_COUNTED: Final = 1_000_000
# characters that JSON need not escape: controls, and marks that change the writing direction
_ESCAPED: Final = {
    code: f"\\u{code:04x}"
    for code in (*range(0x7F, 0xA0), 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_QUOTED_IN_CSV = frozenset('",\r\n')

T = TypeVar("T")


def write(
    reader: pa.RecordBatchReader,
    output: str,
    stream: TextIO,
    *,
    boxes: bool,
    width: int | None = None,
    max_rows: int | None = None,
    types: bool = False,
) -> None:
    """Writes all rows to a text stream, Arrow to the bytes below it.

    output: table, json, csv, markdown or arrow
    boxes: draw tables with lines
    width: characters of a line, which tables with lines are fitted to
    max_rows: the maximum number of rows of a table, the first and the last ones; those left out are counted
    types: show the types of columns below their names, in a table with lines
    """
    match output:
        case "json":
            _write_json(reader, stream)
        case "csv":
            write_csv(reader, stream)
        case "markdown":
            _write_markdown(reader, stream)
        case "arrow":
            _write_arrow(reader, stream)
        case _:
            _write_table(reader, stream, boxes=boxes, width=width, max_rows=max_rows, types=types)


def _write_json(reader: pa.RecordBatchReader, stream: TextIO) -> None:
    """Writes an array with one object per line."""
    separator = "["
    for line in json_lines(reader):
        stream.write(f"{separator}{line[:-1]}")
        separator = ",\n "
    stream.write("[]\n" if separator == "[" else "]\n")


def json_lines(reader: pa.RecordBatchReader) -> Iterator[str]:
    """Yields each row as an object in a line."""
    names = reader.schema.names
    for row in _rows(reader):
        yield json_line(dict(zip(names, map(as_json, row), strict=True)))


def json_line(value: Any) -> str:
    """Returns a value as one line, with terminal control characters escaped."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).translate(_ESCAPED) + "\n"


def write_csv(reader: pa.RecordBatchReader, stream: TextIO, *, with_header: bool = True) -> None:
    """Writes CSV, by default with a header; NULL is empty, and an empty text is quoted.

    The writers of Python and Arrow either quote every text or cannot distinguish the two.
    """
    if with_header:
        stream.write(",".join(map(_csv_field, reader.schema.names)) + "\n")
    for row in _rows(reader):
        stream.write(",".join("" if value is None else _csv_field(text(value)) for value in row) + "\n")


def _csv_field(value: str) -> str:
    if value and not _QUOTED_IN_CSV.intersection(value):
        return value
    return '"' + value.replace('"', '""') + '"'


def _write_markdown(reader: pa.RecordBatchReader, stream: TextIO) -> None:
    _write_cells(stream, reader.schema.names)
    _write_cells(stream, ["---:" if _is_number(field.type) else "---" for field in reader.schema])
    for row in _rows(reader):
        _write_cells(stream, ["" if value is None else text(value) for value in row])


def _write_cells(stream: TextIO, cells: list[str]) -> None:
    shown = [cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>") for cell in cells]
    stream.write(f"| {' | '.join(shown)} |\n")


def _write_arrow(reader: pa.RecordBatchReader, stream: TextIO) -> None:
    with pa.ipc.new_stream(stream.buffer, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def widths(rows: pa.Table) -> list[int]:
    """Returns the width of each column in a table without lines."""
    shown = (["NULL" if value is None else text(value) for value in row] for row in _rows(rows.to_reader()))
    every = [rows.column_names, *shown]
    return [max(width_of(_cell(row[index], None)) for row in every) for index in range(rows.num_columns)]


def _write_table(
    reader: pa.RecordBatchReader, stream: TextIO, *, boxes: bool, width: int | None, max_rows: int | None, types: bool
) -> None:
    """Writes aligned columns, with numbers to the right; holds all shown rows in memory to compute the widths."""
    limit = _MAX_WIDTH if boxes else None
    names = [_cell(name, limit) for name in reader.schema.names]
    right = [_is_number(field.type) for field in reader.schema]
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
        shown, widths = fit(widths, width)
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


def _rows(reader: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
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


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type))
