"""Columns of files that others wrote, in all that writes and reads a table: equal, or refused with nothing changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import LanceError
from lance_sql.format.casts.conversion import into

MOST_ROWS = 40
_IPC = (".arrow", ".arrows", ".feather", ".stream", ".arrow_file")

Change = Callable[[Dataset, pa.Table], object]


def columns_of(path: Path) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Yields the first rows of each column that pyarrow reads; nothing for files that it refuses."""
    try:
        table = _read(path)
        table = table.slice(0, MOST_ROWS).combine_chunks()
        table.validate(full=True)
    except Exception:
        # damaged on purpose, encrypted, or of a type that pyarrow does not have
        return
    for name, column in zip(table.column_names, table.columns, strict=True):
        if len(column):
            yield name, column


def _read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pyarrow.parquet.ParquetFile(path).read()
    with pa.memory_map(str(path)) as source:
        try:
            return pyarrow.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            return pyarrow.ipc.open_stream(source).read_all()


def files(folder: Path, *, most_bytes: int | None) -> list[Path]:
    """Returns the Parquet and Arrow files below a folder."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in (".parquet", *_IPC) and path.is_file())
    return [path for path in found if most_bytes is None or path.stat().st_size <= most_bytes]


def _append(table: Dataset, rows: pa.Table) -> object:
    more = rows.set_column(0, "id", pa.array(range(1000, 1000 + rows.num_rows), pa.int64()))
    lance_sql.write(more, table, mode="append")
    return table.latest().delete("id >= 1000")


def _compact(table: Dataset, rows: pa.Table) -> object:
    return _append(table, rows) and table.latest().maintenance.compact()


def _sql(text: str) -> Change:
    return lambda table, _: lance_sql.sql(text.format(table.uri), connection=lance_sql.connect())


def _insert(table: Dataset, rows: pa.Table) -> object:
    lance_sql.sql(
        f"INSERT INTO '{table.uri}' SELECT id + 1000 AS id, x FROM '{table.uri}'", connection=lance_sql.connect()
    )
    return table.latest().delete("id < 1000") and table.latest().update({"id": "id - 1000"}, "id >= 1000")


CHANGES: dict[str, Change] = {
    "append": _append,
    "update": lambda table, _: table.update({"x": "x"}, "true"),
    "UPDATE": _sql("UPDATE '{0}' SET x = x WHERE true"),
    "merge": lambda table, rows: table.merge(rows, on="id"),
    "MERGE": _sql("MERGE INTO '{0}' t USING '{0}' s ON t.id = s.id WHEN MATCHED THEN UPDATE SET x = s.x"),
    "INSERT": _insert,
    "compact": _compact,
}


def check(folder: Path, column: pa.ChunkedArray) -> Counter[str]:
    """Returns the numbers of equal and of refused steps.

    raises: AssertionError for other values, and for a refused change that left a version; errors that are not of this
        library
    """
    counts: Counter[str] = Counter()
    rows = pa.table({"id": pa.array(range(len(column)), pa.int64()), "x": column})
    path = folder / "t.lance"
    try:
        table = lance_sql.write(rows, path)
    except LanceError as error:
        assert not path.exists()
        counts[f"refused by write: {type(error).__name__}"] += 1
        return counts
    field = table.schema.field("x")
    given = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    expected = _values(given)
    _expect(table, expected, "write")
    for engine in ("duckdb", "datafusion"):
        try:
            read = lance_sql.sql(f"SELECT id, x FROM '{path}' ORDER BY id", engine=engine).to_table()
        except (LanceError, duckdb.Error):
            counts[f"refused by {engine}"] += 1
            continue
        assert _values(_as(read["x"].combine_chunks(), field)) == _values(_as(given, field)), engine
        counts["equal"] += 1
    for name, change in CHANGES.items():
        table = table.latest()
        version = table.version
        try:
            change(table, rows)
        except LanceError:
            assert table.latest().version == version or name in ("append", "INSERT", "compact"), name
            counts[f"refused by {name}"] += 1
        else:
            counts["equal"] += 1
        _expect(table.latest(), expected, name)
    return counts


def _expect(table: Dataset, expected: list[str], name: str) -> None:
    rows = table.scan(["id", "x"]).to_table().sort_by("id")
    rows.validate(full=True)
    assert _values(rows["x"].combine_chunks()) == expected, name


def _as(array: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return into(array, field)
    except (pa.ArrowException, ValueError):
        return array


def _values(array: Any) -> list[str]:
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    try:
        values = array.to_pylist()
    except (OverflowError, ValueError):
        # a time that Python does not have
        values = array.view(_counted(array.type)).to_pylist()
    # a NaN equals no NaN
    return [repr(_plain(value)) for value in values]


def _counted(type: pa.DataType) -> pa.DataType:
    """Returns the type with integers in place of dates, times and durations, at every depth."""
    if pa.types.is_temporal(type) and not pa.types.is_interval(type):
        return pa.int32() if type.bit_width == 32 else pa.int64()
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(_counted(field.type)) for field in type])
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        form = pa.list_ if pa.types.is_list(type) else pa.large_list
        return form(type.value_field.with_type(_counted(type.value_type)))
    if pa.types.is_map(type):
        return pa.map_(
            type.key_field.with_type(_counted(type.key_type)), type.item_field.with_type(_counted(type.item_type))
        )
    return type


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return getattr(value, "bytes", value)
