"""Tables for comparisons in tests, from any source, with the commits that wrote their rows if known."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any, TypeAlias

import pyarrow as pa

import lance_sql.dataset
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.common_type import column_to_type
from lance_sql.format.casts.common_type import plain as plain_type
from lance_sql.reads.scan.system_columns import LAST_UPDATED_AT
from lance_sql.table.version_names import split_name
from lance_sql.writes.statements.source import to_reader

TableLike: TypeAlias = Any
"""A `Dataset` or the path of a Lance table ("out/orders.lance", "out/orders.lance@41"); or rows: an Arrow table or
stream, a frame of Spark, pandas or Polars, a DuckDB relation, a dict of columns, a list of dicts."""


@dataclass(frozen=True)
class Rows:
    """Rows to compare.

    name: for messages
    table: the values, dictionaries decoded
    ignored: other columns of the source
    dataset: the dataset that they come from, or None
    versions: the version that wrote each row, if known: uint64[rows]
    """

    name: str
    table: pa.Table
    ignored: tuple[str, ...] = ()
    dataset: Dataset | None = None
    versions: pa.ChunkedArray | None = None

    @cached_property
    def commits(self) -> Mapping[int, str]:
        """Operation of the commit of each version."""
        if self.dataset is None:
            return {}
        return {entry.version: entry.operation or "unknown" for entry in self.dataset.history()}

    def origin(self, row: int) -> str:
        """Describes the commit that wrote a row, for a message; empty if unknown."""
        if self.versions is None:
            return ""
        version = self.versions[row].as_py()
        return f"version {version}, {self.commits.get(version, 'no longer there')}"


def dataset(table: TableLike) -> Dataset:
    """Opens a Lance table.

    raises: InvalidArgument for anything else
    """
    if isinstance(table, Dataset):
        return table
    if isinstance(table, (str, os.PathLike)):
        path, version, tag = split_name(os.fspath(table))
        return lance_sql.dataset.open(path, version=version, tag=tag)
    raise InvalidArgument(f"A Lance table is a Dataset or a path, not a {type(table).__name__}")


def rows(table: TableLike, name: str, ignored: Sequence[str] = ()) -> Rows:
    """Reads the rows of a table.

    name: for messages, if the table has no name
    ignored: columns to ignore
    raises: InvalidArgument for columns with equal names
    """
    if isinstance(table, (str, os.PathLike, Dataset)):
        source = dataset(table)
        names, left_out = _split(source.schema.names, ignored)
        has_versions = LAST_UPDATED_AT in source.system_columns and LAST_UPDATED_AT not in names
        read = source.scan([*names, LAST_UPDATED_AT] if has_versions else names).to_table()
        label = f"{PurePath(source.uri).name} version {source.version}"
        versions = read.column(LAST_UPDATED_AT) if has_versions else None
        return Rows(label, plain(read.select(names)), left_out, source, versions)
    if isinstance(table, list) and all(isinstance(row, Mapping) for row in table):
        # from all rows, because the first one may lack a column
        columns = dict.fromkeys(column for row in table for column in row)
        read = pa.table({column: [row.get(column) for row in table] for column in columns})
    else:
        read = to_reader(table).read_all()
    repeated = {column for column in read.column_names if read.column_names.count(column) > 1}
    if repeated:
        raise InvalidArgument(f"The {name} table has two columns called {min(repeated)!r}")
    names, left_out = _split(read.column_names, ignored)
    return Rows(name, plain(read.select(names)), left_out)


def check_ignored(ignored: Sequence[str], *tables: Rows) -> None:
    """Checks that every ignored column exists: a misspelled name would ignore nothing.

    raises: InvalidArgument
    """
    for column in ignored:
        if not any(column in table.ignored for table in tables):
            names = dict.fromkeys(name for table in tables for name in table.table.column_names)
            raise InvalidArgument(f"ignore_columns: there is no column {column!r}{_hint(column, names)}")


def _hint(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1)
    return f". Closest: {close[0]!r}" if close else ""


def _split(names: Sequence[str], ignored: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Splits columns into wanted and ignored ones."""
    return [name for name in names if name not in ignored], tuple(name for name in names if name in ignored)


def names_of(columns: str | Iterable[str] | None) -> list[str]:
    """Returns a list of column names; accepts a single name."""
    return [] if columns is None else [columns] if isinstance(columns, str) else list(columns)


def plain(table: pa.Table) -> pa.Table:
    """Normalizes types that differ only in Arrow's representation: sizes of text, bytes and lists, and dictionaries."""
    fields = [pa.field(field.name, plain_type(field.type), field.nullable) for field in table.schema]
    columns = [
        column_to_type(column, field.type, field.name) for column, field in zip(table.columns, fields, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))
