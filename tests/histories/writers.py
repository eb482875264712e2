"""Operations performed by both libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import lance
import pyarrow as pa

import lance_sql


class Writer(Protocol):
    """Changes the newest version of a table at `path`."""

    def create(self, path: str, rows: pa.Table, file_version: str) -> None: ...
    def append(self, path: str, rows: pa.Table) -> None: ...
    def overwrite(self, path: str, rows: pa.Table) -> None: ...
    def delete(self, path: str, where: str) -> None: ...
    def update(self, path: str, values: dict[str, str], where: str) -> None: ...
    def merge(self, path: str, rows: pa.Table) -> None: ...
    def compact(self, path: str, target_rows: int) -> None: ...
    def add_values(self, path: str, name: str, sql: str) -> None: ...
    def add_nulls(self, path: str, field: pa.Field) -> None: ...
    def drop(self, path: str, name: str) -> None: ...
    def rename(self, path: str, old: str, new: str) -> None: ...
    def cast(self, path: str, name: str, type: pa.DataType) -> None: ...
    def restore(self, path: str, version: int) -> None: ...
    def config(self, path: str, key: str, value: str) -> None: ...
    def read(self, path: str, columns: Sequence[str]) -> pa.Table: ...


class Ours:
    """This library."""

    def create(self, path: str, rows: pa.Table, file_version: str) -> None:
        lance_sql.write(rows, path, file_version=file_version)

    def append(self, path: str, rows: pa.Table) -> None:
        lance_sql.write(rows, path, mode="append")

    def overwrite(self, path: str, rows: pa.Table) -> None:
        lance_sql.write(rows, path, mode="overwrite")

    def delete(self, path: str, where: str) -> None:
        lance_sql.open(path).delete(where)

    def update(self, path: str, values: dict[str, str], where: str) -> None:
        lance_sql.open(path).update(values, where)

    def merge(self, path: str, rows: pa.Table) -> None:
        lance_sql.open(path).merge(rows, on="k")

    def compact(self, path: str, target_rows: int) -> None:
        lance_sql.open(path).maintenance.compact(target_rows=target_rows)

    def add_values(self, path: str, name: str, sql: str) -> None:
        lance_sql.open(path).add_columns({name: sql})

    def add_nulls(self, path: str, field: pa.Field) -> None:
        lance_sql.open(path).add_columns([field])

    def drop(self, path: str, name: str) -> None:
        lance_sql.open(path).drop_columns(name)

    def rename(self, path: str, old: str, new: str) -> None:
        lance_sql.open(path).rename_columns({old: new})

    def cast(self, path: str, name: str, type: pa.DataType) -> None:
        lance_sql.open(path).alter_column(name, type=type)

    def restore(self, path: str, version: int) -> None:
        lance_sql.open(path).restore(version)

    def config(self, path: str, key: str, value: str) -> None:
        lance_sql.open(path).config.update({key: value})

    def read(self, path: str, columns: Sequence[str]) -> pa.Table:
        return lance_sql.open(path).scan(columns).to_table()


class Pylance:
    """The reference implementation."""

    def create(self, path: str, rows: pa.Table, file_version: str) -> None:
        version: Any = file_version
        lance.write_dataset(rows, path, data_storage_version=version, enable_stable_row_ids=True)

    def append(self, path: str, rows: pa.Table) -> None:
        lance.write_dataset(rows, path, mode="append")

    def overwrite(self, path: str, rows: pa.Table) -> None:
        lance.write_dataset(rows, path, mode="overwrite")

    def delete(self, path: str, where: str) -> None:
        lance.dataset(path).delete(where)

    def update(self, path: str, values: dict[str, str], where: str) -> None:
        lance.dataset(path).update(values, where=where)

    def merge(self, path: str, rows: pa.Table) -> None:
        builder: Any = lance.dataset(path).merge_insert("k")
        builder.when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def compact(self, path: str, target_rows: int) -> None:
        lance.dataset(path).optimize.compact_files(target_rows_per_fragment=target_rows)

    def add_values(self, path: str, name: str, sql: str) -> None:
        lance.dataset(path).add_columns({name: sql})

    def add_nulls(self, path: str, field: pa.Field) -> None:
        lance.dataset(path).add_columns(field)

    def drop(self, path: str, name: str) -> None:
        lance.dataset(path).drop_columns([name])

    def rename(self, path: str, old: str, new: str) -> None:
        _alter(path, {"path": old, "name": new})

    def cast(self, path: str, name: str, type: pa.DataType) -> None:
        _alter(path, {"path": name, "data_type": type})

    def restore(self, path: str, version: int) -> None:
        dataset: Any = lance.dataset(path, version=version)
        dataset.restore()

    def config(self, path: str, key: str, value: str) -> None:
        lance.dataset(path).update_config({key: value})

    def read(self, path: str, columns: Sequence[str]) -> pa.Table:
        return lance.dataset(path).scanner(columns=list(columns)).to_table()


def _alter(path: str, alteration: Any) -> None:
    lance.dataset(path).alter_columns(alteration)
