"""Writing tables: in one call, or in two steps for writers in many processes.

    job = begin_write(schema, uri, mode="append")
    fragments = job.write_fragments(rows)        # here or in another process: jobs and fragments are picklable
    job.commit(fragments)                        # or job.abort()

No file of a job belongs to a version before its commit. The names of its files begin with its id, so that files of
failed or repeated tasks are found and removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeAlias, Unpack

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.format.schema.compression import compressed
from lance_sql.jobs.write_job import WriteJob
from lance_sql.runtime.progress import reporting
from lance_sql.store.access import Access, AccessOptions, access_options
from lance_sql.store.open import absolute
from lance_sql.table import commit_origin
from lance_sql.table.commit_summary import check_properties
from lance_sql.table.fragment import MAX_ROWS_PER_FILE
from lance_sql.values.keywords import check_keywords, suggests_keywords
from lance_sql.writes.commit_options import AppendOptions
from lance_sql.writes.statements import insert, once
from lance_sql.writes.statements.fragments import MAX_BYTES_PER_FILE, FileLimits
from lance_sql.writes.statements.source import to_reader

__all__ = [
    "MAX_BYTES_PER_FILE",
    "MAX_ROWS_PER_FILE",
    "Mode",
    "begin_write",
    "write",
]

Mode: TypeAlias = insert.Mode


def _resolved(
    uri: str | os.PathLike[str] | Dataset, branch: str | None, given: AccessOptions
) -> tuple[str, str | None, Access]:
    """Returns the path or URI of a table, its branch, and the access to its files.

    raises: InvalidArgument if a handle is on another branch
    """
    if not isinstance(uri, Dataset):
        return absolute(uri), branch, Access.of(**given)
    if branch is not None and branch != uri.branch:
        raise InvalidArgument(
            f"branch={branch!r} contradicts the handle, which is on {uri.branch or 'main'!r}: leave branch= out"
        )
    return uri.uri, uri.branch, uri.snapshot.access.with_keywords(given)


class WriteOptions(AppendOptions, AccessOptions, total=False):
    """Keywords of `write` and `begin_write`; see `write`."""

    create: bool
    file_version: str | None
    stable_row_ids: bool | None
    merge_schema: bool
    compression: str | Mapping[str, str] | None
    compression_level: int | None
    config: Mapping[str, str] | None


@suggests_keywords
def begin_write(
    schema: pa.Schema,
    uri: str | os.PathLike[str] | Dataset,
    *,
    mode: Mode = "create",
    branch: str | None = None,
    **options: Unpack[WriteOptions],
) -> WriteJob:
    """Begins a write in two steps; raises errors as early as possible.

    schema: of the rows to write
    others, raises: as for `write`
    """
    check_keywords("begin_write", options, tuple(WriteOptions.__annotations__))
    if isinstance(uri, pa.Schema):
        raise InvalidArgument("The schema comes first, then the path: lance_sql.begin_write(schema, path)")
    return _write_job(uri, mode, branch, options, lambda _: schema)


@suggests_keywords
def write(
    data: object,
    uri: str | os.PathLike[str] | Dataset,
    *,
    mode: Mode = "create",
    schema: pa.Schema | None = None,
    branch: str | None = None,
    **options: Unpack[WriteOptions],
) -> Dataset:
    """Writes a table, or appends to one; a failed write leaves no files.

    uri: a path or URI; or a `Dataset`, whose branch is then used
    data: anything with `__arrow_c_stream__` (pyarrow, a DuckDB relation, Polars, a `Dataset`); a dataset, fragment or
        scanner of pyarrow or pylance; a Delta table, a table or scan of pyiceberg, a dataset of Hugging Face; a frame
        of pandas or GeoPandas, whose named index becomes columns, of Spark, or a lazy one of Polars, which are
        collected; a dict of columns, a list of dicts; or an iterable of record batches, tables, frames or dicts, such
        as the chunks of pandas. Streams are written as they arrive
    mode: "create" a table that must not exist; "append" to one, or "overwrite" all its rows and columns; both create a
        table that does not exist
    create: False raises TableNotFound if the table of "append" or "overwrite" does not exist; so does an append to a
        handle
    schema: of dicts, or of the parts of an iterable, if they do not define it
    branch: to append to, or to overwrite; main by default
    file_version: of the data files: "2.2" by default, "2.1" or "2.0"; a table keeps its version when rows are
        appended, unless another writer has already mixed versions in it
    stable_row_ids: rows keep their ids when they move, and have versions, which change queries need. On unless False;
        fixed when a table is created; see `Dataset.maintenance.enable_stable_row_ids`
    merge_schema: an append adds columns that the table lacks, which are NULL in its rows, in the same version. A
        concurrent change of columns by another writer is a retryable conflict
    max_rows_per_file, max_bytes_per_file: where a data file ends and the next one begins
    compression: "zstd" or "lz4" for all columns, or for some by name; stored with the table, and used for appended
        rows, too
    compression_level: of "zstd"; 3 by default
    config: keys of the table's config that the version which creates or overwrites it sets; see `Dataset.config.update`
    properties, job, progress: as for every change; see `Dataset.delete`
    txn_app_id, txn_version: make the write idempotent: an application assigns ascending numbers to its writes, and a
        write whose number, or a later one, the table already has is not repeated. The table's config has the last
        number: a cleanup keeps it, a branch has it, and a restore takes it back with the rows
    storage_options, allow_bases, cache, checksums: as for `lance_sql.open`
    manifest_store: arbitrates commits for a store without put-if-absent, and records the manifests of the table's
        versions; every reader and writer of the table must pass it
    raises: TableExists, TableNotFound; InvalidArgument for rows that do not fit; UnsupportedFeature for types that the
        file version does not hold; CommitConflict

    >>> lance_sql.write({"id": [1, 2], "name": ["a", "b"]}, path).version
    1
    """
    check_keywords("write", options, tuple(WriteOptions.__annotations__))
    _check_order(data, uri)
    rows: list[pa.RecordBatchReader] = []

    def schema_of(table: pa.Schema | None) -> pa.Schema:
        rows.append(to_reader(data, schema, table=table))
        return rows[0].schema

    job = _write_job(uri, mode, branch, options, schema_of)
    with reporting(options.get("progress")):
        return job.write(rows[0])


def _check_order(data: object, uri: object) -> None:
    """
    raises: InvalidArgument for a path in the place of the rows
    """
    if isinstance(data, str | os.PathLike) and not isinstance(uri, str | os.PathLike | Dataset):
        raise InvalidArgument(f"Rows come first, then the path: lance_sql.write(rows, {os.fspath(data)!r})")


def _write_job(
    uri: str | os.PathLike[str] | Dataset,
    mode: Mode,
    branch: str | None,
    options: WriteOptions,
    schema_of: Callable[[pa.Schema | None], pa.Schema],
) -> WriteJob:
    """Returns the job of a write.

    schema_of: the schema of the rows, from that of the table they are appended to
    """
    table_uri, branch, access = _resolved(uri, branch, access_options(options))
    compression, level = options.get("compression"), options.get("compression_level")
    limits = FileLimits(
        options.get("max_rows_per_file", MAX_ROWS_PER_FILE), options.get("max_bytes_per_file", MAX_BYTES_PER_FILE)
    )
    properties = check_properties(options.get("properties"))
    turn = once.turn(options.get("txn_app_id"), options.get("txn_version"))
    # the table of a handle was there: an append does not bring back one that was dropped or moved
    create = options.get("create", mode != "append" or not isinstance(uri, Dataset))
    snapshot = insert.existing(table_uri, mode, create=create, branch=branch, access=access)
    table = snapshot.manifest.schema.arrow if mode == "append" and snapshot is not None else None
    if table is not None and (compression is not None or level is not None):
        raise InvalidArgument("Appended rows use the compression of the table: leave compression= out")
    target = insert.target(
        table_uri,
        mode,
        snapshot,
        compressed(schema_of(table), compression, level),
        wanted_version=options.get("file_version"),
        stable_row_ids=options.get("stable_row_ids"),
        access=access,
        merge_schema=options.get("merge_schema", False),
        config=options.get("config"),
    )
    return WriteJob(target, limits, properties, turn=turn, job=commit_origin.checked_job(options.get("job")))
