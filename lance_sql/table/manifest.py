"""Manifests: the description of one version of a table. `manifest_file` reads and writes the file around it.

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
from operator import attrgetter
from typing import Any, Final, NamedTuple

from google.protobuf.unknown_fields import UnknownFieldSet

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format import file_versions
from lance_sql.format.proto import file_pb2, table_pb2
from lance_sql.format.schema import Schema, build
from lance_sql.format.schema.wire import from_manifest, to_messages
from lance_sql.store import Store
from lance_sql.store.cached import read_twice
from lance_sql.table import features, manifest_file
from lance_sql.table.fragments import Fragments
from lance_sql.table.known_files import KnownFiles
from lance_sql.table.paths import BasePath

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Looking up the schema of a wider table among cached ones takes a part of the time of building it.
_MOST_SHARED_FIELDS: Final = 256
# Of the index entry of the write-ahead log.
_LOG_NAME: Final = b"__lance_mem_wal"
COMMENT: Final = "comment"
"""Key of a comment, in the metadata of a table and of its columns."""
LIBRARY: Final = "lance-sql"
"""Name of this writer in manifests."""


class ManifestMessage(NamedTuple):
    """Source of a manifest, so that the next one preserves unknown fields.

    message: without its fragments
    schema: made from the fields of the message
    num_bytes: of the message
    """

    message: table_pb2.Manifest
    schema: Schema
    num_bytes: int

    def without_columns(self) -> ManifestMessage:
        """Returns the source of a version whose columns are all new, whatever their ids."""
        message = table_pb2.Manifest()
        message.CopyFrom(self.message)
        del message.fields[:]
        return self._replace(message=message, schema=Schema(()))


@dataclass(frozen=True, slots=True)
class Manifest:
    """Content of one version of a table.

    timestamp: commit time, UTC, cut to microseconds
    fragments: in scan order
    max_fragment_id: highest fragment id ever used, None before the first fragment
    next_row_id: only meaningful with stable row ids
    data_format: default version of data files of the writer, such as "2.2"; each file records its own
    branch: None on main
    writer_version: "14.0.2"; None for the oldest writers
    transaction_file: name in _transactions; may be empty
    index_section, transaction_section: offsets in the manifest file of a u32 length and a message, or None
    names_log: the manifest is known to name a write-ahead log; False if that section was not read with it
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
    origin: ManifestMessage | None = dataclasses.field(default=None, repr=False, compare=False)

    def changed(self, values: Mapping[str, Any]) -> Manifest:
        """Returns the manifest with other values of some fields. Unlike `dataclasses.replace`, does not ask for each
        field, which takes most of the calls of a small commit."""
        return Manifest(**{**dict(zip(_NAMES, _values_of(self), strict=True)), **values})

    @property
    def comment(self) -> str | None:
        """The comment of the table: COMMENT ON and other libraries have it in the metadata, CREATE TABLE in the config,
        because the message of a table's first version has no metadata."""
        return self.table_metadata.get(COMMENT, self.config.get(COMMENT))

    @property
    def has_stable_row_ids(self) -> bool:
        """Whether rows keep their ids when they move, and have versions. Otherwise stored sequences are ignored."""
        return bool(self.reader_flags & features.STABLE_ROW_IDS)

    @property
    def mixes_file_versions(self) -> bool:
        """Whether data files may have other versions than `data_format`. New files still use `data_format`."""
        return bool(self.reader_flags & features.MIXED_FILE_VERSIONS)


_NAMES: Final = tuple([field.name for field in dataclasses.fields(Manifest)])
_values_of: Final = attrgetter(*_NAMES)


def read(store: Store, path: str, table: str, *, size: int | None = None) -> Manifest:
    """Reads the manifest at a path of the store.

    table: the table's name, for messages
    size: of the file, if known
    raises: CorruptFile, with the path; UnsupportedFeature
    """
    return _KNOWN.get(store, path, lambda: read_twice(store, path, lambda: _read(store, path, table, size)))


def _read(store: Store, path: str, table: str, size: int | None) -> Manifest:
    message, rest, fragments, before = _read_message(store, path, table, size)
    with at(file=path):
        read = parse(message, rest, fragments, path)
    return dataclasses.replace(read, names_log=True) if _LOG_NAME in before.content else read


class Outline(NamedTuple):
    """Summary of a manifest for a list of versions; see `Manifest`."""

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
    """Reads the outline of a manifest, and the sections read with it. Nothing is cached.

    raises: as `read`
    """
    return read_twice(store, path, lambda: _read_outline(store, path, table, size))


def _read_outline(store: Store, path: str, table: str, size: int | None) -> tuple[Outline, manifest_file.ReadSections]:
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
    """Reads a manifest. Returns its message without fragments, this message serialized, the fragments, and the
    sections read with it."""
    with at(file=path):
        content, before = manifest_file.read_message(store, path, size=size)
        fragments, rest = _kernels.split_manifest(content)
        message = table_pb2.Manifest.FromString(rest)
    features.check_readable(message.reader_feature_flags, table)
    return message, rest, fragments, before


def _check_format(message: table_pb2.Manifest) -> None:
    if message.data_format.file_format not in ("", "lance"):
        raise UnsupportedFeature(f"data files of the format {message.data_format.file_format!r} are not supported")


def _timestamp(message: table_pb2.Manifest) -> datetime:
    stored = message.timestamp
    return _EPOCH + timedelta(seconds=stored.seconds, microseconds=stored.nanos // 1000)


def parse(message: table_pb2.Manifest, serialized: bytes, stored_fragments: bytes, path: str) -> Manifest:
    """Builds a manifest from a message whose flags were checked.

    message: without fragments; `serialized` is its serialized form
    stored_fragments: see `Fragments`
    path: of its file, for messages
    raises: CorruptFile, UnsupportedFeature
    """
    _check_format(message)
    # The oldest writers recorded row counts that are wrong after deletions.
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
        origin=ManifestMessage(message, schema, len(serialized)),
    )


def serialize(manifest: Manifest, *, index_section: bytes | None, transaction: bytes) -> bytes:
    """Returns the content of a manifest file.

    Unknown fields of the origin are preserved. This library becomes the writer, regardless of `writer_version`. The
    offsets of the sections are those of this file.

    index_section: message IndexSection; None without indices
    transaction: message Transaction
    raises: UnsupportedFeature for a changed field of the schema with unknown parts
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
    """Returns the approximate memory of a manifest, including parsed fragments, in bytes."""
    message_bytes = read.origin.num_bytes if read.origin is not None else 0
    return 16 * 1024 + 16 * message_bytes + 4 * len(read.fragments.content) + 4 * 1024 * len(read.fragments)


_KNOWN: Final = KnownFiles("manifests", 64 * 1024 * 1024, _memory)


def _schema(message: table_pb2.Manifest, serialized: bytes) -> Schema:
    """Returns the schema of a manifest. Versions of a table share it as long as it stays the same."""
    if len(message.fields) > _MOST_SHARED_FIELDS:
        return from_manifest(serialized, message.fields, message.schema_metadata)
    return _stored_schema(_kernels.schema_part(serialized))


@lru_cache(maxsize=256)
def _stored_schema(part: bytes) -> Schema:
    """Parses the schema in a part of a manifest, whose maps have their entries in any order."""
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
    """Returns major, minor and patch number of this release; 0.0.0 if it is not installed as a package."""
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
    """Returns the message of a field of the next version.

    stored: of the version before; preserves parts that `Field` does not represent
    """
    if stored is None:
        return made
    field = file_pb2.Field()
    field.CopyFrom(stored)
    for name in ("name", "id", "parent_id", "logical_type", "nullable", "extension_name"):
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
