"""Fragments: what a table version consists of.

The rows of a table are those of its fragments, one after the other, without the deleted ones. A fragment is a
set of data files that describe the same rows 0 .. physical_rows - 1, each with some of the columns.

Source: messages lance.table.DataFragment, DataFile and DeletionFile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, overload

import numpy as np
import numpy.typing as npt
from google.protobuf.unknown_fields import UnknownFieldSet

from lance_sql import file_versions
from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature, at
from lance_sql.proto import table_pb2
from lance_sql.table.fragment_table import FragmentTable

if TYPE_CHECKING:
    from google.protobuf.message import Message

MAX_ROWS_PER_FILE: Final = 1024 * 1024
"""A fragment that is written has no more rows, unless it is told otherwise."""

# Ids in DataFile.fields that are no fields of the schema.
TOMBSTONE: Final = -2
ROW_ID_FIELD: Final = -3
CREATED_AT_FIELD: Final = -4
LAST_UPDATED_AT_FIELD: Final = -5

_MAX_ID = 2**32 - 1
_HIDDEN_COLUMNS: Final = ("column_row_ids", "column_created_at_versions", "column_last_updated_at_versions")


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data file of a fragment.

    path: below `data` or the base path
    fields: field ids; negative ones are no fields of the schema, and unknown ones were dropped from it
    column_indices: parallel to `fields`, -1 for a field without a column of its own; empty for legacy files
    file_version: (major, minor) as the manifest has it; the file's own footer decides
    size_bytes: 0 when unknown
    base_id: the base path that holds the file; None for the table's own folder
    """

    path: str
    fields: tuple[int, ...]
    column_indices: tuple[int, ...]
    file_version: tuple[int, int]
    size_bytes: int
    base_id: int | None = None

    @property
    def is_legacy(self) -> bool:
        """The manifest takes it for a file of version 0.1."""
        return file_versions.find(self.file_version) is file_versions.V0_1

    def column_of(self, field_id: int) -> int | None:
        """The column that holds a field; None when the file does not list it or gives it no column."""
        return self.columns().get(field_id)

    def columns(self) -> dict[int, int]:
        """Field ids to columns, hidden columns included; empty for legacy files."""
        pairs = zip(reversed(self.fields), reversed(self.column_indices), strict=False)
        return {field_id: column for field_id, column in pairs if column >= 0 and field_id != TOMBSTONE}


class DeletionFileType(Enum):
    """The two forms of a deletion file; the value is the end of its name."""

    ARROW = "arrow"
    BITMAP = "bin"


# By their numbers in messages.
_DELETION_FILE_TYPES: Final = (DeletionFileType.ARROW, DeletionFileType.BITMAP)


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """Where the deleted rows of a fragment are listed.

    num_deleted_rows: 0 when unknown; the file decides
    """

    file_type: DeletionFileType
    read_version: int
    id: int
    num_deleted_rows: int
    base_id: int | None = None

    def name(self, fragment_id: int) -> str:
        """The name of the file in its folder."""
        return f"{fragment_id}-{self.read_version}-{self.id}.{self.file_type.value}"


@dataclass(frozen=True, slots=True)
class ExternalSequence:
    """A sequence stored as the bytes [offset, offset + size) of a file below the table's root."""

    path: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class HiddenColumn:
    """A sequence stored as a uint64 column of a data file."""

    file: DataFile
    column_index: int


# Where the row ids or versions of a fragment are: inline, elsewhere, or nowhere.
SequenceSource = bytes | ExternalSequence | HiddenColumn | None


@dataclass(frozen=True, slots=True)
class Fragment:
    """One fragment of a table version.

    physical_rows: deleted rows included; 0 when the data files have to be asked
    row_ids, created_at, last_updated_at: where these sequences are; None when there is none
    """

    id: int
    files: tuple[DataFile, ...]
    deletion_file: DeletionFile | None
    physical_rows: int
    row_ids: SequenceSource = None
    created_at: SequenceSource = None
    last_updated_at: SequenceSource = None

    def file_of(self, field_id: int) -> DataFile | None:
        """The file that holds a field; None when every row is null there. Of two the first one counts."""
        for file in self.files:
            if field_id in file.fields:
                return file
        return None


class Fragments(Sequence[Fragment]):
    """The fragments of a manifest in scan order: columns for all of them, and each as a value when it is asked for.

    What is not changed is written again as it was read, whatever later releases added to it.

    content: their messages, as fields of a manifest, back to back
    trust_rows: the recorded row counts are right; False makes them unknown
    file: path of the manifest, for messages
    raises: CorruptFile for bytes that are no fragments; what is wrong inside of one shows when it is made
    """

    def __init__(self, content: bytes, *, trust_rows: bool, file: str) -> None:
        self.content = content
        self.trust_rows = trust_rows
        self.file = file
        with at(file=file):
            self.table = FragmentTable(content)
            self.ids: tuple[int, ...] = tuple(self.table.ids.tolist())
        self._made: list[Fragment | None] = [None] * len(self.ids)
        self._known: set[int] = set()

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> Fragment: ...
    @overload
    def __getitem__(self, index: slice) -> list[Fragment]: ...
    def __getitem__(self, index: int | slice) -> Fragment | list[Fragment]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._made[index] or self._make(index, self._message(index))

    def __iter__(self) -> Iterator[Fragment]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> tuple[Callable[..., Fragments], tuple[bytes, bool, str]]:
        return _restore, (self.content, self.trust_rows, self.file)

    @classmethod
    def of(cls, fragments: Iterable[Fragment], *, file: str = "") -> Fragments:
        """These fragments, in the order of their ids."""
        return cls(b"", trust_rows=True, file=file).edited(added=fragments)

    def subset(self, places: npt.NDArray[np.int64]) -> Fragments:
        """The fragments at these places, in this order."""
        return Fragments(_pick(self.content, self.table, places), trust_rows=self.trust_rows, file=self.file)

    def repeated_ids(self) -> tuple[int, ...]:
        """Ids that several fragments have, ascending: some early releases gave them, and the next commit mends it."""
        if len(set(self.ids)) == len(self.ids):
            return ()
        return tuple(sorted(number for number, count in Counter(self.ids).items() if count > 1))

    def have_deletions(self) -> bool:
        """Whether a fragment has a deletion file."""
        return bool(self.table.have_deletions.any())

    def have_hidden_columns(self) -> bool:
        """Whether row ids or versions of a fragment are in a data file."""
        return self.table.have_hidden_columns()

    def first_file_version(self) -> tuple[int, int] | None:
        """Major and minor version of the first data file; None without any. No fragment is made for it."""
        for place in np.flatnonzero(self.table.num_files)[:1].tolist():
            file = self._message(place).files[0]
            return file.file_major_version, file.file_minor_version
        return None

    def by_id(self, ids: Collection[int]) -> dict[int, Fragment]:
        """Those of the fragments with these ids that are there."""
        return {number: self[i] for i, number in enumerate(self.ids) if number in ids}

    def edited(
        self, *, removed: Collection[int] = (), replaced: Iterable[Fragment] = (), added: Iterable[Fragment] = ()
    ) -> Fragments:
        """The fragments of the next version, ascending by id.

        removed: ids
        replaced: by their ids, which must be there
        raises: UnsupportedFeature when something of a fragment to be replaced is not known; InvalidArgument when two
            fragments would share an id
        """
        changed = {fragment.id: fragment for fragment in replaced}
        kept = []
        for place, number in enumerate(self.ids):
            if number in changed:
                _check_known(self._message(place), self.file, "which this release does not know and would lose")
            elif number not in removed:
                kept.append(place)
        assert changed.keys() <= set(self.ids)
        made = [fragment for number, fragment in changed.items() if number not in removed] + list(added)
        content = _pick(self.content, self.table, np.array(kept, np.int64))
        content += _serialize_all(made)
        together = FragmentTable(content)
        if len(together) > 1 and (together.ids[1:] < together.ids[:-1]).any():
            content = _pick(content, together, np.argsort(together.ids, kind="stable"))
        edited = Fragments(content, trust_rows=self.trust_rows, file=self.file)
        if repeated := edited.repeated_ids():
            raise InvalidArgument(f"two fragments would have the id {repeated[0]}")
        return edited

    def known(self, place: int) -> Fragment:
        """The fragment at a place, of which every part is known.

        raises: UnsupportedFeature when something of it is not; CorruptFile
        """
        if place not in self._known:
            message = self._message(place)
            _check_known(message, self.file, "which this release does not know")
            self._made[place] = self._made[place] or self._make(place, message)
            self._known.add(place)
        return self[place]

    def message_bytes(self, place: int) -> bytes:
        """The message of the fragment at a place, as it is stored."""
        return self.content[int(self.table.starts[place]) : int(self.table.ends[place])]

    def _make(self, place: int, message: table_pb2.DataFragment) -> Fragment:
        with at(file=self.file):
            made = _fragment(message, trust_rows=self.trust_rows)
        # Two threads may both make it; the results are equal.
        self._made[place] = made
        return made

    def _message(self, place: int) -> table_pb2.DataFragment:
        message = table_pb2.DataFragment()
        with at(file=self.file):
            message.ParseFromString(self.message_bytes(place))
        return message


def _restore(content: bytes, trust_rows: bool, file: str) -> Fragments:
    return Fragments(content, trust_rows=trust_rows, file=file)


def _pick(content: bytes, table: FragmentTable, places: npt.NDArray[np.int64]) -> bytes:
    """The fields of the fragments at these places; neighbours are copied together."""
    if len(places) == 0:
        return b""
    bounds = np.concatenate(([0], table.ends))
    firsts = np.concatenate(([0], np.flatnonzero(np.diff(places) != 1) + 1))
    lasts = np.concatenate((firsts[1:] - 1, [len(places) - 1]))
    starts, ends = bounds[places[firsts]], bounds[places[lasts] + 1]
    return b"".join([content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])


def _serialize_all(fragments: Sequence[Fragment]) -> bytes:
    return bytes(table_pb2.Manifest(fragments=[serialize(fragment) for fragment in fragments]).SerializeToString())


def parse(message: table_pb2.DataFragment) -> Fragment:
    """The fragment in a message.

    raises: CorruptFile, UnsupportedFeature
    """
    return _fragment(message, trust_rows=True)


def serialize(fragment: Fragment) -> table_pb2.DataFragment:
    """The message of a fragment."""
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
    """The message of a data file."""
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


def _fragment(message: table_pb2.DataFragment, *, trust_rows: bool) -> Fragment:
    if message.id > _MAX_ID:
        raise CorruptFile(f"the fragment id {message.id} does not fit 32 bits")
    if message.physical_rows > _MAX_ID + 1:
        raise CorruptFile(f"fragment {message.id} has {message.physical_rows} rows; row addresses count to 2^32")
    if message.overlays:
        raise UnsupportedFeature(f"fragment {message.id} has data overlay files, which this release does not know")
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


def parse_file(message: table_pb2.DataFile) -> DataFile:
    """The data file in a message.

    raises: CorruptFile
    """
    file = DataFile(
        path=message.path,
        # A slice crosses from protobuf to Python once, not once per number.
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
        raise UnsupportedFeature(f"deletion files of type {message.file_type} are not known to this release")
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


def _check_known(message: table_pb2.DataFragment, file: str, problem: str) -> None:
    """Makes sure that the value of a message has all of it.

    problem: what is wrong with a part that it does not have

    raises: UnsupportedFeature
    """
    parts: list[Message] = [message, *message.files]
    if message.HasField("deletion_file"):
        parts.append(message.deletion_file)
    for part in parts:
        unknown = UnknownFieldSet(part)
        if len(unknown):
            with at(file=file):
                raise UnsupportedFeature(
                    f"fragment {message.id} has {part.DESCRIPTOR.name} field {unknown[0].field_number}, {problem}"
                )
