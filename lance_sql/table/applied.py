"""State of the changes that were applied to a table, stored beside its rows; see `lance_sql.jobs.applying`.

    config  lance_sql.applied = {"keys": ["id"], "sequence": ["ts"], "scd": 1, "files": ["_applied/5c1f...arrow"],
                                 "fields": {"id": 0, "ts": 2}}

The files are written before the commit that names them, and never change. A restored or earlier version has its own
files. The last entry for a key counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import CorruptFile
from lance_sql.store import Store
from lance_sql.store.contract import ByteRange
from lance_sql.table.paths import APPLIED
from lance_sql.table.snapshot import Snapshot

KEY: Final = "lance_sql.applied"


@dataclass(frozen=True, slots=True)
class Applied:
    """Settings and files of the changes that were applied to a table.

    keys: columns that identify a row
    sequence: columns that order changes of a key; none if changes arrive in order
    scd: 1 for the latest row of each key, 2 for all of them
    files: of events that the rows do not record, the oldest first
    fields: ids of the key and sequence columns of the table, by name
    """

    keys: tuple[str, ...]
    sequence: tuple[str, ...]
    scd: int
    files: tuple[str, ...] = ()
    fields: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> str:
        """Returns the value for the config."""
        content: dict[str, Any] = {"keys": self.keys, "sequence": self.sequence, "scd": self.scd, "files": self.files}
        if self.fields:
            content["fields"] = dict(self.fields)
        return json.dumps(content, separators=(",", ":"))


def of(config: Mapping[str, str], table: str) -> Applied | None:
    """Reads the settings of applied changes from the config of a table; None without any.

    raises: CorruptFile
    """
    text = config.get(KEY)
    if text is None:
        return None
    try:
        content: Any = json.loads(text)
        applied = Applied(
            tuple(content["keys"]),
            tuple(content["sequence"]),
            content["scd"],
            tuple(content.get("files", ())),
            tuple((str(name), int(id)) for name, id in content.get("fields", {}).items()),
        )
    except (ValueError, RecursionError, TypeError, LookupError, AttributeError) as error:
        raise CorruptFile(f"{table}: {KEY} of its config has unknown content: {text[:80]!r}") from error
    names = (*applied.keys, *applied.sequence, *applied.files)
    if applied.scd not in (1, 2) or not applied.keys or not all(isinstance(name, str) for name in names):
        raise CorruptFile(f"{table}: {KEY} of its config has unknown content: {text[:80]!r}")
    if not all(path.startswith(f"{APPLIED}/") for path in applied.files):
        raise CorruptFile(f"{table}: {KEY} of its config names a file in another folder than {APPLIED}")
    return applied


def file_content(snapshot: Snapshot, path: str) -> pa.Buffer:
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
