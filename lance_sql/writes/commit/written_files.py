"""Files written for an operation, which have checksums. Files of other versions have none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lance_sql.store.checksums import Checksum
from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.paths import DATA, DELETIONS, INDICES
from lance_sql.writes.commit.operations import (
    Append,
    CreateIndex,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Overwrite,
    Rewrite,
    Update,
)


def checksums(operation: Operation) -> dict[str, Checksum]:
    """Returns the checksums of new files below the table's root, by path."""
    checksums_by_path = {
        f"{DATA}/{file.path}": file.checksum for file in _data_files(operation) if file.base_id is None
    }
    checksums_by_path |= _deletions(operation)
    if isinstance(operation, CreateIndex):
        for segment in operation.new_indices:
            checksums_by_path |= {f"{INDICES}/{segment.uuid}/{name}": each for name, each in segment.checksums.items()}
    return {path: checksum for path, checksum in checksums_by_path.items() if checksum is not None}


def deletion_files(operation: Operation) -> Iterator[str]:
    """Returns the paths of deletion files with checksums, which were written for an operation."""
    return (path for path, checksum in _deletions(operation).items() if checksum is not None)


def data_files(operation: Operation) -> Iterator[DataFile]:
    """Returns the data files with checksums, which were written for an operation."""
    return (file for file in _data_files(operation) if file.checksum is not None)


def _deletions(operation: Operation) -> dict[str, Checksum | None]:
    files = ((fragment.id, fragment.deletion_file) for fragment in _fragments(operation))
    return {
        f"{DELETIONS}/{file.name(number)}": file.checksum
        for number, file in files
        if file is not None and file.base_id is None
    }


def _data_files(operation: Operation) -> Iterator[DataFile]:
    if isinstance(operation, DataReplacement):
        yield from (each.file for each in operation.replacements)
    for fragment in _fragments(operation):
        yield from fragment.files


def _fragments(operation: Operation) -> Iterable[Fragment]:
    match operation:
        case Append(fragments) | Overwrite(fragments=fragments):
            return fragments
        case Delete(updated):
            return updated
        case Update(updated_fragments=updated, new_fragments=new) | Merge(fragments=updated, new_fragments=new):
            return (*updated, *new)
        case Rewrite(groups):
            return [fragment for group in groups for fragment in group.new_fragments]
        case _:
            return ()
