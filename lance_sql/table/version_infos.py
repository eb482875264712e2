"""Entries of a list of versions, from the manifest and the transaction of each, mostly in one request.

Small cached entries let the next list of thousands of versions read only new ones.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from lance_sql.errors import at
from lance_sql.store import Store
from lance_sql.table import manifest, manifest_file, transactions
from lance_sql.table.commit_summary import from_properties
from lance_sql.table.known_files import KnownFiles
from lance_sql.table.versions import VersionFile, VersionInfo, check_version


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
