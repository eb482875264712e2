"""Folders with rows of other formats: Parquet, CSV and JSON lines, with Hive partitions as columns; Delta; Iceberg."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lance_sql.cli.text_files import ALL_COLUMNS, CSV, check_csv
from lance_sql.errors import InvalidArgument, LanceError, UnsupportedFeature
from lance_sql.values.local_paths import shown
from lance_sql.values.sql_text import literal

if TYPE_CHECKING:
    import pyarrow as pa

_SUFFIXES: Final = {
    ".parquet": "Parquet",
    ".csv": "CSV",
    ".csv.gz": "CSV",
    ".csv.zst": "CSV",
    ".tsv": "CSV",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
    ".json": "JSON",
    ".jsonl.gz": "JSON",
    ".ndjson.gz": "JSON",
    ".json.gz": "JSON",
}
_ROWS_OF_A_PART: Final = 1 << 20
_BYTES_OF_A_PART: Final = 256 << 20
_FROM_CATALOG: Final = "lance_sql.write(catalog.load_table('..'), path)"


@dataclass(frozen=True, slots=True)
class Part:
    """Some files of a folder.

    files: their paths, with sizes and times, which show whether they changed
    rows: counts the rows, without reading them where the format has the number
    """

    files: tuple[tuple[str, int, int], ...]
    rows: Callable[[], int]
    read: Callable[[], pa.RecordBatchReader]


@dataclass(frozen=True, slots=True)
class Folder:
    """Rows of a folder."""

    kind: str
    schema: pa.Schema
    parts: tuple[Part, ...]


def has_rows(path: str) -> bool:
    """Whether a source is a folder, and neither a Lance table nor a folder of some."""
    if not os.path.isdir(path) or os.path.isdir(os.path.join(path, "_versions")):
        return False
    return not any(name.endswith(".lance") for name in os.listdir(path))


def open_folder(path: str, connection: Any, table: Callable[[], pa.Schema] | None) -> Folder:
    """Finds the rows of a folder.

    connection: of DuckDB, which reads CSV and JSON
    table: returns the columns of the table that the rows are for, whose types those of CSV and JSON take
    raises: InvalidArgument for a folder without rows, with several kinds of files, or with files whose columns do not
        fit each other; UnsupportedFeature for a kind whose reader is not installed
    """
    if os.path.isdir(os.path.join(path, "_delta_log")):
        return _delta(path)
    metadata = os.path.join(path, "metadata")
    if os.path.isdir(metadata) and any(name.endswith(".metadata.json") for name in os.listdir(metadata)):
        return _iceberg(path, metadata)
    files = sorted(_files(path))
    kinds = {file: _kind(file) for file in files}
    unknown = next((file for file, kind in kinds.items() if kind is None), None)
    if unknown is not None:
        raise InvalidArgument(
            f"{shown(unknown)} is no file of Parquet, CSV or JSON: move it away, or name the files, as in"
            f" '{shown(path)}/*.parquet'"
        )
    if not files:
        raise InvalidArgument(f"{shown(path)} has no files of Parquet, CSV or JSON: name another folder")
    first = kinds[files[0]]
    other = next((file for file, kind in kinds.items() if kind != first), None)
    if other is not None:
        raise InvalidArgument(
            f"{shown(path)} has files of {first} and of {kinds[other]}, such as {shown(other)}: write one kind at a"
            f" time, as in '{shown(path)}/**/*{os.path.splitext(files[0])[1]}'"
        )
    return _parquet(path, files) if first == "Parquet" else _text(files, first or "", connection, table)


def _files(path: str) -> Iterator[str]:
    """Yields the files below a folder, without those that other tools hide, such as _SUCCESS and .crc files."""
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        yield from (os.path.join(folder, name) for name in names if not name.startswith((".", "_")))


def _kind(file: str) -> str | None:
    name = os.path.basename(file).lower()
    return next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)


def _stamped(file: str) -> tuple[str, int, int]:
    status = os.stat(file)
    return file, status.st_size, status.st_mtime_ns


def _parquet(path: str, files: Sequence[str]) -> Folder:
    import pyarrow as pa
    import pyarrow.dataset as pads

    try:
        dataset = pads.dataset(files, format="parquet", partitioning="hive", partition_base_dir=path)
        fragments = list(dataset.get_fragments())
        schemas = [fragment.physical_schema for fragment in fragments]
        of_files = pa.unify_schemas(schemas, promote_options="permissive")
        counts = [fragment.metadata.num_rows for fragment in fragments]
    except (pa.ArrowException, OSError) as error:
        raise InvalidArgument(f"The files of {shown(path)} cannot be read together: {_line(error)}") from error
    partitions = [field for field in dataset.partitioning.schema if field.name not in of_files.names]
    schema = pa.schema([*map(_plain, of_files), *partitions])
    return Folder("Parquet", schema, _of_fragments(fragments, counts, schema))


def _of_fragments(fragments: Sequence[Any], counts: Sequence[int], schema: pa.Schema) -> tuple[Part, ...]:
    parts: list[Part] = []
    chosen: list[Any] = []
    rows = 0
    for number, (fragment, count) in enumerate(zip(fragments, counts, strict=True), 1):
        chosen.append(fragment)
        rows += count
        if rows >= _ROWS_OF_A_PART or number == len(fragments):
            stamps = tuple(_stamped(each.path) for each in chosen)
            parts.append(Part(stamps, partial(int, rows), partial(_read_fragments, tuple(chosen), schema)))
            chosen, rows = [], 0
    return tuple(parts)


def _read_fragments(fragments: Sequence[Any], schema: pa.Schema) -> pa.RecordBatchReader:
    import pyarrow as pa

    def batches() -> Iterator[pa.RecordBatch]:
        for fragment in fragments:
            with _read_by(fragment.path, "pyarrow"):
                yield from fragment.scanner(schema=schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _plain(field: pa.Field) -> pa.Field:
    """Returns a field without the numbers that Parquet gives it."""
    kept = {key: value for key, value in (field.metadata or {}).items() if not key.startswith(b"PARQUET:")}
    return field.remove_metadata().with_metadata(kept or None)


def _delta(path: str) -> Folder:
    try:
        import deltalake
    except ImportError as error:
        raise _no_reader(path, "a Delta table", "deltalake", "delta_scan") from error
    import pyarrow as pa

    with _read_by(path, "deltalake"):
        dataset = deltalake.DeltaTable(path).to_pyarrow_dataset()
        fragments = sorted(dataset.get_fragments(), key=lambda fragment: fragment.path)
        counts = [fragment.count_rows() for fragment in fragments]
        schema = pa.schema(map(_plain, dataset.schema))
    below = [_Below(path, each) for each in fragments]
    return Folder("Delta", schema, _of_fragments(below, counts, schema))


@contextmanager
def _read_by(path: str, reader: str) -> Iterator[None]:
    """Turns every error of the reader of another format into one line.

    raises: UnsupportedFeature
    """
    try:
        yield
    except LanceError:
        raise
    except Exception as error:
        raise UnsupportedFeature(
            f"{shown(path)} cannot be read by {reader}: {_line(error)}. Mend it with the program that has written it"
        ) from error


@dataclass(frozen=True, slots=True)
class _Below:
    """A fragment of Delta, whose path begins at the table."""

    root: str
    fragment: Any

    @property
    def path(self) -> str:
        return os.path.join(self.root, self.fragment.path)

    def scanner(self, schema: pa.Schema) -> Any:
        return self.fragment.scanner(schema=schema)


def _iceberg(path: str, metadata: str) -> Folder:
    try:
        from pyiceberg.table import StaticTable
    except ImportError as error:
        raise _no_reader(path, "an Iceberg table", "'pyiceberg[pyarrow]'", "iceberg_scan") from error
    import pyarrow as pa

    newest = _newest(path, metadata)
    with _read_by(path, "pyiceberg"):
        table = StaticTable.from_metadata(newest)
        if os.path.realpath(re.sub("^file:/*", "/", table.location())) != os.path.realpath(path):
            raise UnsupportedFeature(
                f"{shown(path)} is a copy of the Iceberg table at {table.location()}, whose files it names: write that"
                f" one, in Python from its catalog: {_FROM_CATALOG}"
            )
        scan = table.scan()
        schema, rows = pa.schema(map(_plain, scan.to_arrow_batch_reader().schema)), scan.count()

    def batches() -> Iterator[pa.RecordBatch]:
        with _read_by(path, "pyiceberg"):
            for batch in scan.to_arrow_batch_reader():
                yield pa.record_batch(batch.columns, schema)

    read = partial(pa.RecordBatchReader.from_batches, schema, batches())
    return Folder("Iceberg", schema, (Part((_stamped(newest),), partial(int, rows), read),))


def _newest(path: str, metadata: str) -> str:
    """Returns the metadata file of the newest version. The number in its name says which it is: times change when a
    folder is copied.

    raises: UnsupportedFeature if several have the highest number, of which a catalog knows the right one
    """
    numbers: dict[str, int] = {}
    for name in os.listdir(metadata):
        found = re.match(r"v?(\d+).*\.metadata\.json$", name)
        if found is not None:
            numbers[name] = int(found[1])
    newest = sorted(name for name, number in numbers.items() if number == max(numbers.values()))
    if len(newest) != 1:
        which = f"of which {' and '.join(newest[:2])} may be the newest" if newest else "without numbers in their names"
        raise UnsupportedFeature(
            f"{shown(path)} has metadata files {which}: only its catalog knows; in Python: {_FROM_CATALOG}"
        )
    return os.path.join(metadata, newest[0])


def _no_reader(path: str, what: str, package: str, function: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"{shown(path)} is {what}, and its reader is not installed: pip install {package}, or pass a query with an"
        f" extension of DuckDB: \"FROM {function}('..')\""
    )


def _text(files: Sequence[str], kind: str, connection: Any, table: Callable[[], pa.Schema] | None) -> Folder:
    """CSV and JSON: the types of columns are found in all files together, and are those of each part."""
    from lance_sql.cli import table_types

    function = "read_csv" if kind == "CSV" else "read_json"
    whole = f"{_common(function)}, sample_size = -1"
    described = connection.sql(f"DESCRIBE FROM {function}({_list(files)}{whole})").fetchall()
    found = {str(name): str(type) for name, type, *_ in described}
    if kind == "CSV":
        check_csv(connection, files, [name for name in found if not _is_in_path(name, files)])
    types = table_types.fitted(found, table and table(), connection, is_csv=kind == "CSV")
    schema = _schema(connection, f"FROM {function}({_list(files)}{whole}) LIMIT 0", types)
    parts: list[Part] = []
    chosen: list[str] = []
    size = 0
    for number, file in enumerate(files, 1):
        chosen.append(file)
        size += os.path.getsize(file)
        if size >= _BYTES_OF_A_PART or number == len(files):
            rows = partial(_count, connection, function, tuple(chosen), types)
            read = partial(_read_text, connection, function, tuple(chosen), types, schema)
            parts.append(Part(tuple(map(_stamped, chosen)), rows, read))
            chosen, size = [], 0
    return Folder(kind, schema, tuple(parts))


def _schema(connection: Any, clause: str, types: dict[str, str]) -> pa.Schema:
    columns = ", ".join(f"{_quoted(name)}::{type} AS {_quoted(name)}" for name, type in types.items())
    return connection.sql(f"SELECT {columns} {clause}").to_arrow_table().schema


def _query(connection: Any, function: str, files: Sequence[str], types: dict[str, str]) -> tuple[str, list[str]]:
    """Returns the FROM clause for some files, and the names of their columns."""
    common = _common(function)
    names = [str(name) for name, *_ in connection.sql(f"DESCRIBE FROM {function}({_list(files)}{common})").fetchall()]
    in_path = [name for name in names if _is_in_path(name, files)]
    hive = _struct({name: types[name] for name in in_path})
    fixed = {name: types[name] for name in names if name not in in_path}
    argument = "types" if function == "read_csv" else "columns"
    hive_types = f", hive_types = {hive}" if in_path else ""
    return f"FROM {function}({_list(files)}{common}, {argument} = {_struct(fixed)}{hive_types})", names


def _common(function: str) -> str:
    return f"{ALL_COLUMNS}, hive_partitioning = true{CSV if function == 'read_csv' else ''}"


def _is_in_path(name: str, files: Sequence[str]) -> bool:
    """Whether a column is a partition of a folder in the style of Hive."""
    return any(f"/{name}=" in file for file in files)


def _read_text(
    connection: Any, function: str, files: Sequence[str], types: dict[str, str], schema: pa.Schema
) -> pa.RecordBatchReader:
    from lance_sql.format.schema.duckdb_types import exportable

    clause, names = _query(connection, function, files, types)
    columns = ", ".join(
        f"{_quoted(name) if name in names else 'NULL'}::{type} AS {_quoted(name)}" for name, type in types.items()
    )
    return exportable(connection.sql(f"SELECT {columns} {clause}")).to_arrow_reader().cast(schema)


def _count(connection: Any, function: str, files: Sequence[str], types: dict[str, str]) -> int:
    clause, _ = _query(connection, function, files, types)
    ((rows,),) = connection.sql(f"SELECT count(*) {clause}").fetchall()
    return int(rows)


def _list(files: Sequence[str]) -> str:
    return f"[{', '.join(map(literal, files))}]"


def _struct(types: dict[str, str]) -> str:
    return f"{{{', '.join(f'{literal(name)}: {literal(type)}' for name, type in types.items())}}}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _line(error: Exception) -> str:
    import click

    return " ".join(click.unstyle(str(error)).split()).removesuffix(".")
