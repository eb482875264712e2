"""What a table consists of, as tables of its own."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.dataset import Dataset


def columns(dataset: Dataset) -> pa.Table:
    """The columns of a version and its hidden columns."""
    rows = [
        {"column": field.name, "type": str(field.type), "nullable": field.nullable, "hidden": False}
        for field in dataset.schema
    ]
    hidden = dataset.scan(dataset.system_columns).schema
    rows += [
        {"column": field.name, "type": str(field.type), "nullable": field.nullable, "hidden": True} for field in hidden
    ]
    return pa.Table.from_pylist(rows)


def versions(dataset: Dataset, limit: int | None) -> pa.Table:
    """The versions, ascending; only the newest `limit` of them."""
    shown = dataset.versions()
    shown = shown[-limit:] if limit is not None else shown
    names: dict[int, list[str]] = {}
    for name, tag in dataset.tags().items():
        if tag.branch == dataset.branch:
            names.setdefault(tag.version, []).append(name)
    return pa.table(
        {
            "version": pa.array([info.version for info in shown], pa.int64()),
            "timestamp": pa.array([info.timestamp for info in shown], pa.timestamp("us", "UTC")),
            "operation": pa.array(["(damaged)" if info.damage else info.operation for info in shown], pa.string()),
            "fragments": pa.array([info.num_fragments for info in shown], pa.int64()),
            "tags": pa.array([", ".join(names.get(info.version, [])) or None for info in shown], pa.string()),
        }
    )


def files(dataset: Dataset) -> pa.Table:
    """The files of a version, one row each; a number that is not recorded is NULL."""
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


_FILES = pa.schema(
    [
        ("fragment", pa.int64()),
        ("kind", pa.string()),
        ("path", pa.string()),
        ("file_version", pa.string()),
        ("fields", pa.int64()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
