"""Writes the manifest of a version exactly once, even if answers of the store get lost.

Source: table format, commit protocol.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from functools import partial
from typing import Final, Literal

from lance_sql.errors import LanceError
from lance_sql.runtime import observing
from lance_sql.store import Store
from lance_sql.store.checksums import Checksum
from lance_sql.store.put_once import put_once
from lance_sql.store.requests import innermost
from lance_sql.table import checksums, commit_summary, manifest, versions
from lance_sql.table.paths import TRANSACTIONS, VERSIONS, NamingScheme, manifest_path, parse_manifest_name
from lance_sql.table.versions import VersionFile
from lance_sql.writes.commit import transactions, written_files
from lance_sql.writes.commit.draft import NextVersion
from lance_sql.writes.commit.transactions import Transaction

_HINT: Final = f"{VERSIONS}/latest_version_hint.json"


def put_version(
    store: Store,
    version: NextVersion,
    transaction: Transaction,
    scheme: NamingScheme,
    *,
    mode: Literal["create", "next"] = "create",
) -> VersionFile | None:
    """Writes the transaction and the manifest; returns None if another writer has taken the version.

    mode: "create" for the first version, whose folder is created; "next" for later ones
    raises: errors of the store, unless the manifest exists. It may still appear later, so no file that it names may
        be removed
    """
    with observing.recorded("commit", logging.INFO) as watch:
        file = _put_version(store, version, transaction, scheme, mode)
        if watch is not None:
            _note(watch, store, version, transaction, is_first=file is not None)
        return file


def _note(
    watch: observing.Watch, store: Store, version: NextVersion, transaction: Transaction, *, is_first: bool
) -> None:
    """Notes a commit. One that comes second, and is tried again, is for users; others are for debugging."""
    watch.note(table=store.uri, version=version.manifest.version, retried=None if is_first else True)
    watch.level = logging.DEBUG if is_first else logging.INFO
    summary = commit_summary.from_properties(transaction.properties)
    if summary is not None:
        watch.note(**{name: getattr(summary, name) for name in commit_summary.COUNTS}, change=summary.operation)


def _put_version(
    store: Store,
    version: NextVersion,
    transaction: Transaction,
    scheme: NamingScheme,
    mode: Literal["create", "next"],
) -> VersionFile | None:
    """Does the work of `put_version`."""
    recorded = transactions.serialize(transaction)
    path = f"{TRANSACTIONS}/{transaction.file_name}"
    calls = [
        partial(checksums.write, store, record, files)
        if files
        else partial(store.put, path, recorded, mode="overwrite")
        for record, files in records(transaction).items()
    ]
    # also on a local disk, which flushes both at once
    innermost(calls)
    content = manifest.serialize(version.manifest, index_section=version.index_section, transaction=recorded)
    path = manifest_path(version.manifest.version, scheme)
    if not put_once(store, path, content, mode=mode):
        return None
    if not (store.lists_by_name and scheme is NamingScheme.V2):
        # Only a hint for readers that would otherwise list all versions. They start from it, or list if it is
        # empty. So a commit does not wait until it is on disk.
        with suppress(OSError, LanceError):
            store.put(_HINT, json.dumps({"version": version.manifest.version}).replace(" ", "").encode(), mode="hint")
    return VersionFile(version.manifest.version, path, len(content))


def was_tried(store: Store, read_version: int, uuid: str) -> bool:
    """Whether a commit may have succeeded, or may still succeed: its transaction is recorded, and was not refused.

    raises: errors of the store
    """
    try:
        store.tail(f"{TRANSACTIONS}/{transactions.file_name(read_version, uuid)}", 0)
    except FileNotFoundError:
        return False
    return True


def records(transaction: Transaction) -> dict[str, dict[str, Checksum]]:
    """Returns the records beside a version, by path: its transaction, and the checksums of its new files."""
    files = written_files.checksums(transaction.operation)
    path = f"{TRANSACTIONS}/{transaction.file_name}"
    return {path: {}, **({checksums.record_path(transaction.file_name, files): files} if files else {})}


def take_back(store: Store, version: NextVersion, transaction: Transaction, scheme: NamingScheme) -> None:
    """Removes the files that `put_version` has written, possibly incompletely, for a version that nothing refers
    to."""
    remove_manifest(store, manifest_path(version.manifest.version, scheme))
    for path in records(transaction):
        forget(store, path)


def remove_manifest(store: Store, path: str) -> None:
    """Removes a version that nothing refers to, and the hint at the newest version if it was the last one."""
    forget(store, path)
    if not versions.list_versions(store):
        forget(store, _HINT)


def forget(store: Store, path: str) -> None:
    """Removes a record of a refused commit, if possible."""
    with suppress(OSError, LanceError):
        store.delete(path)


def naming_scheme(file: VersionFile) -> NamingScheme:
    """Returns the naming scheme of manifests, from one of them."""
    parsed = parse_manifest_name(file.path.rpartition("/")[2])
    assert parsed is not None
    return parsed[1]
