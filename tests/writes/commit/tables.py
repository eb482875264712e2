"""Tables for the tests of commits: data files are pylance's, and both libraries have to read the same from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

import lance_sql
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.table import deletions, row_ids
from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U32
from lance_sql.writes.commit.committer import create
from lance_sql.writes.commit.operations import Delete, Overwrite, Update

SYSTEM = ("_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version")


def data_file(message: Mapping[str, Any]) -> DataFile:
    return DataFile(
        message["path"],
        tuple(message["fields"]),
        tuple(message["column_indices"]),
        (message["file_major_version"], message["file_minor_version"]),
        message["file_size_bytes"] or 0,
    )


def fragments(
    root: Path | str, table: pa.Table, *, file_version: str = "2.2", rows: int = 1 << 20, mode: str | None = None
) -> tuple[Fragment, ...]:
    """New fragments of these rows, which belong to no version yet."""
    written = lance.fragment.write_fragments(
        table,
        str(root),
        mode=mode or ("append" if (Path(root) / "_versions").exists() else "create"),
        data_storage_version=file_version,
        max_rows_per_file=rows,
    )
    messages = [fragment.to_json() for fragment in written]
    return tuple(
        Fragment(0, tuple(data_file(file) for file in message["files"]), None, message["physical_rows"])
        for message in messages
    )


def table(keys: Iterable[int], value: str = "v") -> pa.Table:
    keys = list(keys)
    return pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array([f"{value}{key}" for key in keys], pa.string())})


def created(root: Path | str, keys: Iterable[int] = range(6), *, rows: int = 3, **options: Any) -> Snapshot:
    """A new table, of fragments of `rows` rows."""
    content = table(keys)
    file_version = options.get("file_version", "2.2")
    new = fragments(root, content, file_version=file_version, rows=rows)
    return create(str(root), Overwrite(new, from_arrow(content.schema)), **options)


def latest(root: Path | str) -> Snapshot:
    return open_snapshot(str(root))


def deletion(
    snapshot: Snapshot, rows: Mapping[int, Sequence[int]], *, write: bool = True
) -> tuple[Delete, dict[int, U32]]:
    """The operation that deletes rows by fragment and offset, and its affected rows."""
    updated, removed, affected = [], [], {}
    for number, fragment in snapshot.manifest.fragments.by_id(set(rows)).items():
        affected[number] = np.array(sorted(rows[number]), np.uint32)
        offsets = np.union1d(snapshot.open(fragment).deletions, affected[number]).astype(np.uint32)
        if len(offsets) == fragment.physical_rows:
            removed.append(number)
        else:
            file = deletions.write(snapshot.store, number, snapshot.version, offsets)
            updated.append(dataclasses.replace(fragment, deletion_file=file))
    return Delete(tuple(updated), tuple(removed), "by hand"), affected


def update(snapshot: Snapshot, rows: Mapping[int, Sequence[int]], new: pa.Table) -> tuple[Update, dict[int, U32]]:
    """The operation that replaces rows by the first of `new`; what `new` has more of is inserted."""
    gone, affected = deletion(snapshot, rows)
    carried: list[int] = []
    if snapshot.manifest.has_stable_row_ids:
        for number, fragment in snapshot.manifest.fragments.by_id(set(rows)).items():
            carried += snapshot.open(fragment).row_id_sequence.take(affected[number].astype(np.int64)).tolist()
    (fragment,) = fragments(snapshot.uri, new)
    fragment = dataclasses.replace(fragment, row_ids=row_ids.serialize(np.array(carried, np.uint64)))
    operation = Update(
        removed_fragment_ids=gone.deleted_fragment_ids,
        updated_fragments=gone.updated_fragments,
        new_fragments=(fragment,),
        fields_for_preserving_frag_bitmap=(1,),
    )
    return operation, affected


def rows(root: Path | str, version: int | None = None) -> list[dict[str, Any]]:
    """The rows in scan order with their system columns, in which both libraries agree."""
    ours = lance_sql.open(str(root), version=version)
    theirs = lance.dataset(str(root), version=version)
    system = [name for name in SYSTEM if name in ours.system_columns]
    names = [*ours.schema.names, *system]
    found: list[dict[str, Any]] = ours.scan(columns=names).to_table().to_pylist()
    assert found == theirs.scanner(columns=names).to_table().to_pylist()
    assert ours.count_rows() == theirs.count_rows() == len(found)
    if found and "_rowid" in system:
        ids = [row["_rowid"] for row in found]
        assert len(set(ids)) == len(ids)
        taken = [{name: row[name] for name in theirs.schema.names} for row in found]
        # In the order of the ids asked for.
        assert theirs._take_rows(ids[::-1]).to_pylist() == taken[::-1]
        assert lance_sql.open(str(root), version=version).take(ids[::-1]).to_pylist() == taken[::-1]
    return found


def keys(root: Path | str) -> list[int]:
    return sorted(row["k"] for row in rows(root))


def history(root: Path | str) -> dict[int, tuple[int, int, int]]:
    """Row id, version that inserted it, and version that changed it last, by key."""
    return {row["k"]: (row["_rowid"], row[SYSTEM[2]], row[SYSTEM[3]]) for row in rows(root)}


def extend_with_pylance(root: Path | str) -> None:
    """What pylance does to the table afterwards; it must understand all of it."""
    key = max(keys(root), default=0) + 1000
    before = history(root) if lance.dataset(str(root)).has_stable_row_ids else {}
    dataset = lance.dataset(str(root))
    more = table([key, key + 1])
    more = more.select([name for name in dataset.schema.names if name in more.column_names])
    dataset = lance.write_dataset(more, str(root), mode="append")
    dataset.update({"k": "k + 1"}, where=f"k = {key + 1}")
    dataset.delete(f"k = {key}")
    dataset.optimize.compact_files()
    if before:
        after = history(root)
        assert {key: after[key] for key in before} == before
