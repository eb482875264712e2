"""Transactions: records of the commits that made versions.

A transaction is stored in its own file, `_transactions/<read version>-<uuid>.txn`, in a section of the
manifest file with a u32 length and the message, or in both. Old versions may have neither.

Source: message lance.table.Transaction; Manifest.transaction_file and Manifest.transaction_section.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lance_sql.errors import CorruptFile, at
from lance_sql.format.proto import table_pb2, transaction_pb2
from lance_sql.store import Store, check_path
from lance_sql.store.cached import read_twice
from lance_sql.table.known_files import KnownFiles
from lance_sql.table.manifest import Manifest
from lance_sql.table.manifest_file import ReadSections, read_section
from lance_sql.table.paths import TRANSACTIONS

MAX_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of a file that is read. The transaction in a longer one counts as not recorded."""


# Enough for most transactions in one request.
_FIRST_BYTES: Final = 256 * 1024


class TooLong(CorruptFile):
    """A transaction that is not read because of its length."""


@dataclass(frozen=True, slots=True)
class GivenIds:
    """Row ids that a transaction assigns to the first rows of a fragment.

    files: the paths of the fragment's data files
    row_ids: a serialized sequence
    """

    files: tuple[str, ...]
    row_ids: bytes


@dataclass(frozen=True, slots=True)
class RecordedTransaction:
    """Transaction of a commit.

    read_version: the version that the writer had read
    operation: such as "append", "update" or "rewrite"; None for an unknown operation
    properties: see `commit_summary`
    restored: the version that a "restore" went back to; None for other operations
    rewrites_columns: an "update" that changed values of rows in place
    given_ids: of the fragments that an "update" or a "rewrite" made, as far as recorded
    """

    read_version: int
    uuid: str
    operation: str | None
    properties: Mapping[str, str] = dataclasses.field(default_factory=dict)
    restored: int | None = None
    rewrites_columns: bool = False
    given_ids: tuple[GivenIds, ...] = ()


def read(store: Store, path: str, manifest: Manifest, known: ReadSections | None = None) -> RecordedTransaction | None:
    """Reads the transaction of the version whose manifest is at `path`; None if not recorded, or removed.

    known: sections that were read with the manifest
    raises: CorruptFile for content that is not a transaction
    """
    section = manifest.transaction_section
    if section is None:
        return read_file(store, manifest.transaction_file)
    # an earlier manifest, whose file was replaced, has its section at another offset
    return _KNOWN.get(
        store, path, lambda: _read(store, path, lambda: read_bytes(store, path, manifest, known)), part=section
    )


def read_file(store: Store, name: str) -> RecordedTransaction | None:
    """Reads the transaction in its own file, by its name in the manifest; None without a name, and as `read`.

    raises: CorruptFile
    """
    if not name:
        return None
    path = _path(name)
    return _KNOWN.get(store, path, lambda: _read(store, path, lambda: _file_bytes(store, path)), part=-1)


def _read(store: Store, path: str, read: Callable[[], bytes | None]) -> RecordedTransaction | None:
    def parsed() -> RecordedTransaction | None:
        try:
            content = read()
        except TooLong:
            return None
        with at(file=path):
            return None if content is None else parse(content)

    return read_twice(store, path, parsed)


def _path(name: str) -> str:
    """Returns the path of the file of a transaction.

    raises: CorruptFile for a path outside its folder
    """
    path = f"{TRANSACTIONS}/{name}"
    with at(file=path):
        check_path(path)
    return path


def _memory(read: RecordedTransaction | None) -> int:
    if read is None:
        return 0
    properties = sum(256 + len(name) + len(value) for name, value in read.properties.items())
    return 4096 + properties + sum(512 + len(each.row_ids) for each in read.given_ids)


_KNOWN: Final = KnownFiles("transactions", 16 * 1024 * 1024, _memory)


def read_bytes(store: Store, path: str, manifest: Manifest, known: ReadSections | None = None) -> bytes | None:
    """Reads the transaction message of the version whose manifest is at `path`; None as for `read`.

    known: sections that were read with the manifest
    raises: CorruptFile
    """
    if manifest.transaction_section is not None:
        with at(file=path):
            return read_section(store, path, manifest.transaction_section, known)
    name = manifest.transaction_file
    return _file_bytes(store, _path(name)) if name else None


def _file_bytes(store: Store, path: str) -> bytes | None:
    with at(file=path):
        try:
            size, content = store.tail(path, _FIRST_BYTES)
            if size > MAX_BYTES:
                raise TooLong(f"a transaction of {size} bytes is too long to read")
            if size > _FIRST_BYTES:
                _, content = store.tail(path, size, size=size)
        except FileNotFoundError:
            # Only conflict checks of writers need the file, so it may be cleaned up.
            return None
        return bytes(memoryview(content))


def parse(data: bytes) -> RecordedTransaction:
    """Parses a transaction from a serialized message."""
    message = transaction_pb2.Transaction.FromString(data)
    operation, properties = _operation(message)
    restored = message.restore.version if operation == "restore" else None
    update = message.update if operation == "update" else None
    in_place = update is not None and bool(update.fields_modified or update.update_mode == update.REWRITE_COLUMNS)
    made: list[table_pb2.DataFragment] = []
    if update is not None:
        made += update.new_fragments
    elif operation == "rewrite":
        made += message.rewrite.new_fragments
        for group in message.rewrite.groups:
            made += group.new_fragments
    given = tuple(
        [
            GivenIds(tuple([file.path for file in each.files]), each.inline_row_ids)
            for each in made
            if each.WhichOneof("row_id_sequence") == "inline_row_ids"
        ]
    )
    return RecordedTransaction(message.read_version, message.uuid, operation, properties, restored, in_place, given)


def parse_operation(data: bytes) -> tuple[str | None, dict[str, str]]:
    """Parses the operation and the properties of a transaction from a serialized message; see
    `RecordedTransaction`."""
    return _operation(transaction_pb2.Transaction.FromString(data))


def _operation(message: transaction_pb2.Transaction) -> tuple[str | None, dict[str, str]]:
    return message.WhichOneof("operation"), dict(message.transaction_properties)
