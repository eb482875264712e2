"""The next manifest: a version, and an operation that goes together with it.

Everything that depends on the version is given here, and given again on every attempt: ids of fragments and rows, and
the version that inserted each row and the one that changed it last.

Source: table format, transactions, building the manifest; row lineage, what each operation does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from lance_sql.commit import lineage
from lance_sql.commit.operations import (
    Append,
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
    UpdateMap,
    UpdateMode,
)
from lance_sql.errors import CommitConflict, InvalidArgument, UnsupportedFeature, VersionNotFound
from lance_sql.schema import Field, Schema
from lance_sql.table import features, indices, row_ids, row_versions, versions
from lance_sql.table.fragments import TOMBSTONE, DataFile, Fragment, Fragments
from lance_sql.table.manifest import Manifest
from lance_sql.table.row_ids import RowIds
from lance_sql.table.segments import Range
from lance_sql.table.snapshot import Snapshot

_MAX_FRAGMENT_ID: Final = 2**32 - 1
_PRIMARY_KEY: Final = "lance-schema:unenforced-primary-key"


@dataclass(frozen=True, slots=True)
class NextVersion:
    """A version to be: `manifest.serialize` makes its file."""

    manifest: Manifest
    index_section: bytes | None


def first_version(
    operation: Overwrite, *, stable_row_ids: bool, file_version: str, timestamp: datetime, transaction_file: str
) -> NextVersion:
    """The first version of a table.

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
    draft = _Draft(None, nothing, None, 1)
    _overwrite(draft, operation)
    if draft.manifest.data_format != file_version:
        raise InvalidArgument(f"data files of version {draft.manifest.data_format} for a table of {file_version}")
    return draft.finish(timestamp, transaction_file)


def next_version(latest: Snapshot, operation: Operation, *, timestamp: datetime, transaction_file: str) -> NextVersion:
    """The version after the latest one.

    raises: CommitConflict when fragments are not there any longer; InvalidArgument, UnsupportedFeature
    """
    section = indices.read_bytes(latest.store, latest.manifest_path, latest.manifest)
    draft = _Draft(latest, latest.manifest, section, latest.version + 1)
    draft.apply(operation)
    return draft.finish(timestamp, transaction_file)


@dataclass(slots=True)
class _Draft:
    """A version in the making.

    latest: the one before; None for the first
    manifest: so far
    version: of the draft
    """

    latest: Snapshot | None
    manifest: Manifest
    index_section: bytes | None
    version: int

    def __post_init__(self) -> None:
        if self.latest is not None:
            self.change(fragments=recounted(self.latest))
        ids = self.manifest.fragments.ids
        if ids:
            # Manifests may say less than they list.
            self.change(max_fragment_id=max(*ids, self.manifest.max_fragment_id or 0))

    def apply(self, operation: Operation) -> None:
        match operation:
            case Append(fragments):
                self.edit(added=[self.inserted(fragment) for fragment in fragments])
            case Delete(updated, deleted):
                self.check_present([*deleted, *(fragment.id for fragment in updated)])
                self.edit(removed=deleted, replaced=self.with_deletions(updated))
            case Update():
                _update(self, operation)
            case Overwrite():
                _overwrite(self, operation)
            case Rewrite():
                _rewrite(self, operation)
            case Merge():
                _merge(self, operation)
            case Project(schema):
                _project(self, schema)
            case Restore(version):
                _restore(self, version)
            case ReserveFragments(num_fragments):
                self.change(max_fragment_id=self.next_fragment_id(num_fragments) + num_fragments - 1)
            case UpdateConfig():
                _update_config(self, operation)
            case DataReplacement():
                _replace_data(self, operation)
            case _:
                raise UnsupportedFeature(f"commits of {type(operation).__name__}")

    def finish(self, timestamp: datetime, transaction_file: str) -> NextVersion:
        manifest = self.manifest
        if any(field.dictionary is not None for field in manifest.schema.by_id.values()):
            raise UnsupportedFeature("writing to tables of file version 0.1 whose dictionaries are in the manifest")
        reader_flags, writer_flags = features.describe(
            manifest.fragments,
            stable_row_ids=manifest.has_stable_row_ids,
            has_config=bool(manifest.config),
            has_base_paths=bool(manifest.base_paths),
        )
        self.change(
            version=self.version,
            timestamp=timestamp,
            transaction_file=transaction_file,
            reader_flags=reader_flags,
            writer_flags=writer_flags,
        )
        return NextVersion(self.manifest, self.index_section)

    def change(self, **values: object) -> None:
        self.manifest = dataclasses.replace(self.manifest, **values)  # type: ignore[arg-type]

    def edit(
        self, *, removed: Collection[int] = (), replaced: Iterable[Fragment] = (), added: Iterable[Fragment] = ()
    ) -> None:
        removed = frozenset(removed)
        self.change(fragments=self.manifest.fragments.edited(removed=removed, replaced=replaced, added=added))

    def check_present(self, ids: Iterable[int]) -> None:
        """Makes sure that the latest version has these fragments."""
        missing = set(ids) - set(self.manifest.fragments.ids)
        if missing:
            raise CommitConflict(f"fragment {min(missing)} is not part of the latest version any longer")

    def current(self, fragments: Iterable[Fragment]) -> dict[int, Fragment]:
        """The fragments of the latest version with the ids of these."""
        return self.manifest.fragments.by_id({fragment.id for fragment in fragments})

    def with_deletions(self, fragments: Sequence[Fragment]) -> list[Fragment]:
        """The current fragments with the deletion files of these."""
        current = self.current(fragments)
        return [
            dataclasses.replace(current[fragment.id], deletion_file=fragment.deletion_file) for fragment in fragments
        ]

    def next_fragment_id(self, count: int = 1) -> int:
        """The first of `count` ids that no fragment has had."""
        highest = -1 if self.manifest.max_fragment_id is None else self.manifest.max_fragment_id
        if not 1 <= count <= _MAX_FRAGMENT_ID - highest:
            raise InvalidArgument(f"no {count} fragment ids above {highest}")
        return highest + 1

    def inserted(self, fragment: Fragment, replaces: Iterable[Fragment] = ()) -> Fragment:
        """A new fragment with its id, the ids of its rows and their versions.

        replaces: current fragments of which rows go, whose ids the first new rows may carry
        """
        _check_new(fragment, self.manifest.data_format)
        fragment_id = self.next_fragment_id()
        self.change(max_fragment_id=fragment_id)
        if not self.manifest.has_stable_row_ids:
            return dataclasses.replace(fragment, id=fragment_id, row_ids=None, created_at=None, last_updated_at=None)
        carried = RowIds(())
        if isinstance(fragment.row_ids, bytes):
            carried = row_ids.parse_prefix(fragment.row_ids, fragment.physical_rows)
        elif fragment.row_ids is not None:
            raise UnsupportedFeature("new fragments whose row ids are not inline")
        num_carried = carried.num_rows
        num_fresh = fragment.physical_rows - num_carried
        created_at = row_versions.constant(fragment.physical_rows, self.version)
        parts = carried.segments
        if num_carried:
            assert self.latest is not None
            known = lineage.created_at_of(self.latest, replaces, carried.expand())
            created_at = row_versions.from_values(np.concatenate((known, np.full(num_fresh, self.version, np.uint64))))
        if num_fresh:
            start = self.manifest.next_row_id
            parts = (*parts, Range(start, start + num_fresh))
            self.change(next_row_id=start + num_fresh)
        return dataclasses.replace(
            fragment,
            id=fragment_id,
            row_ids=row_ids.serialize(RowIds(parts)),
            created_at=row_versions.serialize(created_at),
            last_updated_at=self.updated_now(fragment),
        )

    def updated_now(self, fragment: Fragment) -> bytes | None:
        """The versions of a fragment all of whose rows change with this commit."""
        if not self.manifest.has_stable_row_ids:
            return None
        return row_versions.serialize(row_versions.constant(fragment.physical_rows, self.version))

    def updated_at(self, fragment: Fragment, offsets: np.ndarray) -> bytes | None:
        """The same when only the rows at these offsets change."""
        if not self.manifest.has_stable_row_ids:
            return None
        assert self.latest is not None
        if len(offsets) and int(offsets.max()) >= fragment.physical_rows:
            raise InvalidArgument(f"fragment {fragment.id} has no row {offsets.max()}")
        values = lineage.last_updated_at(self.latest, fragment).expand()
        values[offsets] = self.version
        return row_versions.serialize(row_versions.from_values(values))


def _update(draft: _Draft, operation: Update) -> None:
    removed, updated = operation.removed_fragment_ids, operation.updated_fragments
    draft.check_present([*removed, *(fragment.id for fragment in updated)])
    touched = draft.manifest.fragments.by_id({*removed, *(fragment.id for fragment in updated)})
    replaced = draft.with_deletions(updated)
    if operation.mode is UpdateMode.REWRITE_COLUMNS:
        for i, (fragment, rewritten) in enumerate(zip(replaced, updated, strict=True)):
            _check_files(_added_files(fragment, rewritten), draft.manifest.data_format)
            changed = dataclasses.replace(fragment, files=_without_dead_files(rewritten.files))
            if fragment.id in operation.updated_offsets:
                offsets = operation.updated_offsets[fragment.id]
                changed = dataclasses.replace(changed, last_updated_at=draft.updated_at(fragment, offsets))
            replaced[i] = changed
        fragment_ids = [fragment.id for fragment in updated]
        draft.index_section = indices.without_values(
            draft.index_section, dict.fromkeys(operation.fields_modified, fragment_ids)
        )
    _check_carried_once(operation.new_fragments)
    added = [draft.inserted(fragment, touched.values()) for fragment in operation.new_fragments]
    draft.edit(removed=removed, replaced=replaced, added=added)


def _overwrite(draft: _Draft, operation: Overwrite) -> None:
    formats = {_format(file) for fragment in operation.fragments for file in fragment.files}
    if len(formats) > 1:
        raise InvalidArgument(f"data files of several versions: {', '.join(sorted(formats))}")
    draft.index_section = None
    draft.edit(removed=draft.manifest.fragments.ids)
    draft.change(
        schema=operation.schema,
        config={**draft.manifest.config, **operation.config_upserts},
        data_format=formats.pop() if formats else draft.manifest.data_format,
    )
    draft.edit(added=[draft.inserted(fragment) for fragment in operation.fragments])


def _rewrite(draft: _Draft, operation: Rewrite) -> None:
    old = [fragment.id for group in operation.groups for fragment in group.old_fragments]
    new = [fragment for group in operation.groups for fragment in group.new_fragments]
    draft.check_present(old)
    if len(set(old)) != len(old):
        raise InvalidArgument("a fragment is in two groups of a rewrite")
    kept = set(draft.manifest.fragments.ids) - set(old)
    for fragment in new:
        _check_new(fragment, draft.manifest.data_format)
        if fragment.id in kept or fragment.id >= draft.next_fragment_id():
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


def _merge(draft: _Draft, operation: Merge) -> None:
    ids = {fragment.id for fragment in operation.fragments}
    draft.check_present(ids)
    current = draft.current(operation.fragments)
    replaced = []
    changed: dict[int, list[int]] = {}
    for fragment in operation.fragments:
        before = current[fragment.id]
        added = _added_files(before, fragment)
        _check_files(added, draft.manifest.data_format)
        after = dataclasses.replace(
            before, files=_without_dead_files(fragment.files), deletion_file=fragment.deletion_file
        )
        if added:
            after = dataclasses.replace(after, last_updated_at=draft.updated_now(before))
            known = {field_id for file in before.files for field_id in file.fields}
            for field_id in {field_id for file in added for field_id in file.fields} & known:
                changed.setdefault(field_id, []).append(fragment.id)
        if after != before:
            replaced.append(after)
    draft.edit(removed=set(draft.manifest.fragments.ids) - ids, replaced=replaced)
    draft.index_section = indices.without_values(draft.index_section, changed)
    _set_schema(draft, operation.schema)


def _project(draft: _Draft, schema: Schema) -> None:
    _set_schema(draft, Schema(schema.fields, schema.metadata or draft.manifest.schema.metadata))
    replaced = []
    for fragment in draft.manifest.fragments:
        files = [
            file for file in fragment.files if any(field in schema.by_id or field < TOMBSTONE for field in file.fields)
        ]
        if len(files) < len(fragment.files):
            # Without any file nothing would say later how many rows there are.
            replaced.append(dataclasses.replace(fragment, files=tuple(files or fragment.files[:1])))
    draft.edit(replaced=replaced)


def _is_needed(file: DataFile, schema: Schema) -> bool:
    """Whether a file has a column of the schema, or a hidden one."""
    return any(field in schema.by_id or field < TOMBSTONE for field in file.fields)


def _set_schema(draft: _Draft, schema: Schema) -> None:
    dropped = set(draft.manifest.schema.by_id) - set(schema.by_id)
    draft.index_section = indices.without_columns(draft.index_section, dropped)
    draft.change(schema=schema)


def _restore(draft: _Draft, version: int) -> None:
    latest = draft.latest
    assert latest is not None
    file = versions.find_version(latest.store, version)
    if file is None:
        raise VersionNotFound(f"{latest.name} has no version {version} to restore")
    restored = latest.sibling(file)
    features.check_writable(restored.manifest.reader_flags | restored.manifest.writer_flags, restored.label)
    highest = draft.next_fragment_id() - 1
    next_row_id = draft.manifest.next_row_id
    again = _Draft(
        restored,
        restored.manifest,
        indices.read_bytes(restored.store, restored.manifest_path, restored.manifest),
        draft.version,
    )
    draft.manifest, draft.index_section = again.manifest, again.index_section
    draft.change(
        max_fragment_id=max(highest, again.next_fragment_id() - 1) if highest >= 0 else None,
        next_row_id=max(next_row_id, restored.manifest.next_row_id),
    )


def _update_config(draft: _Draft, operation: UpdateConfig) -> None:
    manifest = draft.manifest
    schema = manifest.schema
    unknown = set(operation.field_metadata) - set(schema.by_id)
    if unknown:
        raise CommitConflict(f"the schema has no field of the id {min(unknown)} any longer")
    if operation.field_metadata or operation.schema_metadata is not None:
        fields = tuple(_with_metadata(field, operation.field_metadata) for field in schema.fields)
        schema = Schema(fields, _changed_bytes(schema.metadata, operation.schema_metadata))
        if _primary_key(schema) != _primary_key(manifest.schema):
            raise InvalidArgument("the primary key of a table is given when it is created, and stays")
    draft.change(
        schema=schema,
        config=_changed(manifest.config, operation.config),
        table_metadata=_changed(manifest.table_metadata, operation.table_metadata),
    )


def _primary_key(schema: Schema) -> dict[int, dict[str, bytes]]:
    """What the metadata of the fields says about the key, by field id."""
    return {
        field.id: {key: value for key, value in field.metadata.items() if key.startswith(_PRIMARY_KEY)}
        for field in schema.by_id.values()
    }


def _with_metadata(field: Field, changes: Mapping[int, UpdateMap]) -> Field:
    return dataclasses.replace(
        field,
        children=tuple(_with_metadata(child, changes) for child in field.children),
        metadata=_changed_bytes(field.metadata, changes.get(field.id)),
    )


def _changed(values: Mapping[str, str], change: UpdateMap | None) -> dict[str, str]:
    if change is None:
        return dict(values)
    kept = {} if change.replace else {key: value for key, value in values.items() if key not in change.entries}
    return {**kept, **{key: value for key, value in change.entries.items() if value is not None}}


def _changed_bytes(values: Mapping[str, bytes], change: UpdateMap | None) -> dict[str, bytes]:
    if change is None:
        return dict(values)
    kept = {} if change.replace else {key: value for key, value in values.items() if key not in change.entries}
    return {**kept, **{key: value.encode() for key, value in change.entries.items() if value is not None}}


def _replace_data(draft: _Draft, operation: DataReplacement) -> None:
    files = {each.fragment_id: each.file for each in operation.replacements}
    if len(files) < len(operation.replacements):
        raise InvalidArgument("a fragment is replaced twice")
    if len({file.fields for file in files.values()}) > 1:
        raise InvalidArgument("all replacing data files must have the same fields")
    draft.check_present(files)
    _check_files(files.values(), draft.manifest.data_format)
    replaced = []
    for fragment_id, fragment in draft.manifest.fragments.by_id(files).items():
        file = files[fragment_id]
        old = _without_dead_files(_tombstoned(kept, file.fields) for kept in fragment.files)
        replaced.append(dataclasses.replace(fragment, files=(*old, file), last_updated_at=draft.updated_now(fragment)))
    draft.edit(replaced=replaced)
    fields = {field for file in files.values() for field in file.fields}
    draft.index_section = indices.without_values(draft.index_section, {field: list(files) for field in fields})


def _tombstoned(file: DataFile, field_ids: Collection[int]) -> DataFile:
    """The file without these fields, whose columns stay in it unread."""
    fields = tuple(TOMBSTONE if field in field_ids else field for field in file.fields)
    return dataclasses.replace(file, fields=fields)


def _without_dead_files(files: Iterable[DataFile]) -> tuple[DataFile, ...]:
    """The files of which some column is still in use."""
    return tuple(file for file in files if any(field != TOMBSTONE for field in file.fields))


def _added_files(before: Fragment, after: Fragment) -> list[DataFile]:
    known = {(file.path, file.base_id) for file in before.files}
    return [file for file in after.files if (file.path, file.base_id) not in known]


def _format(file: DataFile) -> str:
    if file.is_legacy:
        return "0.1"
    major, minor = file.file_version
    return f"{major}.{minor}" if major else "2.0"


def _check_new(fragment: Fragment, data_format: str) -> None:
    if not 1 <= fragment.physical_rows <= _MAX_FRAGMENT_ID + 1:
        raise InvalidArgument(f"a new fragment of {fragment.physical_rows} rows")
    if fragment.deletion_file is not None:
        raise InvalidArgument("a new fragment has deleted rows already")
    if not fragment.files:
        raise InvalidArgument("a new fragment has no data files")
    _check_files(fragment.files, data_format)


def _check_files(files: Iterable[DataFile], data_format: str) -> None:
    for file in files:
        if _format(file) != data_format:
            raise InvalidArgument(
                f"the data file {file.path!r} has version {_format(file)}, those of the table have {data_format}"
            )


def _check_carried_once(fragments: Sequence[Fragment]) -> None:
    parts = [
        row_ids.parse_prefix(fragment.row_ids, fragment.physical_rows).expand()
        for fragment in fragments
        if isinstance(fragment.row_ids, bytes)
    ]
    if len(parts) > 1:
        ids = np.concatenate(parts)
        if len(np.unique(ids)) < len(ids):
            raise InvalidArgument("two rows of new fragments carry the same row id")


def recounted(snapshot: Snapshot) -> Fragments:
    """The fragments with right row counts: those of the data files where an early writer recorded wrong ones."""
    if snapshot.manifest.fragments.trust_rows:
        return snapshot.manifest.fragments
    return Fragments.of(
        [
            dataclasses.replace(fragment, physical_rows=lineage.num_rows(snapshot, fragment))
            for fragment in snapshot.manifest.fragments
        ],
        file=snapshot.manifest_path,
    )
