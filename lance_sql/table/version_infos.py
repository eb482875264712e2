"""Entries of a list of versions, from the manifest and the transaction of each, mostly in one request.

Small cached entries let the next list of thousands of versions read only new ones.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lance_sql.errors import at
from lance_sql.store import Store
from lance_sql.table import manifest, manifest_file, transactions
from lance_sql.table.commit_summary import CommitSummary, from_properties
from lance_sql.table.known_files import KnownFiles
from lance_sql.table.versions import VersionFile, check_version
from lance_sql.values.records import Record


@dataclass(frozen=True, slots=True, repr=False)
class VersionInfo(Record):
    """Entry of a list of versions.

    timestamp: commit time, UTC
    data_format: version of its data files, such as "2.2"
    writer_version: release of the library that wrote it, or None
    operation: of its commit, such as "append" or "update"; None if not recorded
    summary: more about the commit, if this library made it
    damage: why the version cannot be read; all other fields but its number are None then
    """

    version: int
    timestamp: datetime | None
    num_fragments: int | None
    data_format: str | None
    writer_version: str | None
    operation: str | None
    summary: CommitSummary | None = None
    damage: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class _Listed:
    """Entry of a version from its manifest file.

    transaction_file: name of the file with the transaction; None if the manifest file contains it
    """

    info: VersionInfo
    transaction_file: str | None


def version_info(store: Store, file: VersionFile, table: str) -> VersionInfo:
    """Returns the list entry of one version.

    table: the table's name, for messages
    raises: CorruptFile, UnsupportedFeature
    """
    listed = _KNOWN.get(store, file.path, lambda: _read(store, file, table))
    if not listed.transaction_file:
        return listed.info
    # the file may be cleaned up before the version
    transaction = transactions.read_file(store, listed.transaction_file)
    if transaction is None:
        return listed.info
    summary = from_properties(transaction.properties)
    return dataclasses.replace(listed.info, operation=transaction.operation, summary=summary)


def _read(store: Store, file: VersionFile, table: str) -> _Listed:
    read, sections = manifest.read_outline(store, file.path, table, size=file.size)
    check_version(read.version, file)
    operation: str | None = None
    properties: dict[str, str] = {}
    if read.transaction_section is not None:
        with at(file=file.path):
            content = manifest_file.read_section(store, file.path, read.transaction_section, sections)
            operation, properties = transactions.parse_operation(content)
    info = VersionInfo(
        read.version,
        read.timestamp,
        read.num_fragments,
        read.data_format,
        read.writer_version,
        operation,
        from_properties(properties),
    )
    return _Listed(info, read.transaction_file if read.transaction_section is None else None)


def _memory(listed: _Listed) -> int:
    summary = listed.info.summary
    return 2048 + (sum(256 + len(k) + len(v) for k, v in summary.properties.items()) if summary is not None else 0)


_KNOWN: Final = KnownFiles("listed versions", 8 * 1024 * 1024, _memory)
