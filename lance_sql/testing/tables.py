"""Tables for comparisons in tests, from any source, with the commits that wrote their rows if known."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.common_type import plain
from lance_sql.format.casts.json_texts import as_returned, has_json, json_field
from lance_sql.format.schema import Field
from lance_sql.format.schema.primary_key import primary_key
from lance_sql.health.differences import open_table
from lance_sql.health.differences.differing_rows import adapted
from lance_sql.reads.scan.system_columns import LAST_UPDATED_AT
from lance_sql.runtime.cached_property import cached_property
from lance_sql.writes.statements.source import to_reader

TableLike: TypeAlias = Any
"""A `Dataset` or the path of a Lance table ("out/orders.lance", "out/orders.lance@41"); or rows: an Arrow table or
stream, a frame of Spark, pandas or Polars, a DuckDB relation, a dict of columns, a list of dicts."""


POSITION: Final = "\0position"
"""Column of the positions of rows, beside the own columns of a table."""

_VERSION: Final = "\0version"


@dataclass(frozen=True)
class AssertedRows:
    """Rows to compare: a Lance table, which is read batch by batch, or rows in memory.

    name: for messages
    source: the dataset, or the rows
    schema: the columns, in plain types, or in those of the other table
    ignored: other columns of the source
    """

    name: str
    source: Dataset | pa.Table
    schema: pa.Schema
    ignored: tuple[str, ...] = ()

    @property
    def num_rows(self) -> int:
        return self.source.count_rows() if isinstance(self.source, Dataset) else int(self.source.num_rows)

    @property
    def primary_key(self) -> list[str]:
        """Unenforced primary key of a Lance table, if all of its columns are compared."""
        key = list(primary_key(self.source.snapshot.manifest.schema)) if isinstance(self.source, Dataset) else []
        return key if set(key) <= set(self.schema.names) else []

    @property
    def json(self) -> Mapping[str, Field]:
        """Columns that have JSON: their texts are compared as documents."""
        if not isinstance(self.source, Dataset):
            return {each.name: field for each in self.source.schema if (field := json_field(each)) is not None}
        return {field.name: field for field in self.source.snapshot.manifest.schema.fields if has_json(field)}

    def in_order_of(self, other: AssertedRows) -> AssertedRows:
        """Returns the rows with their columns in the order of another table's."""
        return replace(self, schema=pa.schema([self.schema.field(name) for name in other.schema.names]))

    def reader(self) -> pa.RecordBatchReader:
        """Returns the rows from the beginning, with their positions, and their versions if they are known."""
        names = self.schema.names
        if isinstance(self.source, Dataset):
            has_versions = LAST_UPDATED_AT in self.source.system_columns and LAST_UPDATED_AT not in names
            source = self.source.scan([*names, LAST_UPDATED_AT] if has_versions else names).to_reader()
        else:
            has_versions = False
            source = self.source.select(names).to_reader()
        read = adapted(source, dict(zip(names, self.schema.types, strict=True)))
        fields = [
            pa.field(each.name if number < len(names) else _VERSION, each.type)
            for number, each in enumerate(read.schema)
        ]
        schema = pa.schema([*fields, pa.field(POSITION, pa.int64())])

        def batches() -> Iterator[pa.RecordBatch]:
            start = 0
            for batch in read:
                positions = pa.array(np.arange(start, start + batch.num_rows))
                start += batch.num_rows
                yield pa.RecordBatch.from_arrays([*batch.columns, positions], schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def documents_as_returned(self) -> pa.Table:
        """Returns the rows, with JSON as a Lance table returns it."""
        table = self.reader().read_all().select(self.schema.names)
        columns = [
            as_returned(self.json[name], column) if name in self.json else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=table.schema)

    @cached_property
    def commits(self) -> Mapping[int, str]:
        """Operation of the commit of each version."""
        if not isinstance(self.source, Dataset):
            return {}
        return {entry.version: entry.operation or "unknown" for entry in self.source.history()}

    def origin(self, row: pa.Table) -> str:
        """Describes the commit that wrote a row, for a message; empty if unknown.

        row: a table of one row, from `reader`
        """
        if _VERSION not in row.column_names:
            return ""
        version = row[_VERSION][0].as_py()
        return f"version {version}, {self.commits.get(version, 'no longer there')}"


def rows(table: TableLike, name: str, ignored: Sequence[str] = ()) -> AssertedRows:
    """Reads the rows of a table.

    name: for messages, if the table has no name
    ignored: columns to ignore
    raises: InvalidArgument for columns with equal names
    """
    if isinstance(table, (str, os.PathLike, Dataset)):
        opened = open_table(table)
        return _rows(f"{PurePath(opened.uri).name} version {opened.version}", opened, ignored)
    if isinstance(table, list) and all(isinstance(row, Mapping) for row in table):
        # from all rows, because the first one may lack a column
        columns = dict.fromkeys(column for row in table for column in row)
        held = pa.table({column: [row.get(column) for row in table] for column in columns})
    else:
        held = to_reader(table).read_all()
    return _rows(name, held, ignored)


def _rows(name: str, source: Dataset | pa.Table, ignored: Sequence[str]) -> AssertedRows:
    """Splits columns into compared and ignored ones."""
    fields = [
        pa.field(each.name, plain(each.type), each.nullable) for each in source.schema if each.name not in ignored
    ]
    return AssertedRows(name, source, pa.schema(fields), tuple(each for each in source.schema.names if each in ignored))


def check_ignored(ignored: Sequence[str], *tables: AssertedRows) -> None:
    """Checks that every ignored column exists: a misspelled name would ignore nothing.

    raises: InvalidArgument
    """
    for column in ignored:
        if not any(column in table.ignored for table in tables):
            names = dict.fromkeys(name for table in tables for name in table.schema.names)
            raise InvalidArgument(f"ignore_columns: no column {column!r}{_hint(column, names)}")


def _hint(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1)
    return f". Closest: {close[0]!r}" if close else ""


def names_of(columns: str | Iterable[str] | None) -> list[str]:
    """Returns a list of column names; accepts a single name."""
    return [] if columns is None else [columns] if isinstance(columns, str) else list(columns)
