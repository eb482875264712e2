"""Restore of a version of a table whose newest manifest is damaged.

    7   readable    its counters are known
    8   readable    the version to return to
    9   damaged     its operation is unknown: new fragments, new rows
    10  = 8         with counters far above all ids that 9 can have assigned

No number of a version, fragment or row is assigned twice: numbers assigned by version 9 may be known elsewhere.
Transactions, and data files that no readable version has, give a generous upper bound of these.

Source: table format, restore; row lineage, duties of a writer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from lance_sql.errors import CorruptFile, LanceError, RetryableConflict
from lance_sql.table import features, versions
from lance_sql.table.paths import DATA, TRANSACTIONS
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.transactions import MAX_BYTES
from lance_sql.table.versions import VersionFile
from lance_sql.writes.commit import manifest_builder, transactions
from lance_sql.writes.commit.committer import MAX_ATTEMPTS, commit
from lance_sql.writes.commit.operations import (
    Append,
    Merge,
    Operation,
    Overwrite,
    ReserveFragments,
    Restore,
    Rewrite,
    Update,
)
from lance_sql.writes.commit.put_version import naming_scheme, put_version
from lance_sql.writes.commit.transactions import Transaction

_LOG: Final = logging.getLogger("lance_sql")

SPARE_FRAGMENTS: Final = 2**20
"""Number of fragment ids, beyond those known to be assigned, that are skipped for each damaged version."""

SPARE_ROWS: Final = 2**40
"""Number of row ids, beyond those known to be assigned, that are skipped for each damaged version."""

_MAX_ROWS_OF_FRAGMENT: Final = 2**32


@dataclass(frozen=True, slots=True)
class Damage:
    """Newest versions that cannot be read.

    readable: the newest readable version
    files: of the versions after it, ascending
    reason: why the newest one cannot be read
    """

    readable: Snapshot
    files: tuple[VersionFile, ...]
    reason: str

    @property
    def newest(self) -> VersionFile:
        """Newest version of all."""
        return self.files[-1]


def restore(snapshot: Snapshot, operation: Restore, properties: Mapping[str, str]) -> Snapshot:
    """Makes an earlier version the newest one again, even if the newest one is damaged, which is logged as a warning.

    properties: stored with the transaction
    raises: VersionNotFound; CorruptFile if the earlier version cannot be read; as `commit`
    """
    for _ in range(MAX_ATTEMPTS):
        latest = snapshot.latest()
        try:
            _ = latest.manifest
        except CorruptFile as error:
            damage = _damage(latest, error)
        else:
            return commit(latest, operation, properties=properties)
        file = _restore_over(damage, operation, properties)
        if file is not None:
            _LOG.warning(
                "%s cannot be read (%s): version %d is version %d again",
                latest.label,
                damage.reason,
                file.version,
                operation.version,
            )
            return snapshot.sibling(file)
    raise RetryableConflict(f"{snapshot.name}: other commits came first in each of {MAX_ATTEMPTS} attempts")


def _damage(latest: Snapshot, reason: CorruptFile) -> Damage:
    """Finds the unreadable versions up to the newest one.

    raises: CorruptFile if none can be read; UnsupportedFeature for versions of newer releases
    """
    files = [file for file in versions.list_versions(latest.store) if file.version <= latest.version]
    for count, file in enumerate(reversed(files)):
        readable = latest.sibling(file)
        with suppress(CorruptFile):
            _ = readable.manifest
            return Damage(readable, tuple(files[-count:]), str(reason))
    raise reason


def _restore_over(damage: Damage, operation: Restore, properties: Mapping[str, str]) -> VersionFile | None:
    """Commits a version above the damaged ones; returns None if another writer was first."""
    readable = damage.readable
    features.check_writable(readable.manifest.reader_flags, readable.manifest.writer_flags, readable.label)
    num_fragments = _fragments_given_out(damage)
    transaction = Transaction(damage.newest.version, str(uuid4()), operation, properties)
    restored = manifest_builder.restored_above(
        readable,
        operation,
        number=damage.newest.version + 1,
        spare_fragments=num_fragments + SPARE_FRAGMENTS * len(damage.files),
        spare_rows=num_fragments * _MAX_ROWS_OF_FRAGMENT + SPARE_ROWS * len(damage.files),
        timestamp=datetime.now(UTC),
        transaction_file=transaction.file_name,
    )
    return put_version(readable.store, restored, transaction, naming_scheme(damage.newest), mode="next")


def _fragments_given_out(damage: Damage) -> int:
    """Returns an upper bound of the fragment ids that unreadable versions assigned."""
    store, manifest = damage.readable.store, damage.readable.manifest
    own_files = {file.path for fragment in manifest.fragments for file in fragment.files if file.base_id is None}
    # every new fragment has a data file; files of older versions and of active writers count as well
    count = sum(info.path.removeprefix(f"{DATA}/") not in own_files for info in store.files(DATA))
    for info in store.files(TRANSACTIONS):
        with suppress(LanceError, OSError):
            size, content = store.tail(info.path, 0)
            if size > MAX_BYTES:
                continue
            _, content = store.tail(info.path, MAX_BYTES)
            transaction = transactions.parse(bytes(memoryview(content)))
            if transaction.read_version + 1 >= damage.readable.version:
                count += _new_fragments(transaction.operation)
    return count


def _new_fragments(operation: Operation) -> int:
    """Returns the number of fragment ids that an operation uses."""
    match operation:
        case Append(new) | Overwrite(fragments=new) | Update(new_fragments=new) | Merge(fragments=new):
            return len(new)
        case ReserveFragments(count):
            return count
        case Rewrite(groups):
            return sum(len(group.new_fragments) for group in groups)
        case _:
            return 0
