"""An operation on a newer version than the one that it was computed from; both are known to go together.

Most operations need nothing: the manifest builder applies them to any version. Rows that two operations delete in one
fragment at the same time are the exception. Each has a deletion file of its own, and neither has all rows:

    read version    {1}
    ours            {1, 5}      affected: 5
    theirs          {1, 7}
    rebased         {1, 5, 7}   a new file; a conflict if theirs had 5 as well

Source: table format, transactions, rebase rules.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lance_sql.commit import lineage
from lance_sql.commit.operations import U32, Append, DataReplacement, Delete, Operation, Update, UpdateMode
from lance_sql.errors import RetryableConflict
from lance_sql.schema import Schema
from lance_sql.table import deletions
from lance_sql.table.fragments import DataFile, DeletionFileType, Fragment
from lance_sql.table.snapshot import Snapshot


def rebase(
    operation: Operation,
    read: Snapshot,
    latest: Snapshot,
    schemas: Sequence[Schema],
    affected_rows: Mapping[int, U32] | None,
) -> Operation:
    """The operation to commit after `latest`. Writes deletion files where rows were deleted on both sides.

    read: the version that the operation was computed from
    schemas: of all versions after it
    affected_rows: by fragment id, the physical offsets that the operation deletes and `read` did not
    raises: RetryableConflict when the same row was changed, or when columns changed their meaning
    """
    _check_columns(operation, [read.manifest.schema, *schemas])
    match operation:
        case Delete(updated, gone):
            kept, emptied = _rebased(updated, read, latest, affected_rows)
            return dataclasses.replace(operation, updated_fragments=tuple(kept), deleted_fragment_ids=(*gone, *emptied))
        case Update(mode=UpdateMode.REWRITE_ROWS):
            kept, emptied = _rebased(operation.updated_fragments, read, latest, affected_rows)
            return dataclasses.replace(
                operation,
                updated_fragments=tuple(kept),
                removed_fragment_ids=(*operation.removed_fragment_ids, *emptied),
            )
        case Update(updated_fragments=updated):
            ids = {fragment.id for fragment in updated}
            before, now = read.manifest.fragments.by_id(ids), latest.manifest.fragments.by_id(ids)
            for number in ids:
                if number not in now or now[number].files != before[number].files:
                    raise RetryableConflict(f"data files of fragment {number} were changed by another commit")
            return operation
        case _:
            return operation


def _rebased(
    fragments: Iterable[Fragment], read: Snapshot, latest: Snapshot, affected_rows: Mapping[int, U32] | None
) -> tuple[list[Fragment], list[int]]:
    """The fragments with the deletions of both sides, and the ids of those without any row left."""
    fragments = list(fragments)
    ids = {fragment.id for fragment in fragments}
    before, now = read.manifest.fragments.by_id(ids), latest.manifest.fragments.by_id(ids)
    kept: list[Fragment] = []
    emptied: list[int] = []
    for fragment in fragments:
        current = now.get(fragment.id)
        if current is None:
            raise RetryableConflict(f"fragment {fragment.id} was removed by another commit")
        if current.deletion_file == before[fragment.id].deletion_file:
            kept.append(fragment)
            continue
        if affected_rows is None or fragment.id not in affected_rows:
            raise RetryableConflict(f"rows of fragment {fragment.id} were deleted by another commit")
        num_rows = lineage.num_rows(latest, current)
        theirs = latest.deletions(current, num_rows)
        ours = affected_rows[fragment.id]
        merged = np.union1d(theirs, ours).astype(np.uint32)
        if len(merged) < len(theirs) + len(ours):
            raise RetryableConflict(f"a row of fragment {fragment.id} was changed by another commit")
        if len(merged) == num_rows:
            emptied.append(fragment.id)
            continue
        file = deletions.write(latest.store, fragment.id, latest.version, merged, kind=DeletionFileType.BITMAP)
        kept.append(dataclasses.replace(fragment, deletion_file=file))
    return kept, emptied


def _check_columns(operation: Operation, schemas: Sequence[Schema]) -> None:
    """Makes sure that the ids of fields in new data files still mean the columns that were written.

    An id that was dropped may be given to another column once no data file has it.

    schemas: from the version that was read up to the latest one
    raises: RetryableConflict
    """
    for field_id in {field_id for file in _new_files(operation) for field_id in file.fields}:
        last = schemas[-1].by_id.get(field_id)
        if last is None:
            continue
        for schema in schemas:
            field = schema.by_id.get(field_id)
            if field is None or (field.logical_type, field.parent_id) != (last.logical_type, last.parent_id):
                raise RetryableConflict(f"another commit made column {last.name!r} of what was another column")


def _new_files(operation: Operation) -> Iterable[DataFile]:
    match operation:
        case Append(fragments) | Update(new_fragments=fragments, mode=UpdateMode.REWRITE_ROWS):
            return [file for fragment in fragments for file in fragment.files]
        case Update(updated_fragments=updated, new_fragments=new):
            return [file for fragment in (*updated, *new) for file in fragment.files]
        case DataReplacement(replacements):
            return [each.file for each in replacements]
        case _:
            return ()
