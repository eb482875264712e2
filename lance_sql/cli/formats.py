"""Rows as text: tables for people, JSON, CSV and Markdown for other programs, Arrow for fast ones.

All but `table` are written batch by batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, TextIO, TypeVar

import pyarrow as pa

from lance_sql.cli.fitting import fit
from lance_sql.terminal_text import cut, one_line, width_of
from lance_sql.value_text import as_json, text, values

# Wider texts are cut in tables with lines; all else has them whole.
_MAX_WIDTH = 80
_MOST_COUNTED: Final = 1_000_000
# of those that JSON need not escape: controls, and what turns the direction of writing
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
) -> None:
    """Writes all rows to a text stream, Arrow to the bytes below it.

    output: table, json, csv, markdown or arrow
    boxes: draw tables with lines
    width: characters of a line, which tables with lines are fitted to
    max_rows: at most so many rows of a table; those that are left out are counted
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
            _write_table(reader, stream, boxes=boxes, width=width, max_rows=max_rows)


def _write_json(reader: pa.RecordBatchReader, stream: TextIO) -> None:
    """An array with one object a line."""
    separator = "["
    for line in json_lines(reader):
        stream.write(f"{separator}{line[:-1]}")
        separator = ",\n "
    stream.write("[]\n" if separator == "[" else "]\n")


def json_lines(reader: pa.RecordBatchReader) -> Iterator[str]:
    """Each row as an object in a line."""
    names = reader.schema.names
    for row in _rows(reader):
        yield json_line(dict(zip(names, map(as_json, row), strict=True)))


def json_line(value: Any) -> str:
    """A value in a line, in which no character does anything to a terminal."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).translate(_ESCAPED) + "\n"


def write_csv(reader: pa.RecordBatchReader, stream: TextIO, *, with_header: bool = True) -> None:
    """With a header and lines that end in CR LF (RFC 4180); NULL is empty, and an empty text is quoted.

    The writers of Python and Arrow either quote every text or cannot tell the two apart.
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


def _write_table(
    reader: pa.RecordBatchReader, stream: TextIO, *, boxes: bool, width: int | None, max_rows: int | None
) -> None:
    """Columns aligned, numbers to the right; the widths need all rows that are shown at once."""
    limit = _MAX_WIDTH if boxes else None
    names = [_cell(name, limit) for name in reader.schema.names]
    right = [_is_number(field.type) for field in reader.schema]
    kept, more, is_exact = _first(reader, max_rows)
    rows = [["NULL" if value is None else _cell(text(value), limit) for value in row] for row in kept]
    widths = [max(width_of(row[index]) for row in [names, *rows]) for index in range(len(names))]
    if not boxes:
        for row in [names, ["-" * width for width in widths], *rows]:
            stream.write("  ".join(_padded(row, widths, right)).rstrip() + "\n")
        if more:
            stream.write(f"... {more:,} more rows\n")
        return
    left_out = 0
    if width is not None and widths:
        shown, widths = fit(widths, width)
        left_out = len(names) - len(shown)
        gap = len(shown) - len(shown) // 2 if left_out else None
        names, right = _chosen(names, shown, gap, "…"), _chosen(right, shown, gap, False)
        rows = [_chosen(row, shown, gap, "…") for row in rows]
        widths = [*widths[:gap], 1, *widths[gap:]] if gap is not None else widths
        names, *rows = [[cut(cell, size) for cell, size in zip(row, widths, strict=True)] for row in [names, *rows]]
    lines = ["─" * (width + 2) for width in widths]
    stream.write(f"┌{'┬'.join(lines)}┐\n")
    _write_boxed(stream, _padded(names, widths, right))
    stream.write(f"├{'┼'.join(lines)}┤\n")
    for row in rows:
        _write_boxed(stream, _padded(row, widths, right))
    stream.write(f"└{'┴'.join(lines)}┘\n")
    total = len(rows) + more
    count = f"{total:,} {'row' if total == 1 else 'rows'}" if is_exact else f"More than {total:,} rows"
    notes = [f"{len(rows):,} shown"] if more else []
    notes += [f"{left_out} of {len(reader.schema)} columns left out"] if left_out else []
    stream.write(count + (f" ({', '.join(notes)})" if notes else "") + "\n")


def _first(reader: pa.RecordBatchReader, most: int | None) -> tuple[list[tuple[Any, ...]], int, bool]:
    """The first rows, how many more there are, and whether that is all that there are."""
    kept: list[tuple[Any, ...]] = []
    more = 0
    for batch in reader:
        room = batch.num_rows if most is None else min(most - len(kept), batch.num_rows)
        kept += _values_of(batch.slice(0, room))
        more += batch.num_rows - room
        if more >= _MOST_COUNTED:
            reader.close()
            return kept, more, False
    return kept, more, True


def _chosen(cells: Sequence[T], shown: Sequence[int], gap: int | None, between: T) -> list[T]:
    """The cells of some columns, and something where others are left out."""
    chosen = [cells[column] for column in shown]
    return chosen if gap is None else [*chosen[:gap], between, *chosen[gap:]]


def _write_boxed(stream: TextIO, cells: list[str]) -> None:
    stream.write(f"│ {' │ '.join(cells)} │\n")


def _rows(reader: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    for batch in reader:
        yield from _values_of(batch)


def _values_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    yield from zip(*(values(column) for column in batch.columns), strict=True)


def _cell(value: str, limit: int | None) -> str:
    """One line of a table: control characters shown, texts longer than `limit` cut."""
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
