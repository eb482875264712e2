"""Files with the state of applied changes that the rows of a table do not record, at any base path."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from lance_sql.errors import CorruptFile
from lance_sql.store import Store
from lance_sql.store.contract import ByteRange
from lance_sql.table.snapshot import Snapshot


def content(snapshot: Snapshot, path: str) -> pa.Buffer:
    """Returns the content of one file. A branch or a clone uses the files of its source table.

    raises: CorruptFile for a missing file
    """
    for store in _stores(snapshot):
        try:
            size, _ = store.tail(path, 0)
        except FileNotFoundError:
            continue
        (found,) = store.get_ranges(path, [ByteRange(0, size)])
        return found
    raise CorruptFile(
        "the state file of applied changes is missing: restore a version without one, or apply all changes to a new"
        " table"
    )


def _stores(snapshot: Snapshot) -> Iterator[Store]:
    yield snapshot.store
    for base in snapshot.manifest.base_paths.values():
        if base.is_dataset_root:
            yield snapshot.open_fragments.files.base_store(base.id)
