"""Metadata tables: the versions, files, fragments, columns, tags, branches, cursors, rules, indices and metadata of a
table.

Each function takes the handle on a version and returns an Arrow table, for the command line and for SQL. A number that
the manifest does not record is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.table import versions as version_files
from lance_sql.table.location import branch_store
from lance_sql.table.refs import Ref

_FILES: Final = pa.schema(
    [
        ("fragment", pa.uint64()),
        ("kind", pa.string()),
        ("path", pa.string()),
        ("file_version", pa.string()),
        ("fields", pa.int64()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
_FRAGMENTS: Final = pa.schema(
    [
        ("fragment", pa.uint64()),
        ("rows", pa.int64()),
        ("deleted_rows", pa.int64()),
        ("data_files", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
_COLUMNS: Final = pa.schema(
    [("column", pa.string()), ("type", pa.string()), ("nullable", pa.bool_()), ("hidden", pa.bool_())]
)
_TIME: Final = pa.timestamp("us", "UTC")
_STATISTICS: Final = pa.schema(
    [
        ("column", pa.string()),
        ("type", pa.string()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("nulls", pa.int64()),
        ("smallest", pa.string()),
        ("largest", pa.string()),
        ("exact", pa.bool_()),
        ("distinct_values", pa.int64()),
    ]
)


def versions(dataset: Dataset, limit: int | None = None) -> pa.Table:
    """Returns one row for each version of the branch as of now, ascending, with its commit; see
    `Dataset.history`. `damage` is the reason why a version cannot be read.

    limit: the maximum number of versions, the newest ones
    """
    return dataset.history(limit).to_table()


def files(dataset: Dataset) -> pa.Table:
    """Returns one row for each data file and deletion file."""
    rows: list[dict[str, object]] = []
    for fragment in dataset.snapshot.manifest.fragments:
        rows += [
            {
                "fragment": fragment.id,
                "kind": "data",
                "path": f"data/{file.path}",
                "file_version": ".".join(map(str, file.file_version)),
                "fields": len(file.fields),
                "rows": fragment.physical_rows or None,
                "bytes": file.size_bytes or None,
            }
            for file in fragment.files
        ]
        deletions = fragment.deletion_file
        if deletions is not None:
            rows.append(
                {
                    "fragment": fragment.id,
                    "kind": "deletions",
                    "path": f"_deletions/{deletions.name(fragment.id)}",
                    "rows": deletions.num_deleted_rows or None,
                }
            )
    return pa.Table.from_pylist(rows, _FILES)


def fragments(dataset: Dataset) -> pa.Table:
    """Returns one row for each fragment: rows written, rows deleted since, files and bytes."""
    rows: list[dict[str, object]] = []
    for fragment in dataset.snapshot.manifest.fragments:
        deletions = fragment.deletion_file
        sizes = [file.size_bytes for file in fragment.files]
        rows.append(
            {
                "fragment": fragment.id,
                "rows": fragment.physical_rows or None,
                "deleted_rows": 0 if deletions is None else deletions.num_deleted_rows or None,
                "data_files": len(fragment.files),
                "bytes": sum(sizes) if all(sizes) else None,
            }
        )
    return pa.Table.from_pylist(rows, _FRAGMENTS)


def columns(dataset: Dataset) -> pa.Table:
    """Returns one row for each column; columns that must be selected by name (`_rowid`, ...) are last."""
    hidden = dataset.scan(dataset.system_columns).schema
    rows = [
        {"column": field.name, "type": str(field.type), "nullable": field.nullable, "hidden": is_hidden}
        for schema, is_hidden in ((dataset.schema, False), (hidden, True))
        for field in schema
    ]
    return pa.Table.from_pylist(rows, _COLUMNS)


def tags(dataset: Dataset) -> pa.Table:
    """Returns one row for each tag of the table as of now; `branch` is NULL for a version of main."""
    return _table("tag", "branch", dataset.tags.list())


def branches(dataset: Dataset) -> pa.Table:
    """Returns one row for each branch as of now: the branch and version that it began with, NULL for main."""
    return _table("branch", "parent", dataset.branches.list())


def cursors(dataset: Dataset) -> pa.Table:
    """Returns one row for each cursor as of now: the last version whose changes it has processed, and the number of
    versions committed to its branch since, which is NULL for a deleted branch."""
    records = list(dataset.cursors.list().values())
    newest = {record.branch: _newest(dataset, record.branch) for record in records}
    behind = [None if (last := newest[each.branch]) is None else last - each.position for each in records]
    return pa.table(
        {
            "cursor": pa.array([each.name for each in records], pa.string()),
            "branch": pa.array([each.branch for each in records], pa.string()),
            "position": pa.array([each.position for each in records], pa.uint64()),
            "versions_behind": pa.array(behind, pa.int64()),
            "needs_snapshot": pa.array([each.needs_snapshot for each in records], pa.bool_()),
            "created_at": pa.array([each.created_at for each in records], _TIME),
            "updated_at": pa.array([each.updated_at for each in records], _TIME),
        }
    )


def _newest(dataset: Dataset, branch: str | None) -> int | None:
    own = dataset.snapshot
    if branch is not None and branch not in own.branches():
        return None
    store = own.main if branch is None else branch_store(own.uri, branch, own.access)
    newest = version_files.newest(store)
    return None if newest is None else newest.version


def _table(name: str, of: str, refs: Mapping[str, Ref]) -> pa.Table:
    return pa.table(
        {
            name: pa.array(list(refs), pa.string()),
            of: pa.array([ref.branch for ref in refs.values()], pa.string()),
            "version": pa.array([ref.version for ref in refs.values()], pa.uint64()),
            "created_at": pa.array([ref.created_at for ref in refs.values()], _TIME),
        }
    )


def rules(dataset: Dataset) -> pa.Table:
    """Returns one row for each rule of the table."""
    from lance_sql.changes.contracts.rules import as_table

    return as_table(dataset.rules.list())


def indices(dataset: Dataset) -> pa.Table:
    """Returns one row for each index: its kind and columns, and the numbers of covered and uncovered fragments."""
    summaries = dataset.indices.list()
    return pa.table(
        {
            "name": pa.array([each.name for each in summaries], pa.string()),
            "kind": pa.array([each.kind for each in summaries], pa.string()),
            "columns": pa.array([", ".join(each.columns) for each in summaries], pa.string()),
            "segments": pa.array([each.num_segments for each in summaries], pa.int64()),
            "fragments": pa.array([each.num_fragments for each in summaries], pa.int64()),
            "uncovered": pa.array([each.num_uncovered for each in summaries], pa.int64()),
            "bytes": pa.array([each.size_bytes for each in summaries], pa.int64()),
        }
    )


def indexes(dataset: Dataset) -> pa.Table:
    """Returns one row for each index, with the names of columns of DuckDB's official extension."""
    summaries = dataset.indices.list()
    return pa.table(
        {
            "index_name": pa.array([each.name for each in summaries], pa.string()),
            "index_type": pa.array([each.kind for each in summaries], pa.string()),
            "column_names": pa.array([list(each.columns) for each in summaries], pa.list_(pa.string())),
            "rows_indexed": pa.array([each.num_rows for each in summaries], pa.int64()),
        }
    )


def statistics(dataset: Dataset) -> pa.Table:
    """Returns one row for each column; unknown values are NULL."""
    rows = [
        {
            "column": each.column,
            "type": str(each.type),
            "rows": each.num_rows,
            "bytes": each.num_bytes,
            "nulls": each.num_nulls,
            "smallest": _text(each.smallest),
            "largest": _text(each.largest),
            "exact": each.is_exact,
            "distinct_values": each.num_distinct,
        }
        for each in dataset.maintenance.statistics()
    ]
    return pa.Table.from_pylist(rows, _STATISTICS)


def config(dataset: Dataset) -> pa.Table:
    """Returns one row for each entry of the table's config."""
    return _entries(dataset.snapshot.manifest.config)


def table_metadata(dataset: Dataset) -> pa.Table:
    """Returns one row for each entry of the table's metadata."""
    return _entries(dataset.snapshot.manifest.table_metadata)


def schema_metadata(dataset: Dataset) -> pa.Table:
    """Returns one row for each entry of the schema's metadata."""
    return _entries(_decoded(dataset.schema.metadata))


def column_metadata(dataset: Dataset, column: str | None = None) -> pa.Table:
    """Returns one row for each entry of the metadata of a column, `a.b` for a member of a struct.

    column: the only one; None for all
    raises: ColumnNotFound
    """
    found = list(_with_members(dataset.schema))
    if column is not None:
        schema = dataset.snapshot.manifest.schema
        wanted = ".".join(field.name for field in schema.resolve(column))
        found = [(name, field) for name, field in found if name == wanted]
    rows = [(name, *entry) for name, field in found for entry in _decoded(field.metadata).items()]
    return pa.Table.from_arrays(
        [pa.array([row[at] for row in rows], pa.string()) for at in range(3)], ["column", "key", "value"]
    )


def _with_members(fields: Iterable[pa.Field], above: str = "") -> Iterator[tuple[str, pa.Field]]:
    for field in fields:
        yield above + field.name, field
        if pa.types.is_struct(field.type):
            yield from _with_members(field.type.fields, f"{above}{field.name}.")


def _decoded(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in (metadata or {}).items()}


def _entries(values: Mapping[str, str]) -> pa.Table:
    return pa.table({"key": pa.array(values, pa.string()), "value": pa.array(values.values(), pa.string())})


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else str(value)


def cursor_page(dataset: Dataset) -> str:
    """Renders the cursors of a table as of now, in one file that needs no network; the largest lag comes first.

    raises: MissingDependency where Jinja2 is not installed; CorruptFile
    """
    from lance_sql.values import html

    rows = cursors(dataset).to_pylist()
    gone = [row for row in rows if row["versions_behind"] is None]
    rows.sort(key=lambda row: (row["versions_behind"] is not None, -(row["versions_behind"] or 0), row["cursor"]))
    behind = [row for row in rows if row["versions_behind"]]
    return html.render(
        "cursors",
        table=dataset.snapshot.name,
        uri=dataset.uri,
        rows=rows,
        gone=gone,
        behind=behind,
        most=max((row["versions_behind"] for row in behind), default=0),
    )


TABLES: Final[Mapping[str, Callable[[Dataset], pa.Table]]] = {
    "versions": versions,
    "files": files,
    "fragments": fragments,
    "columns": columns,
    "tags": tags,
    "branches": branches,
    "cursors": cursors,
    "rules": rules,
    "indices": indices,
    "indexes": indexes,
    "statistics": statistics,
    "config": config,
    "table_metadata": table_metadata,
    "schema_metadata": schema_metadata,
    "column_metadata": column_metadata,
}
"""Metadata tables in SQL: `lance_versions` and so on."""
