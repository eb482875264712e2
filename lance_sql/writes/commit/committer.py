"""Commit protocol: conflicts with newer versions, the transaction, and a manifest that only one writer can create.

    latest = m
    each version from the one that was read up to m:  its transaction, judged against ours
    _transactions/<read version>-<uuid>.txn           our operation
    _versions/<m + 1>.manifest, if it does not exist  the one atomic step; otherwise start again

Data files and deletion files are durable before. Files of a failed attempt belong to no version.

Source: table format, transactions, commit protocol.
"""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import uuid4

from lance_sql.errors import (
    CommitConflict,
    ContractBroken,
    InvalidArgument,
    RetryableConflict,
    TableExists,
    TableNotFound,
    UnsupportedFeature,
    VersionNotFound,
    at,
)
from lance_sql.format import file_versions
from lance_sql.store import open_store
from lance_sql.store.access import Access
from lance_sql.table import features, identity, refs, versions
from lance_sql.table.commit_summary import CommitSummary
from lance_sql.table.fragment import Fragment
from lance_sql.table.identity import commit_id_of
from lance_sql.table.location import table_name
from lance_sql.table.paths import NamingScheme
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import VersionFile
from lance_sql.values.arrays import U32
from lance_sql.values.local_paths import shown
from lance_sql.writes.commit import (
    concurrent,
    conflicts,
    consumed,
    gate,
    manifest_builder,
    rebase,
    turns,
    unique_fragment_ids,
    written_files,
)
from lance_sql.writes.commit.draft import NextVersion
from lance_sql.writes.commit.operations import Delete, Merge, Operation, Overwrite, Update
from lance_sql.writes.commit.put_version import forget, naming_scheme, put_version, records, remove_manifest
from lance_sql.writes.commit.rebase import Committed
from lance_sql.writes.commit.transactions import Transaction

MAX_ATTEMPTS: Final = 20
_LOOKS_FOR_BRANCH: Final = 4
_MIN_SLOT_SECONDS: Final = 0.005
_MAX_WAIT_SECONDS: Final = 5.0

REFUSALS: Final = (
    CommitConflict,
    ContractBroken,
    InvalidArgument,
    TableNotFound,
    UnsupportedFeature,
    VersionNotFound,
)
"""Errors after which nothing was committed, and nothing will be."""


class Expected(NamedTuple):
    """A new value in the config, and the one it replaces; None for a missing key."""

    value: str | None
    before: str | None


def commit(
    snapshot: Snapshot,
    operation: Operation,
    *,
    affected_rows: Mapping[int, U32] | None = None,
    inserts_by_key: bool = False,
    properties: Mapping[str, str] | None = None,
    config: Mapping[str, Expected] | None = None,
    uuid: str | None = None,
    max_attempts: int = MAX_ATTEMPTS,
) -> Snapshot:
    """Commits an operation, on top of concurrent commits.

    snapshot: the version that the operation was computed from
    affected_rows: by fragment id, the physical offsets that a Delete or an Update deletes; without them, concurrent
        deletions in the same fragments are a conflict
    inserts_by_key: rows are inserted because their keys were missing, so that rows added concurrently are a
        retryable conflict
    properties: stored with the transaction; those of `consumed` are checked, too
    config: keys of the table's config that the same version sets, unless another commit has set them
    uuid: of the transaction, for callers that must find out later whether the commit was tried; see `was_tried`
    returns: the new version
    raises: ContractBroken if the new version would break an enforced rule; RetryableConflict if the operation must
        be computed again from the latest version, or if all attempts lost against others; CommitConflict if it
        conflicts with another commit; UnsupportedFeature for a table with unsupported writer features;
        InvalidArgument for an operation that is invalid for the table. After these nothing is committed; after an
        OSError or CorruptFile of the store, it may be
    """
    if snapshot.version >= 2**63:
        raise InvalidArgument(f"{snapshot.label} is detached, and cannot get a next version: open the newest version")
    if not conflicts.can_be_committed(operation):
        raise UnsupportedFeature(f"commits of {type(operation).__name__} are not supported")
    recorded: set[str] = set()
    try:
        committed = _commit(
            snapshot,
            operation,
            affected_rows,
            uuid or str(uuid4()),
            recorded,
            inserts_by_key=inserts_by_key,
            properties=properties,
            config=config or {},
            max_attempts=max_attempts,
        )
        return committed.with_commit(properties)
    except REFUSALS:
        # No version names them, and none will.
        for path in {*recorded, *written_files.deletion_files(operation)}:
            forget(snapshot.store, path)
        raise


def _commit(
    snapshot: Snapshot,
    operation: Operation,
    affected_rows: Mapping[int, U32] | None,
    uuid: str,
    recorded: set[str],
    *,
    inserts_by_key: bool,
    properties: Mapping[str, str] | None,
    config: Mapping[str, Expected],
    max_attempts: int,
) -> Snapshot:
    """Does the work of `commit`; adds the paths of the transaction, checksums and deletion files to `recorded`."""
    judged = base = snapshot
    others: list[Committed] = []
    read_version = snapshot.version
    started = time.monotonic()
    for attempt in range(max_attempts):
        files = versions.list_newer(snapshot.store, judged.version)
        _check_continues(judged, files)
        latest = judged if files[-1].version == judged.version else judged.sibling(files[-1])
        features.check_writable(latest.manifest.reader_flags, latest.manifest.writer_flags, latest.label)
        if latest.manifest.fragments.repeated_ids():
            _commit_own_ids(latest, files[-1])
            continue
        for other in concurrent.newer(judged, files):
            theirs = concurrent.transaction(other)
            if theirs is not None and theirs.uuid == uuid:
                return _ours(other, theirs.operation, operation, was_sent=bool(recorded))
            others.append(
                Committed(
                    concurrent.judge(operation, other, theirs, inserts_by_key=inserts_by_key), other.manifest.schema
                )
            )
        judged = latest
        values = _all_config(latest, properties, config)
        rebased = operation
        if latest.version != base.version:
            rebased = rebase.rebase(operation, base, latest, others, affected_rows)
            if isinstance(operation, Delete | Update):
                read_version = latest.version
        transaction = Transaction(read_version, uuid, rebased, dict(properties or {}))
        recorded.update(records(transaction), written_files.deletion_files(rebased))
        with at(table=latest.label):
            version = manifest_builder.next_version(
                latest,
                rebased,
                timestamp=datetime.now(UTC),
                transaction_file=transaction.file_name,
                config=values,
            )
        scheme = naming_scheme(files[-1])
        gate.check(latest, version.manifest, scheme, rebased)
        file = _put(latest, version, transaction, scheme)
        if file is not None:
            committed = snapshot.sibling(file, commit_id_of(version.manifest))
            if snapshot.branch is not None:
                _check_branch(committed, snapshot.branch)
            return committed
        _wait(attempt, time.monotonic() - started)
    raise RetryableConflict(f"{snapshot.name}: other commits came first in each of {max_attempts} attempts")


def _put(latest: Snapshot, version: NextVersion, transaction: Transaction, scheme: NamingScheme) -> VersionFile | None:
    """Puts the version after the latest one. Returns None if another commit was first.

    raises: TableNotFound, VersionNotFound if the table was removed
    """
    try:
        return put_version(latest.store, version, transaction, scheme, mode="next")
    except FileNotFoundError as error:
        raise identity.ended(
            latest, f" while version {latest.version + 1} was committed: nothing was committed"
        ) from error


def _all_config(
    latest: Snapshot, properties: Mapping[str, str] | None, config: Mapping[str, Expected]
) -> dict[str, str | None]:
    """Returns the changes of the config that a commit makes: those of its properties, and its own."""
    current = latest.manifest.config
    return (
        consumed.config(current, properties, latest.label)
        | turns.config(current, properties, latest.version + 1, latest.label)
        | _config(current, config, latest.label)
    )


def _check_continues(judged: Snapshot, files: Sequence[VersionFile]) -> None:
    """Makes sure that versions which were just listed continue one that was read.

    raises: TableNotFound, VersionNotFound; RetryableConflict for another table at its place
    """
    if not files:
        raise identity.ended(judged, " before the commit: nothing was committed")
    # if the newest version is older, as in a table with fewer versions, the list contains it alone
    if files[0].version <= judged.version and not judged.is_still(files[0]):
        if judged.branch is not None and not refs.has_branch(judged.main, judged.branch):
            raise identity.ended(judged, " before the commit: nothing was committed")
        raise RetryableConflict(f"{judged.label} was replaced by another table: open it again")


def _check_branch(committed: Snapshot, branch: str) -> None:
    """Makes sure that a branch was not deleted while a version was committed to it. A deletion removes the
    reference, and restores it if the branch has got another version by then.

    raises: VersionNotFound if the branch is gone, and the version with it
    """
    for attempt in range(_LOOKS_FOR_BRANCH):
        if refs.has_branch(committed.main, branch):
            return
        if versions.find_version(committed.store, committed.version) is None:
            break
        time.sleep(_MIN_SLOT_SECONDS * 4**attempt)
    # the version came after the files of the branch were listed
    remove_manifest(committed.store, committed.manifest_path)
    raise VersionNotFound(
        f"The branch {branch!r} of {committed.name} was deleted during the commit of version {committed.version}: write"
        " to another branch"
    )


def _config(current: Mapping[str, str], wanted: Mapping[str, Expected], table: str) -> dict[str, str | None]:
    """
    raises: RetryableConflict where another commit has set a key
    """
    for key, expected in wanted.items():
        if current.get(key) != expected.before:
            raise RetryableConflict(f"{table}: another commit has set {key!r} of the config")
    return {key: expected.value for key, expected in wanted.items()}


def with_own_ids(latest: Snapshot) -> Snapshot:
    """Returns the newest version, or the one after it in which fragment ids are unique.

    raises: RetryableConflict if other writers are always first; as `commit`
    """
    for _ in range(MAX_ATTEMPTS):
        if not latest.manifest.fragments.repeated_ids():
            return latest
        _commit_own_ids(latest, latest.file)
        latest = latest.latest()
    raise RetryableConflict(f"{latest.name}: other commits came first in each of {MAX_ATTEMPTS} attempts")


def _commit_own_ids(latest: Snapshot, file: VersionFile) -> None:
    """Commits unique fragment ids, unless another writer commits first."""
    operation = unique_fragment_ids.merge_with_own_ids(latest)
    transaction = Transaction(
        latest.version, str(uuid4()), operation, CommitSummary("assign_fragment_ids").to_properties()
    )
    version = manifest_builder.next_version(
        latest, operation, timestamp=datetime.now(UTC), transaction_file=transaction.file_name
    )
    put_version(latest.store, version, transaction, naming_scheme(file), mode="next")


def create(
    uri: str,
    operation: Overwrite,
    *,
    access: Access | None = None,
    stable_row_ids: bool = True,
    file_version: str = file_versions.DEFAULT.name,
    properties: Mapping[str, str] | None = None,
    config: Mapping[str, Expected] | None = None,
    naming: NamingScheme = NamingScheme.V2,
    uuid: str | None = None,
) -> Snapshot:
    """Creates a table at a path or URI.

    file_version: of the data files
    naming: naming scheme of its manifests
    config, uuid: as for `commit`
    returns: version 1
    raises: TableExists, also if another writer is first; InvalidArgument
    """
    access = Access.of() if access is None else access
    store = open_store(uri, access)
    name = table_name(uri)
    values = consumed.config({}, properties, name) | turns.config({}, properties, 1, name)
    values |= {key: each.value for key, each in (config or {}).items()}
    if upserts := {key: value for key, value in values.items() if value is not None}:
        operation = dataclasses.replace(operation, config_upserts={**operation.config_upserts, **upserts})
    if versions.newest(store) is not None:
        raise TableExists(f"table {shown(uri)!r} exists already")
    transaction = Transaction(0, uuid or str(uuid4()), operation, dict(properties or {}))
    version = manifest_builder.first_version(
        operation,
        stable_row_ids=stable_row_ids,
        file_version=file_version,
        timestamp=datetime.now(UTC),
        transaction_file=transaction.file_name,
    )
    try:
        file = put_version(store, version, transaction, naming)
        if file is None:
            raise TableExists(f"table {shown(uri)!r} exists already: another writer was first")
    except (*REFUSALS, TableExists):
        for path in records(transaction):
            forget(store, path)
        raise
    made = Snapshot(uri, store, store, file, access=access, commit_id=commit_id_of(version.manifest))
    return made.with_commit(properties)


def _ours(version: Snapshot, committed: Operation | None, operation: Operation, *, was_sent: bool) -> Snapshot:
    """Returns a version that this transaction has made before, by a request whose answer was lost.

    was_sent: whether this commit sent it, or another one
    raises: InvalidArgument if another one sent it, or if it was committed with other files
    """
    if not was_sent:
        raise InvalidArgument(f"This job was committed to {version.name} already, as version {version.version}")
    theirs, mine = _data_files(committed), _data_files(operation)
    # a merge lists the existing fragments as well
    if not (mine <= theirs if isinstance(operation, Merge) else mine == theirs):
        raise InvalidArgument(f"{version.label} was committed by the same job, with other files: start another job")
    return version


def _data_files(operation: Operation | None) -> set[str]:
    fragments: Sequence[Fragment] = getattr(operation, "new_fragments", ()) or getattr(operation, "fragments", ())
    return {file.path for fragment in fragments for file in fragment.files}


def _wait(attempt: int, elapsed: float) -> None:
    """Waits a random number of slots, out of more with each attempt; a slot is about as long as an attempt."""
    slot = max(_MIN_SLOT_SECONDS, 1.1 * elapsed / (attempt + 1))
    time.sleep(min(_MAX_WAIT_SECONDS, random.randrange(2 ** min(attempt + 2, 10)) * slot))
