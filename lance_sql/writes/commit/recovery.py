"""Restoring a version of a table whose newest manifest is damaged.

    7   readable    its counters are known
    8   readable    the version to return to
    9   damaged     what it did is not known: new fragments, new rows
    10  = 8         with counters far above everything that 9 can have given out

No number of a version, fragment or row is given twice: what version 9 gave out may be known elsewhere. How much that
can have been is bounded by transactions and by data files that no readable version has, and the bound is a generous
one.

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
"""So many fragment ids beyond those that are known to have been given out are left out for each damaged version."""

SPARE_ROWS: Final = 2**40
"""So many row ids beyond those that are known to have been given out are left out for each damaged version."""

_MAX_ROWS_OF_FRAGMENT: Final = 2**32


@dataclass(frozen=True, slots=True)
class Damage:
    """Newest versions that cannot be read.

    readable: the newest version that can be
    files: of the versions after it, ascending
    reason: why the newest one cannot be read
    """

    readable: Snapshot
    files: tuple[VersionFile, ...]
    reason: str

    @property
    def newest(self) -> VersionFile:
        """The newest version of all."""
        return self.files[-1]


def restore(snapshot: Snapshot, operation: Restore, properties: Mapping[str, str]) -> Snapshot:
    """Makes an earlier version the newest one again, also where the newest one is damaged; that is logged as a warning.

    properties: kept with the transaction
    raises: VersionNotFound; CorruptFile when the earlier version cannot be read; as `commit`
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
    """Which versions up to the newest one cannot be read.

    raises: CorruptFile when none can be read; UnsupportedFeature for versions of newer releases
    """
    files = [file for file in versions.list_versions(latest.store) if file.version <= latest.version]
    for count, file in enumerate(reversed(files)):
        readable = latest.sibling(file)
        with suppress(CorruptFile):
            _ = readable.manifest
            return Damage(readable, tuple(files[-count:]), str(reason))
    raise reason


def _restore_over(damage: Damage, operation: Restore, properties: Mapping[str, str]) -> VersionFile | None:
    """Commits a version above the damaged ones; None when another writer was first."""
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
    return put_version(readable.store, restored, transaction, naming_scheme(damage.newest), readable.name, mode="next")


def _fragments_given_out(damage: Damage) -> int:
    """At most so many fragment ids were given out by versions that cannot be read."""
    store, manifest = damage.readable.store, damage.readable.manifest
    own_files = {file.path for fragment in manifest.fragments for file in fragment.files if file.base_id is None}
    # every new fragment has a data file; files of older versions and of writers that are at work count as well
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
    """How many fragment ids an operation takes."""
    match operation:
        case Append(new) | Overwrite(fragments=new) | Update(new_fragments=new) | Merge(fragments=new):
            return len(new)
        case ReserveFragments(count):
            return count
        case Rewrite(groups):
            return sum(len(group.new_fragments) for group in groups)
        case _:
            return 0
