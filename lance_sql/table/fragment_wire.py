"""Conversion of fragments to and from protobuf messages.

Source: messages lance.table.DataFragment, DataFile and DeletionFile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from google.protobuf.unknown_fields import UnknownFieldSet

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.proto import table_pb2
from lance_sql.table.fragment import (
    CREATED_AT_FIELD,
    LAST_UPDATED_AT_FIELD,
    ROW_ID_FIELD,
    DataFile,
    DeletionFile,
    DeletionFileType,
    ExternalSequence,
    Fragment,
    HiddenColumn,
    SequenceSource,
)

if TYPE_CHECKING:
    from google.protobuf.message import Message

_MAX_ID: Final = 2**32 - 1
# In the order of their numbers in messages.
_DELETION_FILE_TYPES: Final = (DeletionFileType.ARROW, DeletionFileType.BITMAP)


def parse(message: table_pb2.DataFragment, *, trust_rows: bool = True) -> Fragment:
    """Parses a fragment from a message.

    trust_rows: the recorded row count is right; False makes it unknown
    raises: CorruptFile, UnsupportedFeature
    """
    if message.id > _MAX_ID:
        raise CorruptFile(f"the fragment id {message.id} does not fit 32 bits")
    if message.physical_rows > _MAX_ID + 1:
        raise CorruptFile(f"fragment {message.id} has {message.physical_rows} rows; row addresses count to 2^32")
    if message.overlays:
        raise UnsupportedFeature(f"fragment {message.id} has data overlay files, which this release does not support")
    files = tuple([parse_file(file) for file in message.files])
    return Fragment(
        id=message.id,
        files=files,
        deletion_file=_deletion_file(message.deletion_file) if message.HasField("deletion_file") else None,
        physical_rows=message.physical_rows if trust_rows else 0,
        row_ids=_source(message, "row_id_sequence", files, ROW_ID_FIELD),
        created_at=_source(message, "created_at_version_sequence", files, CREATED_AT_FIELD),
        last_updated_at=_source(message, "last_updated_at_version_sequence", files, LAST_UPDATED_AT_FIELD),
    )


def serialize(fragment: Fragment) -> table_pb2.DataFragment:
    """Returns the message of a fragment."""
    message = table_pb2.DataFragment(
        id=fragment.id,
        files=[serialize_file(file) for file in fragment.files],
        physical_rows=fragment.physical_rows,
    )
    if fragment.deletion_file is not None:
        message.deletion_file.CopyFrom(_serialize_deletion_file(fragment.deletion_file))
    _serialize_source(message, "row_ids", fragment.row_ids)
    _serialize_source(message, "created_at_versions", fragment.created_at)
    _serialize_source(message, "last_updated_at_versions", fragment.last_updated_at)
    return message


def serialize_file(file: DataFile) -> table_pb2.DataFile:
    """Returns the message of a data file."""
    major, minor = file.file_version
    return table_pb2.DataFile(
        path=file.path,
        fields=file.fields,
        column_indices=file.column_indices,
        file_major_version=major,
        file_minor_version=minor,
        file_size_bytes=file.size_bytes,
        base_id=file.base_id,
    )


def parse_file(message: table_pb2.DataFile) -> DataFile:
    """Parses a data file from a message.

    raises: CorruptFile
    """
    file = DataFile(
        path=message.path,
        # A slice is copied from protobuf to Python once, not once per number.
        fields=tuple(message.fields[:]),
        column_indices=tuple(message.column_indices[:]),
        file_version=(message.file_major_version, message.file_minor_version),
        size_bytes=message.file_size_bytes,
        base_id=message.base_id if message.HasField("base_id") else None,
    )
    num_columns = len(file.column_indices)
    if num_columns != len(file.fields) and (num_columns or not file.is_legacy):
        raise CorruptFile(f"{_short(file)} has {len(file.fields)} fields but {num_columns} column indices")
    if num_columns and min(file.column_indices) < -1:
        raise CorruptFile(f"{_short(file)} has the column index {min(file.column_indices)}")
    return file


def _short(file: DataFile) -> str:
    return f"the data file {file.path[:200]!r}"


def _deletion_file(message: table_pb2.DeletionFile) -> DeletionFile:
    if not 0 <= message.file_type < len(_DELETION_FILE_TYPES):
        raise UnsupportedFeature(f"deletion files of type {message.file_type} are not supported by this release")
    return DeletionFile(
        file_type=_DELETION_FILE_TYPES[message.file_type],
        read_version=message.read_version,
        id=message.id,
        num_deleted_rows=message.num_deleted_rows,
        base_id=message.base_id if message.HasField("base_id") else None,
    )


def _source(
    message: table_pb2.DataFragment, oneof: str, files: Sequence[DataFile], hidden_field: int
) -> SequenceSource:
    form = message.WhichOneof(oneof)
    if form is None:
        return None
    value = getattr(message, form)
    if isinstance(value, bytes):
        return value
    if form.startswith("external"):
        return ExternalSequence(value.path, value.offset, value.size)
    for file in files:
        column = file.column_of(hidden_field)
        if column is not None:
            return HiddenColumn(file, column)
    raise CorruptFile(f"no data file of fragment {message.id} has the hidden column of field {hidden_field}")


def _serialize_deletion_file(file: DeletionFile) -> table_pb2.DeletionFile:
    return table_pb2.DeletionFile(
        file_type=table_pb2.DeletionFile.DeletionFileType.Name(_DELETION_FILE_TYPES.index(file.file_type)),
        read_version=file.read_version,
        id=file.id,
        num_deleted_rows=file.num_deleted_rows,
        base_id=file.base_id,
    )


def _serialize_source(message: table_pb2.DataFragment, kind: str, source: SequenceSource) -> None:
    if isinstance(source, bytes):
        setattr(message, f"inline_{kind}", source)
    elif isinstance(source, ExternalSequence):
        external = table_pb2.ExternalFile(path=source.path, offset=source.offset, size=source.size)
        getattr(message, f"external_{kind}").CopyFrom(external)
    elif source is not None:
        getattr(message, f"column_{kind}").SetInParent()


def check_known(message: table_pb2.DataFragment, problem: str) -> None:
    """Makes sure that a message has no unknown fields.

    problem: end of the error message about an unknown field

    raises: UnsupportedFeature
    """
    parts: list[Message] = [message, *message.files]
    if message.HasField("deletion_file"):
        parts.append(message.deletion_file)
    for part in parts:
        unknown = UnknownFieldSet(part)
        if len(unknown):
            raise UnsupportedFeature(
                f"fragment {message.id} has {part.DESCRIPTOR.name} field {unknown[0].field_number}, {problem}"
            )
