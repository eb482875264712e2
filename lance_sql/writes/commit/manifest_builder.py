"""Builder of the next manifest from a version and a compatible operation. One function for each operation.

All values that depend on the version, such as ids, come from a `Draft`, and are computed again in every attempt.

Source: table format, transactions, building the manifest; row lineage, what each operation does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import numpy as np

from lance_sql.errors import CommitConflict, InvalidArgument, UnsupportedFeature, VersionNotFound
from lance_sql.format.schema import Schema
from lance_sql.table import applied, features, indices, row_ids, versions
from lance_sql.table.fragment import TOMBSTONE, Fragment
from lance_sql.table.fragments import Fragments
from lance_sql.table.manifest import COMMENT, Manifest
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.bitmaps import U64Set
from lance_sql.writes.commit import assigned_row_ids, data_files, metadata, unique_fragment_ids
from lance_sql.writes.commit.draft import MAX_FRAGMENT_ID, Draft, NextVersion
from lance_sql.writes.commit.operations import (
    Append,
    CreateIndex,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Overwrite,
    Project,
    ReserveFragments,
    Restore,
    Rewrite,
    Update,
    UpdateConfig,
    UpdateMode,
)


def first_version(
    operation: Overwrite, *, stable_row_ids: bool, file_version: str, timestamp: datetime, transaction_file: str
) -> NextVersion:
    """Builds the first version of a table.

    file_version: of its data files, such as "2.2"
    raises: InvalidArgument
    """
    nothing = Manifest(
        version=0,
        timestamp=timestamp,
        schema=operation.schema,
        fragments=Fragments.of(()),
        reader_flags=features.STABLE_ROW_IDS if stable_row_ids else 0,
        writer_flags=0,
        max_fragment_id=None,
        next_row_id=0,
        data_format=file_version,
        base_paths={},
        config={},
        table_metadata={},
        branch=None,
        writer_version=None,
        transaction_file="",
        index_section=None,
        transaction_section=None,
    )
    draft = Draft(None, nothing, None, 1)
    _overwrite(draft, operation)
    if draft.manifest.data_format != file_version:
        raise InvalidArgument(f"data files of version {draft.manifest.data_format} for a table of {file_version}")
    return draft.finish(timestamp, transaction_file)


def next_version(
    latest: Snapshot,
    operation: Operation,
    *,
    timestamp: datetime,
    transaction_file: str,
    config: Mapping[str, str | None] | None = None,
) -> NextVersion:
    """Builds the version after the latest one.

    config: keys of the table's config that are set as well; None removes one
    raises: CommitConflict for missing fragments; InvalidArgument, UnsupportedFeature
    """
    # operations that replace everything do not need the latest indices, which may be damaged
    keeps_indices = not isinstance(operation, Restore | Overwrite)
    section = indices.read_bytes(latest.store, latest.manifest_path, latest.manifest) if keeps_indices else None
    draft = Draft(latest, latest.manifest, section, latest.version + 1)
    _apply(draft, operation)
    if config:
        merged = {**draft.manifest.config, **config}
        draft.change(config={key: value for key, value in merged.items() if value is not None})
    return draft.finish(timestamp, transaction_file)


def restored_above(
    readable: Snapshot,
    operation: Restore,
    *,
    number: int,
    spare_fragments: int,
    spare_rows: int,
    timestamp: datetime,
    transaction_file: str,
) -> NextVersion:
    """Builds the version `number` from an earlier version, above unreadable versions.

    operation: names the earlier version
    readable: the newest readable version
    spare_fragments, spare_rows: numbers of ids above those of `readable` that may be in use
    raises: VersionNotFound, CorruptFile; InvalidArgument if too few ids are left; UnsupportedFeature
    """
    draft = Draft(readable, readable.manifest, None, number)
    # a transaction may claim anything: half of the free ids are reserved for later versions
    first = draft.next_fragment_id()
    draft.change(max_fragment_id=first + min(spare_fragments, (MAX_FRAGMENT_ID - first) // 2))
    if draft.manifest.has_stable_row_ids:
        draft.change(next_row_id=draft.manifest.next_row_id + spare_rows)
    _restore(draft, operation)
    return draft.finish(timestamp, transaction_file)


def _apply(draft: Draft, operation: Operation) -> None:
    match operation:
        case Append(fragments):
            draft.edit(added=[draft.inserted(fragment) for fragment in fragments])
        case Delete(updated, deleted):
            draft.check_present([*deleted, *(fragment.id for fragment in updated)])
            draft.edit(removed=deleted, replaced=draft.with_deletions(updated))
        case Update():
            _update(draft, operation)
        case Overwrite():
            _overwrite(draft, operation)
        case Rewrite():
            _rewrite(draft, operation)
        case Merge():
            _merge(draft, operation)
        case Project(schema):
            _project(draft, schema)
        case Restore():
            _restore(draft, operation)
        case ReserveFragments(num_fragments):
            draft.change(max_fragment_id=draft.next_fragment_id(num_fragments) + num_fragments - 1)
        case UpdateConfig():
            draft.manifest = metadata.changed(draft.manifest, operation)
        case DataReplacement():
            _replace_data(draft, operation)
        case CreateIndex():
            _create_index(draft, operation)
        case _:
            raise UnsupportedFeature(f"commits of {type(operation).__name__} are not supported")


def _update(draft: Draft, operation: Update) -> None:
    removed, updated = operation.removed_fragment_ids, operation.updated_fragments
    draft.check_present([*removed, *(fragment.id for fragment in updated)])
    touched = draft.manifest.fragments.by_id({*removed, *(fragment.id for fragment in updated)})
    replaced = draft.with_deletions(updated)
    if operation.mode is UpdateMode.REWRITE_COLUMNS:
        for i, (fragment, rewritten) in enumerate(zip(replaced, updated, strict=True)):
            data_files.check(data_files.added(fragment, rewritten), draft.manifest)
            changed = dataclasses.replace(fragment, files=data_files.in_use(rewritten.files))
            if fragment.id in operation.updated_offsets:
                offsets = operation.updated_offsets[fragment.id]
                changed = dataclasses.replace(changed, last_updated_at=draft.updated_at(fragment, offsets))
            replaced[i] = changed
        fragment_ids = [fragment.id for fragment in updated]
        draft.lose_values(dict.fromkeys(operation.fields_modified, fragment_ids))
    _check_carried_once(operation.new_fragments)
    added = [draft.inserted(fragment, touched.values()) for fragment in operation.new_fragments]
    draft.edit(removed=removed, replaced=replaced, added=added)


def _overwrite(draft: Draft, operation: Overwrite) -> None:
    formats = {data_files.file_version(file) for fragment in operation.fragments for file in fragment.files}
    if len(formats) > 1:
        raise InvalidArgument(f"data files of several versions: {', '.join(sorted(formats))}")
    draft.index_section = None
    draft.edit(removed=draft.manifest.fragments.ids)
    origin = draft.manifest.origin
    # the state of applied changes does not apply to other rows
    config = {key: value for key, value in draft.manifest.config.items() if key != applied.KEY}
    table_metadata = dict(draft.manifest.table_metadata)
    if COMMENT in operation.config_upserts:
        table_metadata.pop(COMMENT, None)
    draft.change(
        schema=operation.schema,
        config={**config, **operation.config_upserts},
        table_metadata=table_metadata,
        data_format=formats.pop() if formats else operation.file_version or draft.manifest.data_format,
        # new columns have the ids of others
        origin=None if origin is None else origin.without_columns(),
    )
    draft.edit(added=[draft.inserted(fragment) for fragment in operation.fragments])


def _rewrite(draft: Draft, operation: Rewrite) -> None:
    old = [fragment.id for group in operation.groups for fragment in group.old_fragments]
    new = [fragment for group in operation.groups for fragment in group.new_fragments]
    draft.check_present(old)
    if len(set(old)) != len(old):
        raise InvalidArgument("a fragment is in two groups of a rewrite")
    remaining = set(draft.manifest.fragments.ids) - set(old)
    for fragment in new:
        data_files.check_new(fragment, draft.manifest)
        if fragment.id in remaining or fragment.id >= draft.next_fragment_id():
            raise InvalidArgument(f"the fragment id {fragment.id} of a rewrite was not reserved")
        if draft.manifest.has_stable_row_ids:
            if not isinstance(fragment.row_ids, bytes):
                raise InvalidArgument(f"fragment {fragment.id} of a rewrite has no row ids")
            row_ids.parse(fragment.row_ids, fragment.physical_rows)
    if not draft.manifest.has_stable_row_ids:
        new = [dataclasses.replace(fragment, row_ids=None, created_at=None, last_updated_at=None) for fragment in new]
    draft.index_section = indices.with_moved_rows(
        draft.index_section,
        [
            ([fragment.id for fragment in group.old_fragments], [fragment.id for fragment in group.new_fragments])
            for group in operation.groups
        ],
        stable_row_ids=draft.manifest.has_stable_row_ids,
    )
    draft.edit(removed=old, added=new)


def _merge(draft: Draft, operation: Merge) -> None:
    if repeated := draft.manifest.fragments.repeated_ids():
        _set_own_ids(draft, operation.fragments, repeated)
        return
    if operation.next_row_id is not None:
        assigned_row_ids.assign(draft, operation)
        return
    ids = {fragment.id for fragment in operation.fragments}
    draft.check_present(ids)
    current = draft.current(operation.fragments)
    replaced = []
    changed: dict[int, list[int]] = {}
    for fragment in operation.fragments:
        before = current[fragment.id]
        added = data_files.added(before, fragment)
        data_files.check(added, draft.manifest)
        after = dataclasses.replace(
            before, files=data_files.in_use(fragment.files), deletion_file=fragment.deletion_file
        )
        if added:
            after = dataclasses.replace(after, last_updated_at=draft.updated_now(before))
            earlier_fields = {field_id for file in before.files for field_id in file.fields}
            for field_id in {field_id for file in added for field_id in file.fields} & earlier_fields:
                changed.setdefault(field_id, []).append(fragment.id)
        if after != before:
            replaced.append(after)
    draft.edit(removed=set(draft.manifest.fragments.ids) - ids, replaced=replaced)
    draft.lose_values(changed)
    _set_schema(draft, operation.schema)
    draft.edit(added=[draft.inserted(fragment) for fragment in operation.new_fragments])


def _set_own_ids(draft: Draft, fragments: Sequence[Fragment], repeated: Collection[int]) -> None:
    """Replaces the fragments of a version with `repeated` ids by fragments with unique ids."""
    draft.change(
        fragments=Fragments.of(fragments, file=draft.manifest.fragments.file),
        max_fragment_id=max(fragment.id for fragment in fragments),
    )
    # an index of a repeated id covers rows at unknown places
    changed = dict.fromkeys(draft.manifest.schema.by_id, repeated)
    draft.index_section = indices.without_values(draft.index_section, changed)


def _project(draft: Draft, schema: Schema) -> None:
    _set_schema(draft, Schema(schema.fields, schema.metadata or draft.manifest.schema.metadata))
    replaced = []
    fragments = draft.manifest.fragments
    # the only file of a fragment always stays
    for fragment_index in np.flatnonzero(fragments.table.num_files > 1).tolist():
        fragment = fragments[fragment_index]
        files = [
            file for file in fragment.files if any(field in schema.by_id or field < TOMBSTONE for field in file.fields)
        ]
        if len(files) < len(fragment.files):
            # Without any file the number of rows would be lost.
            replaced.append(dataclasses.replace(fragment, files=tuple(files or fragment.files[:1])))
    if replaced:
        draft.edit(replaced=replaced)


def _set_schema(draft: Draft, schema: Schema) -> None:
    dropped = set(draft.manifest.schema.by_id) - set(schema.by_id)
    draft.index_section = indices.without_columns(draft.index_section, dropped)
    draft.change(schema=schema)


def _restore(draft: Draft, operation: Restore) -> None:
    latest = draft.latest
    assert latest is not None
    file = versions.find_version(latest.store, operation.version)
    if file is None:
        raise VersionNotFound(f"{latest.name} has no version {operation.version} to restore")
    restored = latest.sibling(file)
    features.check_writable(restored.manifest.reader_flags, restored.manifest.writer_flags, restored.label)
    highest = draft.next_fragment_id() - 1
    next_row_id = draft.manifest.next_row_id
    section = None
    if not operation.drops_indices:
        section = indices.read_bytes(restored.store, restored.manifest_path, restored.manifest)
    again = Draft(restored, restored.manifest, section, draft.version)
    if repeated := again.manifest.fragments.repeated_ids():
        _set_own_ids(again, unique_fragment_ids.own_ids(restored, highest=highest), repeated)
    draft.manifest, draft.index_section = again.manifest, again.index_section
    draft.change(
        max_fragment_id=max(highest, again.next_fragment_id() - 1) if highest >= 0 else None,
        next_row_id=max(next_row_id, restored.manifest.next_row_id),
    )


def _replace_data(draft: Draft, operation: DataReplacement) -> None:
    files = {each.fragment_id: each.file for each in operation.replacements}
    if len(files) < len(operation.replacements):
        raise InvalidArgument("a fragment is replaced twice")
    if len({file.fields for file in files.values()}) > 1:
        raise InvalidArgument("all replacing data files must have the same fields")
    draft.check_present(files)
    data_files.check(files.values(), draft.manifest)
    replaced = []
    for fragment_id, fragment in draft.manifest.fragments.by_id(files).items():
        file = files[fragment_id]
        old = data_files.in_use(data_files.tombstoned(data_file, file.fields) for data_file in fragment.files)
        replaced.append(dataclasses.replace(fragment, files=(*old, file), last_updated_at=draft.updated_now(fragment)))
    draft.edit(replaced=replaced)
    fields = {field for file in files.values() for field in file.fields}
    draft.lose_values({field: list(files) for field in fields})


def _create_index(draft: Draft, operation: CreateIndex) -> None:
    for segment in operation.new_indices:
        for field_id in segment.field_ids:
            if field_id not in draft.manifest.schema.by_id:
                raise CommitConflict(f"the column of the index {segment.name!r} was dropped by another commit")
    removed = {segment.uuid for segment in operation.removed_indices}
    draft.index_section = indices.edited(draft.index_section, operation.new_indices, removed)


def _check_carried_once(fragments: Sequence[Fragment]) -> None:
    carried = [fragment for fragment in fragments if isinstance(fragment.row_ids, bytes)]
    if len(carried) < 2:
        return
    # as a set, ids take a few bytes each, and as an array eight, several times over
    distinct = U64Set({})
    num_ids = 0
    for fragment in carried:
        assert isinstance(fragment.row_ids, bytes)
        ids = row_ids.parse_prefix(fragment.row_ids, fragment.physical_rows).expand()
        num_ids += len(ids)
        distinct = U64Set.union((distinct, U64Set.of(ids)))
    if len(distinct) < num_ids:
        raise InvalidArgument("two rows of new fragments carry the same row id")
