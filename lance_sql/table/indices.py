"""Index section of a manifest: the secondary indices of a version. `open_indices` reads their files.

A commit carries the section over. If it changes indexed values, the affected fragments are removed from the bitmap
of the index, or the index from the section. Nothing else of an entry changes.

Source: messages lance.table.IndexSection and IndexMetadata; Manifest.index_section.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.proto import table_pb2
from lance_sql.store import Store
from lance_sql.store.checksums import Checksum
from lance_sql.table import json_index
from lance_sql.table.index_kinds import BTREE, BY_DETAILS, SYSTEM, IndexKind
from lance_sql.table.json_index import JsonIndexDetails
from lance_sql.table.manifest import Manifest
from lance_sql.table.manifest_file import ReadSections, read_section
from lance_sql.values import bitmaps
from lance_sql.values.records import Record

if TYPE_CHECKING:
    from lance_sql.table.snapshot import Snapshot

_MAX_FRAGMENTS: Final = 2**24


@dataclass(frozen=True, slots=True)
class IndexSegment:
    """One segment of an index; segments of one name are one index.

    field_ids: the indexed fields, followed by the covering ones
    dataset_version: the version that the segment was built from
    index_type: type of the details, such as "BTreeIndexDetails"; empty when it is not recorded
    fragment_ids: the covered fragments; None if not recorded
    index_version: of the format of this kind
    base_id: the base path that holds its files; None for the table's own folder
    file_sizes: bytes of its files by name; empty when they are not recorded
    details: the message of the type of the details
    created_at: milliseconds since 1970; None if not recorded
    covering_field_ids: fields whose values the index stores for queries, without indexing them
    checksums: of files written for the next commit, by name; not stored in manifests
    """

    name: str
    uuid: UUID
    field_ids: tuple[int, ...]
    dataset_version: int
    index_type: str
    fragment_ids: frozenset[int] | None = None
    index_version: int = 0
    base_id: int | None = None
    file_sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    details: bytes = b""
    created_at: int | None = None
    covering_field_ids: tuple[int, ...] = ()
    checksums: Mapping[str, Checksum] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    @property
    def kind(self) -> IndexKind | None:
        """Kind of the index, also of one of a member of JSON; None for unknown kinds and for entries that are not
        indices of values."""
        return json_index.kind_of(self.index_type, self.details)

    @property
    def of_json(self) -> JsonIndexDetails | None:
        """Path and kind of an index of a member of JSON; None for others, and for damaged details."""
        return json_index.parse(self.details) if self.index_type == json_index.DETAILS else None


def read(store: Store, path: str, manifest: Manifest, known: ReadSections | None = None) -> tuple[IndexSegment, ...]:
    """Reads the index segments of the version whose manifest is at `path`.

    known: sections that were read with the manifest
    raises: CorruptFile
    """
    section = read_bytes(store, path, manifest, known)
    if section is None:
        return ()
    with at(file=path):
        return tuple(parse(index) for index in table_pb2.IndexSection.FromString(section).indices)


def read_bytes(store: Store, path: str, manifest: Manifest, known: ReadSections | None = None) -> bytes | None:
    """Reads the IndexSection message of the manifest at `path`; None without indices.

    known: sections that were read with the manifest
    raises: CorruptFile
    """
    if manifest.index_section is None:
        return None
    with at(file=path):
        return read_section(store, path, manifest.index_section, known)


def parse(message: table_pb2.IndexMetadata) -> IndexSegment:
    """Parses a segment from a message.

    raises: CorruptFile
    """
    if len(message.uuid.uuid) != 16:
        raise CorruptFile(f"the index {message.name!r} has a uuid of {len(message.uuid.uuid)} bytes")
    return IndexSegment(
        message.name,
        UUID(bytes=message.uuid.uuid),
        tuple(message.fields),
        message.dataset_version,
        message.index_details.type_url.rpartition(".")[2],
        _covered(message),
        message.index_version,
        message.base_id if message.HasField("base_id") else None,
        {file.path: file.size_bytes for file in message.files},
        message.index_details.value,
        message.created_at if message.HasField("created_at") else None,
        tuple(message.covering_fields),
    )


def serialize(segment: IndexSegment) -> table_pb2.IndexMetadata:
    """Returns the message of a segment."""
    message = table_pb2.IndexMetadata(
        uuid=table_pb2.UUID(uuid=segment.uuid.bytes),
        fields=segment.field_ids,
        name=segment.name,
        dataset_version=segment.dataset_version,
        fragment_bitmap=b"" if segment.fragment_ids is None else _bitmap(segment.fragment_ids),
        index_version=segment.index_version,
        created_at=segment.created_at,
        base_id=segment.base_id,
        files=[table_pb2.IndexFile(path=path, size_bytes=size) for path, size in segment.file_sizes.items()],
        covering_fields=segment.covering_field_ids,
    )
    known = BY_DETAILS.get(segment.index_type)
    package = json_index.PACKAGE if segment.of_json is not None else "lance.table" if known is None else known.package
    message.index_details.type_url = f"/{package}.{segment.index_type}"
    message.index_details.value = segment.details
    return message


def edited(section: bytes | None, added: Iterable[IndexSegment], removed: Collection[UUID]) -> bytes | None:
    """Returns the section after adding and removing segments; None if it becomes empty."""
    edited_section = _edited(section, lambda index: None if _uuid(index) in removed else index)
    message = table_pb2.IndexSection()
    if edited_section is not None:
        message.ParseFromString(edited_section)
    message.indices.extend(map(serialize, added))
    return bytes(message.SerializeToString()) if message.indices else None


def have_covering_fields(section: bytes | None) -> bool:
    """Whether an index stores values of columns that it does not index.

    raises: CorruptFile for a section that is not a message
    """
    if section is None:
        return False
    with at():
        return any(index.covering_fields for index in table_pb2.IndexSection.FromString(section).indices)


def zone_map_details(rows_per_zone: int) -> bytes:
    """Returns the details of a zone map whose file records the rows of all NULLs."""
    return bytes(table_pb2.ZoneMapIndexDetails(rows_per_zone=rows_per_zone, has_null_bitmap=True).SerializeToString())


def without_columns(section: bytes | None, field_ids: Collection[int]) -> bytes | None:
    """Returns the section without the indices on any of these dropped fields."""
    return _edited(section, lambda index: None if _reads(index, field_ids) else index)


def without_values(section: bytes | None, changed: Mapping[int, Collection[int]]) -> bytes | None:
    """Returns the section after in-place changes of columns: removes the fragments from the bitmaps of their indices.

    changed: fragments by field id
    """

    def edit(index: table_pb2.IndexMetadata) -> table_pb2.IndexMetadata | None:
        fragments = {number for field in _fields(index) for number in changed.get(field, ())}
        covered = _covered(index)
        if not fragments:
            return index
        if covered is None:
            # The coverage is not recorded, so none of it can be trusted any more.
            return None
        if covered & fragments:
            index.fragment_bitmap = _bitmap(covered - fragments)
        return index

    return _edited(section, edit)


def with_moved_rows(
    section: bytes | None, groups: Sequence[tuple[Collection[int], Collection[int]]], *, stable_row_ids: bool
) -> bytes | None:
    """Returns the section after rows moved from fragments to others.

    Indices of row ids still cover the rows. Indices of row addresses keep entries of removed fragments, as after a
    deletion, and do not cover the new ones. On tables with stable row ids, zone indices stop covering the old ones.

    groups: ids of the old and the new fragments of each group
    raises: UnsupportedFeature for an index of row ids that covers a part of a group, and for unknown kinds
    """

    def edit(index: table_pb2.IndexMetadata) -> table_pb2.IndexMetadata | None:
        covered = _covered(index) or frozenset()
        left = set(covered)
        for old, new in groups:
            inside = covered.intersection(old)
            if not inside or not stable_row_ids:
                continue
            kind = _kind(index)
            if kind is not None and kind.is_of_zones:
                left.difference_update(old)
            if not _holds_row_ids(index):
                continue
            if len(inside) < len(set(old)):
                raise UnsupportedFeature(
                    f"compaction of fragments that the index {index.name!r} covers only in part is not supported:"
                    " rebuild the index"
                )
            left.difference_update(old)
            left.update(new)
        if left != covered:
            index.fragment_bitmap = _bitmap(left)
        return index

    return _edited(section, edit)


def of_stable_table(section: bytes | None) -> bytes | None:
    """Returns the section after rows got their addresses as stable row ids. A BTREE records which of the two its
    entries are. Later builds and extensions use addresses. Mixing both in one index is refused."""

    def edit(index: table_pb2.IndexMetadata) -> table_pb2.IndexMetadata:
        # those of members of JSON stay with row ids
        if index.index_details.type_url.endswith(f".{BTREE.details}") and index.index_version == 0:
            index.index_version = 1
        return index

    return _edited(section, edit)


def with_base(section: bytes | None, base_id: int) -> bytes | None:
    """Returns the section of a clone: the files of the indices are at a base path."""

    def edit(index: table_pb2.IndexMetadata) -> table_pb2.IndexMetadata:
        if not index.HasField("base_id"):
            index.base_id = base_id
        return index

    return _edited(section, edit)


def _edited(
    section: bytes | None, edit: Callable[[table_pb2.IndexMetadata], table_pb2.IndexMetadata | None]
) -> bytes | None:
    """Returns the section with every entry edited, without entries that become None; None if it becomes empty.

    raises: CorruptFile for a section that is not a message
    """
    if section is None:
        return None
    with at():
        message = table_pb2.IndexSection.FromString(section)
    indices = [edited for index in message.indices if (edited := edit(index)) is not None]
    if len(indices) == len(message.indices):
        return bytes(message.SerializeToString())
    del message.indices[:]
    message.indices.extend(indices)
    return bytes(message.SerializeToString()) if indices else None


def _holds_row_ids(index: table_pb2.IndexMetadata) -> bool:
    """Whether the files of an index on a table with stable row ids contain these instead of row addresses.

    raises: UnsupportedFeature for unknown kinds and versions
    """
    kind = _kind(index)
    if kind is not None and (kind.is_of_zones or index.index_version <= kind.max_version):
        return kind.has_row_ids(index.index_version)
    details = index.index_details.type_url.rpartition(".")[2]
    raise UnsupportedFeature(
        f"compaction of fragments with the index {index.name!r} of kind {details!r}, version {index.index_version}, is"
        " not supported: drop the index"
    )


def _kind(index: table_pb2.IndexMetadata) -> IndexKind | None:
    return json_index.kind_of(index.index_details.type_url.rpartition(".")[2], index.index_details.value)


def _uuid(index: table_pb2.IndexMetadata) -> UUID | None:
    return UUID(bytes=index.uuid.uuid) if len(index.uuid.uuid) == 16 else None


def _fields(index: table_pb2.IndexMetadata) -> set[int]:
    return {*index.fields, *index.covering_fields}


def _reads(index: table_pb2.IndexMetadata, field_ids: Collection[int]) -> bool:
    return any(field in field_ids for field in _fields(index))


def _covered(index: table_pb2.IndexMetadata) -> frozenset[int] | None:

    if not index.fragment_bitmap:
        return None
    bitmap = bitmaps.deserialize(index.fragment_bitmap, f"fragments of the index {index.name!r}")
    # A few bytes of runs can represent 2^32 ids.
    if len(bitmap) > _MAX_FRAGMENTS:
        raise CorruptFile(f"the index {index.name!r} covers {len(bitmap)} fragments")
    return frozenset(bitmap)


def _bitmap(fragment_ids: Collection[int]) -> bytes:
    from pyroaring import BitMap

    return bytes(BitMap(fragment_ids).serialize())


@dataclass(frozen=True, slots=True, repr=False)
class IndexSummary(Record):
    """A secondary index of a version.

    kind: such as "btree"; the type of its details for an unknown kind
    columns: names, `a.b` for a member of a struct, or of JSON documents
    num_segments: number of its segments
    num_fragments, num_uncovered: covered fragments of the version, and the others
    size_bytes: of its files; None if the manifest does not record it
    num_rows: live rows of the covered fragments; None if only their files record them
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    num_segments: int
    num_fragments: int
    num_uncovered: int
    size_bytes: int | None
    num_rows: int | None


def summaries(snapshot: Snapshot) -> tuple[IndexSummary, ...]:
    """Returns the indices of a version, in the order of the manifest.

    raises: CorruptFile
    """
    by_name: dict[str, list[IndexSegment]] = {}
    for segment in snapshot.indices():
        if segment.index_type not in SYSTEM:
            by_name.setdefault(segment.name, []).append(segment)
    fragments = snapshot.manifest.fragments
    live = set(fragments.ids)
    rows = fragments.recorded_live_rows
    indices = snapshot.open_indices
    summaries = []
    for name, segments in by_name.items():
        covered = {number for segment in segments for number in indices.fully_covered(segment, live)}
        sizes = [size for segment in segments for size in segment.file_sizes.values()]
        known = all(segment.file_sizes for segment in segments) and all(sizes)
        kind = segments[0].kind
        columns = tuple(column_name(snapshot, number) for number in segments[0].field_ids)
        if (of_json := segments[0].of_json) is not None:
            columns = tuple(f"{column}{json_index.from_root(of_json.path)[1:]}" for column in columns)
        summaries.append(
            IndexSummary(
                name,
                segments[0].index_type if kind is None else kind.name,
                columns,
                len(segments),
                len(covered),
                len(live) - len(covered),
                sum(sizes) if known else None,
                None if rows is None else sum(int(rows[fragments.index_of[number]]) for number in covered),
            )
        )
    return tuple(summaries)


def column_name(snapshot: Snapshot, field_id: int) -> str:
    """Returns the name of a column by field id; a number for an unknown field."""
    names: list[str] = []
    field = snapshot.manifest.schema.by_id.get(field_id)
    if field is None:
        return f"#{field_id}"
    while field is not None:
        names.insert(0, field.name)
        field = snapshot.manifest.schema.by_id.get(field.parent_id)
    return ".".join(names)
