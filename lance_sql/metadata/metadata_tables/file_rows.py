"""The fragments of a version, and their files. A number that the manifest does not record is NULL."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from lance_sql.dataset import Dataset

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


def files(dataset: Dataset) -> pa.Table:
    """One row for each data file and deletion file."""
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
    """One row for each fragment: rows that were written, those of them that were deleted since, files and bytes."""
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
