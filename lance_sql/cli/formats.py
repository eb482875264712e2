"""Rows as text: tables and lines for people, JSON, CSV and Markdown for other programs, Arrow for fast ones.

All but tables are written batch by batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, TextIO, cast

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.runtime.terminal_text import one_line, width_of
from lance_sql.values import kinds
from lance_sql.values.text_table import rows_of, write_table
from lance_sql.values.value_text import as_json, text

# characters that JSON need not escape: controls, and marks that change the writing direction
_ESCAPED: Final = {
    code: f"\\u{code:04x}"
    for code in (*range(0x7F, 0xA0), 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_QUOTED_IN_CSV = frozenset('",\r\n')


def write(
    reader: pa.RecordBatchReader,
    output: str,
    stream: TextIO,
    *,
    boxes: bool,
    width: int | None = None,
    max_rows: int | None = None,
    types: bool = False,
    escaped: bool = False,
) -> None:
    """Writes all rows to a text stream, Arrow to the bytes below it.

    output: table, box, line, json, csv, markdown or arrow
    boxes: draw tables with lines; a box always has some
    width: characters of a line, which tables with lines are fitted to
    max_rows: the maximum number of rows of a table, the first and the last ones; those left out are counted
    types: show the types of columns below their names, in a table with lines
    escaped: escape control characters also in CSV and Markdown, which a terminal would obey
    raises: InvalidArgument for JSON of columns with one name
    """
    if escaped and output in ("csv", "markdown"):
        stream = cast("TextIO", _Escaped(stream))
    match output:
        case "json":
            _write_json(reader, stream)
        case "csv":
            write_csv(reader, stream)
        case "markdown":
            _write_markdown(reader, stream)
        case "line":
            _write_lines(reader, stream)
        case "box":
            write_table(reader, stream, boxes=True, width=width, max_rows=max_rows, types=types)
        case "arrow":
            _write_arrow(reader, stream)
        case _:
            write_table(reader, stream, boxes=boxes, width=width, max_rows=max_rows, types=types)


def _write_json(reader: pa.RecordBatchReader, stream: TextIO) -> None:
    """Writes an array with one object per line."""
    separator = "["
    for line in json_lines(reader):
        stream.write(f"{separator}{line[:-1]}")
        separator = ",\n "
    stream.write("[]\n" if separator == "[" else "]\n")


class _Escaped:
    """A text stream whose lines have no control characters."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, content: str) -> None:
        self._stream.write("\n".join(map(one_line, content.split("\n"))))


def json_lines(reader: pa.RecordBatchReader) -> Iterator[str]:
    """Yields each row as an object in a line.

    raises: InvalidArgument for columns with one name, of which an object would have the last
    """
    names = reader.schema.names
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgument(
                f"Several columns are named {name!r}, which JSON cannot show: give them names with AS"
            )
    for row in rows_of(reader):
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
    for row in rows_of(reader):
        stream.write(",".join("" if value is None else _csv_field(text(value)) for value in row) + "\n")


def _csv_field(value: str) -> str:
    if value and not _QUOTED_IN_CSV.intersection(value):
        return value
    return '"' + value.replace('"', '""') + '"'


def _write_markdown(reader: pa.RecordBatchReader, stream: TextIO) -> None:
    _write_cells(stream, reader.schema.names)
    _write_cells(stream, ["---:" if kinds.is_number(field.type) else "---" for field in reader.schema])
    for row in rows_of(reader):
        _write_cells(stream, ["" if value is None else text(value) for value in row])


def _write_cells(stream: TextIO, cells: list[str]) -> None:
    shown = [cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>") for cell in cells]
    stream.write(f"| {' | '.join(shown)} |\n")


def _write_lines(reader: pa.RecordBatchReader, stream: TextIO) -> None:
    """Writes a line for each value, with its column, and an empty line between rows."""
    names = [one_line(name) for name in reader.schema.names]
    width = max(map(width_of, names), default=0)
    before = ""
    for row in rows_of(reader):
        stream.write(before)
        for name, value in zip(names, row, strict=True):
            shown = "NULL" if value is None else one_line(text(value))
            stream.write(f"{' ' * (width - width_of(name))}{name} = {shown}\n")
        before = "\n"


def _write_arrow(reader: pa.RecordBatchReader, stream: TextIO) -> None:
    with pa.ipc.new_stream(stream.buffer, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
