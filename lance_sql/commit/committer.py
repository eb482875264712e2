"""The commit: conflicts with newer versions, the transaction, and the manifest that only one writer can create.

    latest = m
    each version from the one that was read up to m:  its transaction, judged against ours
    _transactions/<read version>-<uuid>.txn           what we do
    _versions/<m + 1>.manifest, if it does not exist  the one atomic step; otherwise once more from the top

Data files and deletion files are durable before. What a failed attempt leaves behind belongs to no version.

Source: table format, transactions, commit protocol.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from lance_sql.commit import conflicts, manifest_builder, rebase, transactions
from lance_sql.commit.conflicts import Outcome
from lance_sql.commit.draft import NextVersion
from lance_sql.commit.operations import U32, Delete, Operation, Overwrite, Update
from lance_sql.commit.transactions import Transaction
from lance_sql.errors import (
    CommitConflict,
    InvalidArgument,
    LanceError,
    RetryableConflict,
    TableExists,
    TableNotFound,
    UnsupportedFeature,
)
from lance_sql.schema import Schema
from lance_sql.store import Store, open_store
from lance_sql.table import features, manifest, versions
from lance_sql.table.location import table_name
from lance_sql.table.paths import TRANSACTIONS, VERSIONS, NamingScheme, manifest_path, parse_manifest_name
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.transactions import read_bytes
from lance_sql.table.versions import VersionFile

_HINT: Final = f"{VERSIONS}/latest_version_hint.json"
_MIN_SLOT_SECONDS: Final = 0.005
_MAX_WAIT_SECONDS: Final = 5.0


def commit(
    snapshot: Snapshot,
    operation: Operation,
    *,
    affected_rows: Mapping[int, U32] | None = None,
    inserts_by_key: bool = False,
    properties: Mapping[str, str] | None = None,
    max_attempts: int = 20,
) -> Snapshot:
    """Commits an operation, on top of what others committed in between.

    snapshot: the version that the operation was computed from
    affected_rows: by fragment id, the physical offsets that a Delete or an Update deletes; without them, rows that
        others deleted in the same fragments are a conflict
    inserts_by_key: rows are inserted because no row had their keys, so that rows which others added are a retryable
        conflict
    properties: kept with the transaction
    returns: the new version
    raises: RetryableConflict when the operation has to be computed again from the latest version, or when all attempts
        lost against others; CommitConflict when it does not go together with another commit; UnsupportedFeature for a
        table that needs more of a writer; InvalidArgument for an operation that makes no sense for the table. After
        these nothing is committed; after what a store raises, OSError or CorruptFile, it may be
    """
    if snapshot.version >= 2**63:
        raise InvalidArgument(f"{snapshot.label} is detached: nothing can be committed after it")
    if not conflicts.can_be_committed(operation):
        raise UnsupportedFeature(f"commits of {type(operation).__name__}")
    uuid = str(uuid4())
    judged = base = snapshot
    schemas: list[Schema] = []
    read_version = snapshot.version
    started = time.monotonic()
    for attempt in range(max_attempts):
        files = versions.list_versions(snapshot.store)
        if not files:
            raise TableNotFound(f"{snapshot.name} is gone")
        latest = judged if files[-1].version == judged.version else judged.sibling(files[-1])
        features.check_writable(latest.manifest.reader_flags | latest.manifest.writer_flags, latest.label)
        for other in _newer(judged, files):
            _judge(operation, other, inserts_by_key=inserts_by_key)
            schemas.append(other.manifest.schema)
        judged = latest
        rebased = operation
        if latest.version != base.version:
            rebased = rebase.rebase(operation, base, latest, schemas, affected_rows)
            if isinstance(operation, Delete | Update):
                read_version = latest.version
        transaction = Transaction(read_version, uuid, rebased, dict(properties or {}))
        version = manifest_builder.next_version(
            latest, rebased, timestamp=datetime.now(UTC), transaction_file=transaction.file_name
        )
        file = put_version(snapshot.store, version, transaction, _scheme(files[-1]), latest.name)
        if file is not None:
            return snapshot.sibling(file)
        _wait(attempt, time.monotonic() - started)
    raise RetryableConflict(f"{snapshot.name}: other commits came first in each of {max_attempts} attempts")


def create(
    uri: str,
    operation: Overwrite,
    *,
    storage_options: Mapping[str, Any] | None = None,
    stable_row_ids: bool = True,
    file_version: str = "2.2",
    properties: Mapping[str, str] | None = None,
    naming: NamingScheme = NamingScheme.V2,
) -> Snapshot:
    """Creates a table at a path or URI.

    file_version: of the data files
    naming: how the names of its manifests spell versions
    returns: version 1
    raises: TableExists, also when another writer is first; InvalidArgument
    """
    store = open_store(uri, storage_options)
    name = table_name(uri)
    if versions.list_versions(store):
        raise TableExists(f"there is a table at {uri!r} already")
    transaction = Transaction(0, str(uuid4()), operation, dict(properties or {}))
    version = manifest_builder.first_version(
        operation,
        stable_row_ids=stable_row_ids,
        file_version=file_version,
        timestamp=datetime.now(UTC),
        transaction_file=transaction.file_name,
    )
    file = put_version(store, version, transaction, naming, name)
    if file is None:
        raise TableExists(f"there is a table at {uri!r} already: another writer was first")
    return Snapshot(uri, store, store, file, storage_options=storage_options)


def _scheme(file: VersionFile) -> NamingScheme:
    """How the names of manifests spell versions, from one of them."""
    parsed = parse_manifest_name(file.path.rpartition("/")[2])
    assert parsed is not None
    return parsed[1]


def _newer(snapshot: Snapshot, files: Sequence[VersionFile]) -> Iterator[Snapshot]:
    """Every version after a snapshot.

    files: of all versions
    raises: RetryableConflict when one was removed
    """
    by_version = {file.version: file for file in files}
    for version in range(snapshot.version + 1, files[-1].version + 1):
        if version not in by_version:
            raise RetryableConflict(
                f"{snapshot.name}: version {snapshot.version} is too old to commit from: what version {version} did is"
                " no longer recorded"
            )
        yield snapshot.sibling(by_version[version])


def _judge(operation: Operation, other: Snapshot, *, inserts_by_key: bool) -> None:
    """Makes sure that the operation goes together with what made another version.

    raises: CommitConflict, RetryableConflict
    """
    theirs = _transaction(other)
    if theirs is None:
        raise CommitConflict(f"{other.label}: what it did is not recorded, so nothing can be committed from before it")
    outcome = conflicts.judge(operation, theirs.operation)
    if outcome is Outcome.COMPATIBLE and inserts_by_key and conflicts.adds_rows(theirs.operation):
        outcome = Outcome.RETRYABLE
    if outcome is not Outcome.COMPATIBLE:
        theirs_name = type(theirs.operation).__name__
        message = f"{type(operation).__name__} conflicts with {theirs_name} of {other.label}"
        raise (RetryableConflict if outcome is Outcome.RETRYABLE else CommitConflict)(message)


def _transaction(snapshot: Snapshot) -> Transaction | None:
    """What a version did; None where that is not recorded, or cannot be read."""
    content = read_bytes(snapshot.store, snapshot.manifest_path, snapshot.manifest)
    return transactions.parse(content) if content is not None else None


def put_version(
    store: Store, version: NextVersion, transaction: Transaction, scheme: NamingScheme, table: str
) -> VersionFile | None:
    """Writes the transaction and the manifest; None when another writer has taken the version.

    raises: what the store does, unless the manifest is there all the same
    """
    recorded = transactions.serialize(transaction)
    store.put(f"{TRANSACTIONS}/{transaction.file_name}", recorded, mode="overwrite")
    content = manifest.serialize(version.manifest, index_section=version.index_section, transaction=recorded)
    path = manifest_path(version.manifest.version, scheme)
    try:
        store.put(path, content, mode="create")
    except FileExistsError:
        # A request that was sent twice finds what it wrote itself.
        if not _is_ours(store, path, transaction, table):
            return None
    except (OSError, LanceError) as error:
        # It may have been carried out although its answer got lost.
        try:
            is_ours = _is_ours(store, path, transaction, table)
        except (OSError, LanceError):
            raise error from None
        if is_ours is None:
            raise
        if not is_ours:
            return None
    # Only a hint, which readers may not even look at.
    with suppress(OSError, LanceError):
        store.put(_HINT, json.dumps({"version": version.manifest.version}).replace(" ", "").encode(), mode="overwrite")
    return VersionFile(version.manifest.version, path, len(content))


def _is_ours(store: Store, path: str, transaction: Transaction, table: str) -> bool | None:
    """Whether the manifest at a path came from this transaction; None when there is none.

    raises: what reading it does
    """
    try:
        size, _ = store.tail(path, 0)
    except FileNotFoundError:
        return None
    return manifest.read(store, path, table, size=size).transaction_file == transaction.file_name


def _wait(attempt: int, elapsed: float) -> None:
    """Waits a random number of slots, out of more with each attempt; a slot is about the length of one."""
    slot = max(_MIN_SLOT_SECONDS, 1.1 * elapsed / (attempt + 1))
    time.sleep(min(_MAX_WAIT_SECONDS, random.randrange(2 ** min(attempt + 2, 10)) * slot))
