"""Rebase of an operation on a newer version than the one it was computed from; the two are compatible.

Most operations need no change: the manifest builder applies them to any version. Concurrent deletions in one
fragment are the exception. Each has a deletion file of its own, and neither has all rows:

    read version    {1}
    ours            {1, 5}      affected: 5
    theirs          {1, 7}
    rebased         {1, 5, 7}   a new file; a conflict if theirs had 5 as well

The transactions show that both are compatible. The replaced or removed content is still compared with the current
one: an incomplete transaction must not make changes of another writer disappear.

Source: table format, transactions, rebase rules.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lance_sql.errors import RetryableConflict
from lance_sql.format.schema import Field, Schema
from lance_sql.table import deletions
from lance_sql.table.fragment import DataFile, DeletionFileType, Fragment
from lance_sql.table.indices import IndexSegment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U32
from lance_sql.writes.commit.operations import (
    Append,
    CreateIndex,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Project,
    Rewrite,
    Update,
    UpdateMode,
)


@dataclass(frozen=True, slots=True)
class Committed:
    """Operation that another writer committed, and the schema of its version."""

    operation: Operation
    schema: Schema


def rebase(
    operation: Operation,
    read: Snapshot,
    latest: Snapshot,
    others: Sequence[Committed],
    affected_rows: Mapping[int, U32] | None,
) -> Operation:
    """Returns the operation to commit after `latest`. Writes deletion files for fragments with deletions on both
    sides.

    read: the version that the operation was computed from
    others: commits after it, up to `latest`
    affected_rows: by fragment id, the physical offsets that the operation deletes and `read` did not
    raises: RetryableConflict if the same row was changed, if columns changed their meaning, or if other replaced
        content has changed
    """
    _check_unchanged(operation, read, latest)
    _check_columns(operation, read.manifest.schema, others)
    match operation:
        case Delete(updated, deleted):
            updated_fragments, emptied = _rebased(updated, read, latest, affected_rows)
            return dataclasses.replace(
                operation, updated_fragments=tuple(updated_fragments), deleted_fragment_ids=(*deleted, *emptied)
            )
        case Update(mode=UpdateMode.REWRITE_ROWS):
            updated_fragments, emptied = _rebased(operation.updated_fragments, read, latest, affected_rows)
            return dataclasses.replace(
                operation,
                updated_fragments=tuple(updated_fragments),
                removed_fragment_ids=(*operation.removed_fragment_ids, *emptied),
            )
        case Merge(new_fragments=new) if new:
            return dataclasses.replace(operation, fragments=tuple(latest.manifest.fragments))
        case CreateIndex(new, _):
            if read.manifest.has_stable_row_ids != latest.manifest.has_stable_row_ids:
                raise RetryableConflict("another commit enabled stable row ids")
            return dataclasses.replace(operation, new_indices=tuple(_still_covered(each, read, latest) for each in new))
        case _:
            return operation


def _still_covered(segment: IndexSegment, read: Snapshot, latest: Snapshot) -> IndexSegment:
    """Returns a new segment without the fragments whose indexed columns were changed in place since they were read."""
    if segment.fragment_ids is None:
        return segment
    before = read.manifest.fragments.by_id(segment.fragment_ids)
    now = latest.manifest.fragments.by_id(segment.fragment_ids)
    changed = {
        number
        for number, fragment in before.items()
        if number in now and any(fragment.file_of(field) != now[number].file_of(field) for field in segment.field_ids)
    }
    return dataclasses.replace(segment, fragment_ids=segment.fragment_ids - changed) if changed else segment


def _check_unchanged(operation: Operation, read: Snapshot, latest: Snapshot) -> None:
    """Makes sure that the content that the operation replaces or removes is unchanged since it was read.

    raises: RetryableConflict
    """
    before, now = read.manifest, latest.manifest
    if isinstance(operation, Merge | Project) and before.schema != now.schema:
        raise RetryableConflict("columns were changed by another commit")
    match operation:
        case Merge(new_fragments=new) if not new:
            if before.fragments.ids != now.fragments.ids:
                raise RetryableConflict("rows were added or moved by another commit")
            _check_fragments(before.fragments, read, latest, deletions_too=True)
            if operation.next_row_id is not None and operation.drops_indices and read.indices() != latest.indices():
                raise RetryableConflict("indices were changed by another commit")
        case Project(preserves_nullability=False):
            _check_no_new_values(read, latest)
        case Delete(updated, removed) | Update(updated_fragments=updated, removed_fragment_ids=removed):
            _check_fragments(before.fragments.by_id(set(removed)).values(), read, latest, deletions_too=True)
            _check_fragments(updated, read, latest)
        case Rewrite(groups):
            for group in groups:
                _check_fragments(group.old_fragments, read, latest, deletions_too=True)
        case DataReplacement(replacements):
            for each in replacements:
                fragments = before.fragments.by_id({each.fragment_id}).values()
                _check_fragments(fragments, read, latest, each.file.fields)


def _check_fragments(
    fragments: Iterable[Fragment],
    read: Snapshot,
    latest: Snapshot,
    field_ids: Iterable[int] | None = None,
    *,
    deletions_too: bool = False,
) -> None:
    """Makes sure that fragments still exist, with unchanged values.

    field_ids: fields to compare; all without it
    raises: RetryableConflict
    """
    ids = {fragment.id for fragment in fragments}
    before, now = read.manifest.fragments.by_id(ids), latest.manifest.fragments.by_id(ids)
    counted = latest.manifest.schema.by_id if field_ids is None else field_ids
    for number in ids:
        if number not in now:
            raise RetryableConflict(f"fragment {number} was removed by another commit")
        old, new = before.get(number), now[number]
        if old is None or any(old.file_of(field) != new.file_of(field) for field in counted):
            raise RetryableConflict(f"data files of fragment {number} were changed by another commit")
        if deletions_too and old.deletion_file != new.deletion_file:
            raise RetryableConflict(f"rows of fragment {number} were deleted by another commit")


def _check_no_new_values(read: Snapshot, latest: Snapshot) -> None:
    """Makes sure that no rows or values were added, which a column might no longer allow."""
    ids = set(latest.manifest.fragments.ids)
    if not ids <= set(read.manifest.fragments.ids):
        raise RetryableConflict("rows were added or moved by another commit")
    _check_fragments(read.manifest.fragments.by_id(ids).values(), read, latest)


def _rebased(
    fragments: Iterable[Fragment], read: Snapshot, latest: Snapshot, affected_rows: Mapping[int, U32] | None
) -> tuple[list[Fragment], list[int]]:
    """Returns the fragments with the deletions of both sides, and the ids of those without any row left."""
    fragments = list(fragments)
    ids = {fragment.id for fragment in fragments}
    before, now = read.manifest.fragments.by_id(ids), latest.manifest.fragments.by_id(ids)
    remaining: list[Fragment] = []
    emptied: list[int] = []
    deleted: dict[int, U32] = {}
    for fragment in fragments:
        current = now[fragment.id]
        if current.deletion_file == before[fragment.id].deletion_file:
            remaining.append(fragment)
            continue
        if affected_rows is None or fragment.id not in affected_rows:
            raise RetryableConflict(f"rows of fragment {fragment.id} were deleted by another commit")
        opened = latest.open(current)
        num_rows, theirs = opened.num_rows, opened.deletions
        ours = affected_rows[fragment.id]
        merged = np.union1d(theirs, ours).astype(np.uint32)
        if len(merged) < len(theirs) + len(ours):
            raise RetryableConflict(f"a row of fragment {fragment.id} was changed by another commit")
        if len(merged) == num_rows:
            emptied.append(fragment.id)
            continue
        deleted[fragment.id] = merged
        remaining.append(fragment)
    # a conflict leaves no files behind
    files = deletions.write_all(latest.store, latest.version, deleted, kind=DeletionFileType.BITMAP)
    rebased = [
        dataclasses.replace(each, deletion_file=files[each.id]) if each.id in files else each for each in remaining
    ]
    return rebased, emptied


def _check_columns(operation: Operation, read: Schema, others: Sequence[Committed]) -> None:
    """Makes sure that the fields of new data files are still the columns that were written.

    A change of a column's type gives it another field, whose values the new files do not have: they would read as
    NULL. So would values of a dropped column that was replaced by a new one of the same name. Values of a dropped
    column are dropped with it, unless the file contains nothing else. A dropped id may be given to another column
    once no data file has it.

    raises: RetryableConflict
    """
    schemas = [read, *(other.schema for other in others)]
    last = schemas[-1]
    replaced = _replaced(schemas, others)
    for file in _new_files(operation):
        for field_id in file.fields:
            if field_id in replaced:
                raise RetryableConflict(f"another commit replaced column {replaced[field_id]!r}")
            field = last.by_id.get(field_id)
            if field is not None and any(_meaning(schema.by_id.get(field_id)) != _meaning(field) for schema in schemas):
                raise RetryableConflict(f"another commit changed the type or parent of column {field.name!r}")
        earlier_fields = [field_id for field_id in file.fields if field_id in read.by_id]
        if earlier_fields and not any(field_id in last.by_id for field_id in earlier_fields):
            raise RetryableConflict("other commits dropped every column with new values")


def _replaced(schemas: Sequence[Schema], others: Sequence[Committed]) -> dict[int, str]:
    """Returns the names of fields that were replaced by others, by their ids."""
    last = schemas[-1]
    paths = {_path(last, field_id) for field_id in last.by_id}
    replaced: dict[int, str] = {}
    for before, other in zip(schemas, others, strict=False):
        for field_id in before.by_id.keys() - other.schema.by_id.keys():
            path = _path(before, field_id)
            # a commit that only drops columns is a `Project`
            if path in paths or not isinstance(other.operation, Project):
                replaced[field_id] = ".".join(path)
    return {field_id: name for field_id, name in replaced.items() if field_id not in last.by_id}


def _path(schema: Schema, field_id: int) -> tuple[str, ...]:
    """Returns the names of a field and its ancestors, from the top."""
    names: list[str] = []
    field = schema.by_id.get(field_id)
    while field is not None:
        names.append(field.name)
        field = schema.by_id.get(field.parent_id)
    return tuple(reversed(names))


def _meaning(field: Field | None) -> tuple[str, int] | None:
    return None if field is None else (field.logical_type, field.parent_id)


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
