"""Writing tables: in one call, or in two steps for writers that run in many processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from lance_sql.dataset import Dataset, open
from lance_sql.statements import job as jobs
from lance_sql.statements.fragments import MAX_BYTES_PER_FILE, MAX_ROWS_PER_FILE, FileLimits
from lance_sql.statements.job import Job
from lance_sql.statements.source import to_reader
from lance_sql.table.fragments import Fragment

__all__ = ["MAX_BYTES_PER_FILE", "MAX_ROWS_PER_FILE", "Mode", "NewFragments", "WriteJob", "begin_write", "write"]

Mode: TypeAlias = jobs.Mode

NewFragments: TypeAlias = tuple[Fragment, ...]
"""Data files that belong to no version yet."""


@dataclass(frozen=True, slots=True)
class WriteJob:
    """A write that has begun. Picklable.

    Data files are written anywhere, then one process commits all of them. Nothing belongs to the table before.

    >>> job = lance_sql.begin_write(orders.uri, orders.schema, mode="append")
    >>> fragments = job.write_fragments(orders.scan(limit=10))
    >>> job.commit(fragments).version
    2
    """

    job: Job

    @property
    def id(self) -> str:
        """What the names of the job's data files begin with."""
        return self.job.id

    def write_fragments(self, data: object) -> NewFragments:
        """Writes rows to new data files; all of them or none. What it returns is picklable, and goes to `commit`.

        data: as for `write`
        raises: InvalidArgument for rows that do not fit the table
        """
        return self.job.write_fragments(to_reader(data, table=self.job.schema.arrow))

    def commit(self, fragments: Iterable[Fragment]) -> Dataset:
        """Makes one version of the fragments, and removes what else the job has written, such as files of tasks that
        failed or ran twice. A job is committed once.

        raises: CommitConflict, TableExists; InvalidArgument for fragments of another job, or for a second commit
        """
        return Dataset(self.job.commit(fragments))

    def abort(self) -> None:
        """Removes the data files that the job has written, wherever its tasks ran; those of a version stay."""
        self.job.abort()


def begin_write(
    uri: str | os.PathLike[str],
    schema: pa.Schema,
    *,
    mode: Mode = "create",
    branch: str | None = None,
    file_version: str | None = None,
    stable_row_ids: bool | None = None,
    max_rows_per_file: int = MAX_ROWS_PER_FILE,
    max_bytes_per_file: int = MAX_BYTES_PER_FILE,
    properties: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> WriteJob:
    """Begins a write in two steps; what can be refused is refused here.

    schema: of the rows to come
    others, raises: as for `write`
    """
    return WriteJob(
        jobs.begin_write(
            os.fspath(uri),
            schema,
            mode=mode,
            branch=branch,
            file_version=file_version,
            stable_row_ids=stable_row_ids,
            limits=FileLimits(max_rows_per_file, max_bytes_per_file),
            properties=properties,
            storage_options=storage_options,
        )
    )


def write(
    data: object,
    uri: str | os.PathLike[str],
    *,
    mode: Mode = "create",
    schema: pa.Schema | None = None,
    branch: str | None = None,
    file_version: str | None = None,
    stable_row_ids: bool | None = None,
    max_rows_per_file: int = MAX_ROWS_PER_FILE,
    max_bytes_per_file: int = MAX_BYTES_PER_FILE,
    properties: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset:
    """Writes a table, or appends to one; nothing stays of a write that fails.

    data: anything with `__arrow_c_stream__` (pyarrow, a DuckDB relation, Polars, a `Dataset`), a pandas DataFrame, a
        dict of columns, or record batches. Streams are written as they come
    mode: "create" a table that must not exist, "append" to one that must, or "overwrite" all rows and columns of a
        table, which is created when it does not exist
    schema: of a dict or of record batches, where their own does not say it
    branch: to append to, or to overwrite; main without it
    file_version: of the data files: "2.2" unless said otherwise, "2.1" or "2.0"; a table keeps its own when rows are
        appended
    stable_row_ids: rows keep their ids when they move, and have versions, which change queries need. On unless False;
        fixed when a table is created
    max_rows_per_file, max_bytes_per_file: where a data file ends and the next one begins
    properties: kept with the transaction
    storage_options: for the file system of the URI
    raises: TableExists, TableNotFound; InvalidArgument for rows that do not fit; UnsupportedFeature for types that the
        file version does not hold; CommitConflict

    >>> lance_sql.write({"id": [1, 2], "name": ["a", "b"]}, path).version
    1
    """
    table = open(uri, branch=branch, storage_options=storage_options).schema if mode == "append" else None
    reader = to_reader(data, schema, table=table)
    begun = begin_write(
        uri,
        reader.schema,
        mode=mode,
        branch=branch,
        file_version=file_version,
        stable_row_ids=stable_row_ids,
        max_rows_per_file=max_rows_per_file,
        max_bytes_per_file=max_bytes_per_file,
        properties=properties,
        storage_options=storage_options,
    )
    return Dataset(jobs.write(begun.job, reader))
