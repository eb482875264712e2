"""Manifests: what the message of one says of its version of a table; `manifest_file` has the file around it.

Source: message lance.table.Manifest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Final, NamedTuple

from google.protobuf.unknown_fields import UnknownFieldSet

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format import file_versions
from lance_sql.format.proto import file_pb2, table_pb2
from lance_sql.format.schema import Schema, build
from lance_sql.format.schema.wire import from_manifest, to_messages
from lance_sql.store import Store
from lance_sql.table import features, manifest_file
from lance_sql.table.fragments import Fragments
from lance_sql.table.known_files import KnownFiles
from lance_sql.table.paths import BasePath

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# To look for the schema of a wider table among those that are known takes a part of the time that building it takes.
_MOST_SHARED_FIELDS: Final = 256
# Of the index that stands for it.
_LOG_NAME: Final = b"__lance_mem_wal"
LIBRARY: Final = "lance-sql"
"""What manifests call this writer."""


class Origin(NamedTuple):
    """What a manifest was read from, so that the next one keeps what is not known here.

    message: without its fragments
    schema: made from the fields of the message
    num_bytes: of the message
    """

    message: table_pb2.Manifest
    schema: Schema
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one version of a table consists of.

    timestamp: commit time, UTC, cut to microseconds
    fragments: in scan order
    max_fragment_id: highest fragment id ever used, None before the first fragment
    next_row_id: meaningful with stable row ids only
    data_format: version of the data files that the writer used, such as "2.2"; each file has its own
    branch: None on main
    writer_version: "14.0.2"; None for the oldest writers
    transaction_file: name in _transactions; may be empty
    index_section, transaction_section: offsets in the manifest file of a u32 length and a message, or None
    names_log: the manifest is known to name a write-ahead log; False where that was not read with it
    origin: None for the first version of a table
    """

    version: int
    timestamp: datetime
    schema: Schema
    fragments: Fragments
    reader_flags: int
    writer_flags: int
    max_fragment_id: int | None
    next_row_id: int
    data_format: str
    base_paths: Mapping[int, BasePath]
    config: Mapping[str, str]
    table_metadata: Mapping[str, str]
    branch: str | None
    writer_version: str | None
    transaction_file: str
    index_section: int | None
    transaction_section: int | None
    names_log: bool = False
    origin: Origin | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def has_stable_row_ids(self) -> bool:
        """Rows keep their ids when they move, and have versions. Without, stored sequences do not count."""
        return bool(self.reader_flags & features.STABLE_ROW_IDS)

    @property
    def mixes_file_versions(self) -> bool:
        """Data files may have other versions than `data_format`, which new ones get all the same."""
        return bool(self.reader_flags & features.MIXED_FILE_VERSIONS)


def read(store: Store, path: str, table: str, *, size: int | None = None) -> Manifest:
    """The manifest at a path of the store.

    table: the table's name, for messages
    size: of the file, if known
    raises: CorruptFile, with the path; UnsupportedFeature
    """
    return _KNOWN.get(store, path, lambda: _read(store, path, table, size))


def _read(store: Store, path: str, table: str, size: int | None) -> Manifest:
    message, rest, fragments, before = _read_message(store, path, table, size)
    with at(file=path):
        read = parse(message, rest, fragments, path)
    return dataclasses.replace(read, names_log=True) if _LOG_NAME in before.content else read


class Outline(NamedTuple):
    """What a list of versions shows of a manifest; see `Manifest`."""

    version: int
    timestamp: datetime
    num_fragments: int
    data_format: str
    writer_version: str | None
    transaction_file: str
    transaction_section: int | None


def read_outline(
    store: Store, path: str, table: str, *, size: int | None = None
) -> tuple[Outline, manifest_file.ReadSections]:
    """The outline of a manifest that `read` would read, and of its sections what came with it. Nothing is kept.

    raises: as `read`
    """
    message, rest, stored_fragments, before = _read_message(store, path, table, size)
    with at(file=path):
        _check_format(message)
        _schema(message, rest)
        _base_paths(message)
        num_fragments = len(_kernels.fragment_table(stored_fragments, False))
        fragments = None if message.data_format.version else Fragments(stored_fragments, trust_rows=False, file=path)
        outline = Outline(
            message.version,
            _timestamp(message),
            num_fragments,
            message.data_format.version if fragments is None else _inferred_format(message, fragments),
            message.writer_version.version if message.HasField("writer_version") else None,
            message.transaction_file,
            _transaction_section(message),
        )
    return outline, before


def _read_message(
    store: Store, path: str, table: str, size: int | None
) -> tuple[table_pb2.Manifest, bytes, bytes, manifest_file.ReadSections]:
    """The message of a manifest without its fragments, and the same serialized; its fragments, and what came of its
    sections."""
    with at(file=path):
        content, before = manifest_file.read_message(store, path, size=size)
        fragments, rest = _kernels.split_manifest(content)
        message = table_pb2.Manifest.FromString(rest)
    features.check_readable(message.reader_feature_flags, table)
    return message, rest, fragments, before


def _check_format(message: table_pb2.Manifest) -> None:
    if message.data_format.file_format not in ("", "lance"):
        raise UnsupportedFeature(f"data files of the format {message.data_format.file_format!r}")


def _timestamp(message: table_pb2.Manifest) -> datetime:
    stored = message.timestamp
    return _EPOCH + timedelta(seconds=stored.seconds, microseconds=stored.nanos // 1000)


def parse(message: table_pb2.Manifest, serialized: bytes, stored_fragments: bytes, path: str) -> Manifest:
    """The manifest in a message whose flags were checked.

    message: without fragments, and the same serialized
    stored_fragments: as `Fragments` takes them
    path: of its file, for messages
    raises: CorruptFile, UnsupportedFeature
    """
    _check_format(message)
    # The oldest writers recorded row counts that are wrong once rows are deleted.
    has_writer = message.HasField("writer_version")
    fragments = Fragments(stored_fragments, trust_rows=has_writer, file=path)
    max_fragment_id = max(fragments.ids, default=None)
    if message.HasField("max_fragment_id"):
        max_fragment_id = message.max_fragment_id
    schema = _schema(message, serialized)
    return Manifest(
        version=message.version,
        timestamp=_timestamp(message),
        schema=schema,
        fragments=fragments,
        reader_flags=message.reader_feature_flags,
        writer_flags=message.writer_feature_flags,
        max_fragment_id=max_fragment_id,
        next_row_id=message.next_row_id,
        data_format=message.data_format.version or _inferred_format(message, fragments),
        base_paths=_base_paths(message),
        config=dict(message.config),
        table_metadata=dict(message.table_metadata),
        branch=message.branch if message.HasField("branch") else None,
        writer_version=message.writer_version.version if has_writer else None,
        transaction_file=message.transaction_file,
        index_section=message.index_section if message.HasField("index_section") else None,
        transaction_section=_transaction_section(message),
        origin=Origin(message, schema, len(serialized)),
    )


def serialize(manifest: Manifest, *, index_section: bytes | None, transaction: bytes) -> bytes:
    """The content of a manifest file.

    Fields of the origin that are not known here are kept. This library becomes the writer, whatever `writer_version`
    says; the offsets of the sections are those of this file.

    index_section: message IndexSection; None without indices
    transaction: message Transaction
    raises: UnsupportedFeature when a field of the schema was changed of which not all is known
    """
    message = table_pb2.Manifest()
    if manifest.origin is not None:
        message.CopyFrom(manifest.origin.message)
        for name in ("index_section", "transaction_section_old", "branch", "max_fragment_id"):
            message.ClearField(name)
    sections = manifest_file.lay_out(index=index_section, transaction=transaction)
    if sections.index_section is not None:
        message.index_section = sections.index_section
    message.transaction_section = sections.transaction_section

    message.version = manifest.version
    message.timestamp.FromDatetime(manifest.timestamp)
    _set_schema(message, manifest)
    message.reader_feature_flags = manifest.reader_flags
    message.writer_feature_flags = manifest.writer_flags
    if manifest.max_fragment_id is not None:
        message.max_fragment_id = manifest.max_fragment_id
    message.next_row_id = manifest.next_row_id
    message.data_format.file_format = "lance"
    message.data_format.version = manifest.data_format
    _set_base_paths(message, manifest.base_paths)
    for stored, values in ((message.config, manifest.config), (message.table_metadata, manifest.table_metadata)):
        stored.clear()
        stored.update(values)
    if manifest.branch is not None:
        message.branch = manifest.branch
    message.ClearField("writer_version")
    message.writer_version.library = LIBRARY
    message.writer_version.version = library_version()
    message.transaction_file = manifest.transaction_file

    return manifest_file.join(sections, (message.SerializeToString(), manifest.fragments.content))


def _memory(read: Manifest) -> int:
    """Bytes that a manifest takes, with the values of fragments that were asked for, roughly."""
    message_bytes = read.origin.num_bytes if read.origin is not None else 0
    return 16 * 1024 + 16 * message_bytes + 4 * len(read.fragments.content) + 4 * 1024 * len(read.fragments)


_KNOWN: Final = KnownFiles("manifests", 64 * 1024 * 1024, _memory)


def _schema(message: table_pb2.Manifest, serialized: bytes) -> Schema:
    """The schema of a manifest, which the versions of a table share as long as it stays the same."""
    if len(message.fields) > _MOST_SHARED_FIELDS:
        return from_manifest(serialized, message.fields, message.schema_metadata)
    return _stored_schema(_kernels.schema_part(serialized))


@lru_cache(maxsize=256)
def _stored_schema(part: bytes) -> Schema:
    """The schema in a part of a manifest, whose maps have their entries in any order."""
    message = table_pb2.Manifest.FromString(part)
    stored = tuple([field.SerializeToString(deterministic=True) for field in message.fields])
    return _shared_schema(stored, tuple(sorted(message.schema_metadata.items())))


@lru_cache(maxsize=256)
def _shared_schema(fields: tuple[bytes, ...], metadata: tuple[tuple[str, bytes], ...]) -> Schema:
    return build([file_pb2.Field.FromString(field) for field in fields], dict(metadata))


def _inferred_format(message: table_pb2.Manifest, fragments: Fragments) -> str:
    numbers = fragments.first_file_version()
    if numbers is not None:
        return file_versions.name_of(numbers)
    is_v2 = message.writer_feature_flags & features.FILE_FORMAT_V2
    return (file_versions.V2_0 if is_v2 else file_versions.V0_1).name


def _base_paths(message: table_pb2.Manifest) -> dict[int, BasePath]:
    base_paths: dict[int, BasePath] = {}
    for base in message.base_paths:
        if base.id in base_paths:
            raise CorruptFile(f"two base paths have the id {base.id}")
        name = base.name if base.HasField("name") else None
        base_paths[base.id] = BasePath(base.id, name, base.is_dataset_root, base.path)
    return base_paths


def _transaction_section(message: table_pb2.Manifest) -> int | None:
    if message.HasField("transaction_section"):
        return int(message.transaction_section)
    return int(message.transaction_section_old) if message.HasField("transaction_section_old") else None


@cache
def library_version() -> str:
    """Major, minor and patch number of this release; 0.0.0 when it is not installed as a package."""
    try:
        return ".".join(installed_version(LIBRARY).split(".")[:3])
    except PackageNotFoundError:
        return "0.0.0"


def _set_schema(message: table_pb2.Manifest, manifest: Manifest) -> None:
    if manifest.origin is not None and manifest.schema is manifest.origin.schema:
        return
    stored = {field.id: field for field in message.fields}
    fields = [_field(field, stored.get(field.id)) for field in to_messages(manifest.schema)]
    del message.fields[:]
    message.fields.extend(fields)
    message.schema_metadata.clear()
    message.schema_metadata.update(manifest.schema.metadata)


def _field(made: file_pb2.Field, stored: file_pb2.Field | None) -> file_pb2.Field:
    """The message of a field of the next version.

    stored: of the version before, which keeps what values of fields do not have
    """
    if stored is None:
        return made
    field = file_pb2.Field()
    field.CopyFrom(stored)
    for name in ("name", "id", "parent_id", "logical_type", "nullable"):
        setattr(field, name, getattr(made, name))
    field.metadata.clear()
    field.metadata.update(made.metadata)
    if field.logical_type != stored.logical_type:
        field.encoding = made.encoding
    unknown = UnknownFieldSet(stored)
    if len(unknown) and field != stored:
        raise UnsupportedFeature(
            f"column {stored.name!r} has Field field {unknown[0].field_number}, which this release does not support"
        )
    return field


def _set_base_paths(message: table_pb2.Manifest, base_paths: Mapping[int, BasePath]) -> None:
    known = {base.id for base in message.base_paths}
    for base in base_paths.values():
        if base.id not in known:
            message.base_paths.add(id=base.id, name=base.name, is_dataset_root=base.is_dataset_root, path=base.path)
