"""Conflict matrix: whether an operation is compatible with one that was committed since its version was read.

The matrix has a row for the operation to commit, and a column for the committed one.

    .    compatible
    R    retryable: compute the change again from the latest version
    X    incompatible
    ...  a rule below, by its name

Both kinds of update have a row and a column: `update` moves rows to new fragments, `columns` changes them in place.
A merge that adds rows has its own row, because it changes no existing rows. Once committed, it is a `merge`.

Source: table format, transactions, conflict matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Final
from uuid import UUID

from lance_sql.writes.commit.operations import (
    Append,
    Clone,
    CreateIndex,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Other,
    Overwrite,
    Project,
    ReserveFragments,
    Restore,
    Rewrite,
    Update,
    UpdateBases,
    UpdateConfig,
    UpdateMap,
    UpdateMode,
)


class Outcome(Enum):
    """Compatibility of two operations."""

    COMPATIBLE = "."
    RETRYABLE = "R"
    INCOMPATIBLE = "X"


# fmt: off
_COLUMNS: Final = (
    "append", "delete", "update", "columns", "overwrite", "create_index", "rewrite", "merge", "project", "restore",
    "reserve", "config", "replace", "bases", "mem_wal", "overlay",
)
_MATRIX: Final[Mapping[str, str]] = {
    #            app  del  upd   cols  ovw  index  rewr  merge proj    rest resv cfg  repl   bases wal overlay
    "append":    ".   .    .     .     X    .      .     null  null    X    .    .    .      .     X   .",
    "delete":    ".   rows rows  same  X    .      same  R     .       X    .    .    same   .     X   .",
    "update":    ".   rows rows  same  X    .      same  R     null    X    .    .    same   .     R   R",
    "columns":   ".   same same  same  X    .      same  R     null    X    .    .    same   .     R   R",
    "create_index": ". .  .     .     X    names  index  .     .       X    .    .    fields .     X   R",
    "overwrite": ".   .    .     .     keys .      .     .     .       .    .    keys .      .     X   .",
    "rewrite":   ".   same same  same  X    index  same  R     .       X    .    .    same   .     .   same",
    "merge":     "R   R    R     R     X    .      R     R     X       X    .    meta R      .     X   R",
    "append_columns": ". .  .    .     X    .      .     R     R       X    .    meta .      .     X   R",
    "project":   "null .   null  null  X    .      .     R     R       X    .    .    null   .     X   null",
    "restore":   ".   .    .     .     .    .      .     .     .       .    .    .    .      .     X   .",
    "reserve":   ".   .    .     .     X    .      .     .     .       X    .    .    .      .     .   .",
    "config":    ".   .    .     .     keys .      .     meta  .       .    .    keys .      .     .   .",
    "replace":   ".   gone moved moved X    fields same  R     dropped X    .    .    fields .     X   .",
}
# fmt: on


def judge(ours: Operation, theirs: Operation) -> Outcome:
    """Returns whether `ours` can be committed after `theirs`, which the version it was computed from does not
    include."""
    column = _kind(theirs)
    if column is None:
        return Outcome.INCOMPATIBLE
    row = _kind(ours)
    assert row is not None, f"{ours} is judged, never committed"
    entry = _MATRIX[row].split()[_COLUMNS.index(column)]
    rule = _RULES.get(entry)
    return rule(ours, theirs) if rule is not None else Outcome(entry)


def can_be_committed(operation: Operation) -> bool:
    """Whether the matrix has a row for the operation. Others are only columns, for commits of other writers."""
    return _kind(operation) in _MATRIX


def adds_rows(operation: Operation) -> bool:
    """Whether an operation may add rows or keys."""
    match operation:
        case Append():
            return True
        case Merge():
            return bool(operation.new_fragments)
        case Update():
            return bool(operation.new_fragments or operation.fields_modified)
        case _:
            return isinstance(operation, DataReplacement)


def touched(operation: Operation) -> set[int]:
    """Returns the ids of the existing fragments that an operation changes or removes."""
    match operation:
        case Delete(updated, deleted):
            return {*deleted, *(fragment.id for fragment in updated)}
        case Update():
            return {*operation.removed_fragment_ids, *(fragment.id for fragment in operation.updated_fragments)}
        case Rewrite(groups):
            return {fragment.id for group in groups for fragment in group.old_fragments}
        case DataReplacement(replacements):
            return {each.fragment_id for each in replacements}
        case _:
            return set()


def removed(operation: Operation) -> set[int]:
    """Returns the ids of the existing fragments that an operation removes."""
    match operation:
        case Delete(_, deleted):
            return set(deleted)
        case Update():
            return set(operation.removed_fragment_ids)
        case Rewrite():
            return touched(operation)
        case _:
            return set()


def _kind(operation: Operation) -> str | None:
    """Returns the row or column of an operation; None for one that is compatible with nothing."""
    match operation:
        case Update():
            in_place = operation.mode is UpdateMode.REWRITE_COLUMNS or operation.fields_modified
            return "columns" if in_place else "update"
        case Other(name):
            return _OTHERS.get(name or "")
        case Clone():
            # First of its history: no version can have been read before it.
            return None
        case Merge(new_fragments=new) if new:
            return "append_columns"
        case _:
            return _KINDS[type(operation)]


_KINDS: Final[Mapping[type, str]] = {
    Append: "append",
    Delete: "delete",
    Overwrite: "overwrite",
    CreateIndex: "create_index",
    Rewrite: "rewrite",
    Merge: "merge",
    Project: "project",
    Restore: "restore",
    ReserveFragments: "reserve",
    UpdateConfig: "config",
    DataReplacement: "replace",
    UpdateBases: "bases",
}
_OTHERS: Final[Mapping[str, str]] = {"update_mem_wal_state": "mem_wal", "data_overlay": "overlay"}


def _same_fragment(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether both change a fragment. The fragments of an overlay are unknown."""
    common = isinstance(theirs, Other) or touched(ours) & touched(theirs)
    return Outcome.RETRYABLE if common else Outcome.COMPATIBLE


def _same_rows(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether one removes a fragment in which the other deletes rows. Rebasing finds out whether both delete
    the same row."""
    removed_fragments = (removed(ours) & touched(theirs)) | (touched(ours) & removed(theirs))
    return Outcome.RETRYABLE if removed_fragments else Outcome.COMPATIBLE


def _missing_values(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether one changes the schema so that rows without its columns are invalid, and the other adds rows or
    values."""
    for operation in (ours, theirs):
        if isinstance(operation, Merge | Project) and not operation.preserves_nullability:
            return Outcome.RETRYABLE
    return Outcome.COMPATIBLE


def _same_keys(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether both set a key of the config, or change the same metadata."""
    keys = _config_keys(ours), _config_keys(theirs)
    if keys[0] & keys[1] or (_replaces_config(ours) and keys[1]) or (keys[0] and _replaces_config(theirs)):
        return Outcome.INCOMPATIBLE
    match ours, theirs:
        case Overwrite(), Overwrite():
            return Outcome.RETRYABLE
        case UpdateConfig(), Overwrite():
            return Outcome.INCOMPATIBLE if _changes_schema(ours) else Outcome.COMPATIBLE
        case UpdateConfig(), UpdateConfig():
            return Outcome.INCOMPATIBLE if _metadata(ours) & _metadata(theirs) else Outcome.COMPATIBLE
        case _:
            return Outcome.COMPATIBLE


def _schema_metadata(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether metadata of the schema or its fields changes concurrently with a merge."""
    changes = any(isinstance(operation, UpdateConfig) and _changes_schema(operation) for operation in (ours, theirs))
    return Outcome.RETRYABLE if changes else Outcome.COMPATIBLE


def _indexed_fragment(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether a new index covers a fragment that moves."""
    indexed, moved = (ours, theirs) if isinstance(ours, CreateIndex) else (theirs, ours)
    assert isinstance(indexed, CreateIndex)
    for index in indexed.new_indices:
        if index.fragment_ids is None or index.fragment_ids & touched(moved):
            return Outcome.RETRYABLE
    return Outcome.COMPATIBLE


def _same_index(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether both change an index of one name, or the same segment."""
    assert isinstance(ours, CreateIndex)
    assert isinstance(theirs, CreateIndex)
    names, uuids = zip(*(_segments(operation) for operation in (ours, theirs)), strict=True)
    common = names[0] & names[1] or uuids[0] & uuids[1]
    return Outcome.RETRYABLE if common else Outcome.COMPATIBLE


def _segments(operation: CreateIndex) -> tuple[set[str], set[UUID]]:
    """Returns the names and uuids of all segments that an operation adds or removes."""
    segments = (*operation.new_indices, *operation.removed_indices)
    return {segment.name for segment in segments}, {segment.uuid for segment in segments}


def _replaced_gone(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether a fragment whose column is replaced was removed."""
    return Outcome.INCOMPATIBLE if touched(ours) & removed(theirs) else Outcome.COMPATIBLE


def _replaced_moved(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether rows of a fragment whose column is replaced moved, or the column was rewritten."""
    assert isinstance(ours, DataReplacement)
    assert isinstance(theirs, Update)
    if touched(ours) & removed(theirs):
        return Outcome.INCOMPATIBLE
    common = touched(ours) & touched(theirs)
    if common and (_kind(theirs) == "update" or _replaced(ours) & set(theirs.fields_modified)):
        return Outcome.RETRYABLE
    return Outcome.COMPATIBLE


def _replaced_dropped(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether a replaced column was dropped."""
    assert isinstance(theirs, Project)
    return Outcome.COMPATIBLE if _replaced(ours) <= set(theirs.schema.by_id) else Outcome.INCOMPATIBLE


def _replaced_fields(ours: Operation, theirs: Operation) -> Outcome:
    """Tests whether a replaced column was indexed, or replaced in the same fragment."""
    match ours, theirs:
        case (CreateIndex(new, _), other) | (other, CreateIndex(new, _)):
            common: Collection[int] = _replaced(other) & {field for index in new for field in index.field_ids}
        case _:
            common = touched(ours) & touched(theirs) and _replaced(ours) & _replaced(theirs)
    return Outcome.RETRYABLE if common else Outcome.COMPATIBLE


_RULES: Final[Mapping[str, Callable[[Operation, Operation], Outcome]]] = {
    "same": _same_fragment,
    "rows": _same_rows,
    "null": _missing_values,
    "keys": _same_keys,
    "meta": _schema_metadata,
    "index": _indexed_fragment,
    "names": _same_index,
    "gone": _replaced_gone,
    "moved": _replaced_moved,
    "dropped": _replaced_dropped,
    "fields": _replaced_fields,
}


def _replaced(operation: Operation) -> set[int]:
    assert isinstance(operation, DataReplacement)
    return {field for each in operation.replacements for field in each.file.fields}


def _config_keys(operation: Operation) -> set[str]:
    match operation:
        case Overwrite():
            return set(operation.config_upserts)
        case UpdateConfig(config=UpdateMap(entries)):
            return set(entries)
        case _:
            return set()


def _replaces_config(operation: Operation) -> bool:
    return isinstance(operation, UpdateConfig) and operation.config is not None and operation.config.replace


def _changes_schema(operation: UpdateConfig) -> bool:
    return operation.schema_metadata is not None or bool(operation.field_metadata)


def _metadata(operation: UpdateConfig) -> set[object]:
    """Returns the metadata that an update changes, without the config."""
    targets: set[object] = set(operation.field_metadata)
    if operation.table_metadata is not None:
        targets.add("table")
    if operation.schema_metadata is not None:
        targets.add("schema")
    return targets
