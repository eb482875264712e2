"""Rows as text: tables for people, JSON, CSV and Markdown for other programs, Arrow for fast ones.

All but `table` are written batch by batch.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterator
from typing import Any, TextIO

import pyarrow as pa

# Wider texts are cut in tables with lines; all else has them whole.
_MAX_WIDTH = 80
_QUOTED_IN_CSV = frozenset('",\r\n')


def write(reader: pa.RecordBatchReader, output: str, stream: TextIO, *, boxes: bool) -> None:
    """Writes all rows to a text stream, Arrow to the bytes below it.

    output: table, json, csv, markdown or arrow
    boxes: draw tables with lines
    """
    match output:
        case "json":
            _write_json(reader, stream)
        case "csv":
            _write_csv(reader, stream)
        case "markdown":
            _write_markdown(reader, stream)
        case "arrow":
            _write_arrow(reader, stream)
        case _:
            _write_table(reader, stream, boxes=boxes)


def _write_json(reader: pa.RecordBatchReader, stream: TextIO) -> None:
    """An array with one object a line."""
    names = reader.schema.names
    separator = "["
    for row in _rows(reader):
        line = json.dumps(dict(zip(names, map(_json, row), strict=True)), ensure_ascii=False, allow_nan=False)
        stream.write(f"{separator}{line}")
        separator = ",\n "
    stream.write("[]\n" if separator == "[" else "]\n")


def _write_csv(reader: pa.RecordBatchReader, stream: TextIO) -> None:
    """With a header and lines that end in CR LF (RFC 4180); NULL is empty, and an empty text is quoted.

    The writers of Python and Arrow either quote every text or cannot tell the two apart.
    """
    stream.write(",".join(map(_csv_field, reader.schema.names)) + "\r\n")
    for row in _rows(reader):
        stream.write(",".join("" if value is None else _csv_field(text(value)) for value in row) + "\r\n")


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


def _write_table(reader: pa.RecordBatchReader, stream: TextIO, *, boxes: bool) -> None:
    """Columns aligned, numbers to the right; the widths need all rows at once."""
    limit = _MAX_WIDTH if boxes else None
    names = [_cell(name, limit) for name in reader.schema.names]
    right = [_is_number(field.type) for field in reader.schema]
    rows = [["NULL" if value is None else _cell(text(value), limit) for value in row] for row in _rows(reader)]
    widths = [max(_width(row[index]) for row in [names, *rows]) for index in range(len(names))]
    if not boxes:
        for row in [names, ["-" * width for width in widths], *rows]:
            stream.write("  ".join(_padded(row, widths, right)).rstrip() + "\n")
        return
    lines = ["─" * (width + 2) for width in widths]
    stream.write(f"┌{'┬'.join(lines)}┐\n")
    _write_boxed(stream, _padded(names, widths, right))
    stream.write(f"├{'┼'.join(lines)}┤\n")
    for row in rows:
        _write_boxed(stream, _padded(row, widths, right))
    stream.write(f"└{'┴'.join(lines)}┘\n")
    stream.write(f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}\n")


def _write_boxed(stream: TextIO, cells: list[str]) -> None:
    stream.write(f"│ {' │ '.join(cells)} │\n")


def text(value: Any) -> str:
    """A value that is not NULL as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return "".join(f"\\x{byte:02X}" for byte in value)
    if isinstance(value, (list, dict)):
        return json.dumps(_json(value), ensure_ascii=False)
    return str(value)


def _json(value: Any) -> Any:
    """A value in JSON's types: what JSON has no numbers or words for becomes text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _json(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(member) for member in value]
    return text(value)


def _rows(reader: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    for batch in reader:
        columns = [_values(column) for column in batch.columns]
        yield from zip(*columns, strict=True)


def _values(column: pa.Array) -> list[Any]:
    """Python values; what Python has no exact type for is cast to text by Arrow."""
    if pa.types.is_duration(column.type):
        return list(column.cast(pa.int64()).to_pylist())
    if pa.types.is_timestamp(column.type) or pa.types.is_time(column.type):
        return [value and _without_zeros(value) for value in column.cast(pa.string()).to_pylist()]
    return list(column.to_pylist())


def _without_zeros(moment: str) -> str:
    """A time without the zeros that end its fraction."""
    whole, point, fraction = moment.partition(".")
    if not point:
        return moment
    zone = "Z" if fraction.endswith("Z") else ""
    digits = fraction.removesuffix("Z").rstrip("0")
    return whole + (f".{digits}" if digits else "") + zone


def _cell(value: str, limit: int | None) -> str:
    """One line of a table: control characters shown, texts longer than `limit` cut."""
    shown = "".join(repr(c)[1:-1] if unicodedata.category(c) == "Cc" else c for c in value)
    return shown if limit is None or len(shown) <= limit else shown[: limit - 1] + "…"


def _width(value: str) -> int:
    """Columns of a terminal that the text takes."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in value)
    return len(value) + wide - sum(unicodedata.combining(c) > 0 for c in value)


def _padded(cells: list[str], widths: list[int], right: list[bool]) -> list[str]:
    padded = []
    for cell, width, to_right in zip(cells, widths, right, strict=True):
        space = " " * (width - _width(cell))
        padded.append(space + cell if to_right else cell + space)
    return padded


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type))
