"""Idempotent writes, which are committed once even if retried.

An application numbers its writes. The transaction of each contains the name of the application and the number.

    application "orders"    write 41    version 7
                            write 41    retried: version 7 has it, nothing is written
                            write 42    version 9

The table's config contains the number of the last write of each application; see `writes.commit.turns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lance_sql.errors import InvalidArgument
from lance_sql.table import versions
from lance_sql.table.commit_summary import TXN_APP_ID, TXN_VERSION
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import names
from lance_sql.writes.commit import turns

_MAX_NUMBER: Final = 2**63


@dataclass(frozen=True, slots=True)
class Turn:
    """One write of an application.

    version: increases with every write of the application
    query: of Spark, whose batches these are; another query does not continue its numbers
    raises: InvalidArgument
    """

    app_id: str
    version: int
    query: str | None = None

    def __post_init__(self) -> None:
        try:
            names.check(self.app_id, "application")
        except InvalidArgument as error:
            raise InvalidArgument(f"txn_app_id={self.app_id!r}: {error}") from None
        if not isinstance(self.version, int) or isinstance(self.version, bool) or not 0 <= self.version < _MAX_NUMBER:
            raise InvalidArgument(f"txn_version={self.version!r} is not a whole number from 0 on")


def turn(app_id: str | None, version: int | None) -> Turn | None:
    """Returns the turn of a write; None for a write that is not idempotent.

    raises: InvalidArgument for one without the other
    """
    if app_id is None and version is None:
        return None
    if app_id is None or version is None:
        raise InvalidArgument("Pass both txn_app_id (the application) and txn_version (the number of its write)")
    return Turn(app_id, version)


def committed(snapshot: Snapshot, wanted: Turn) -> Snapshot | None:
    """Returns the version with a write, or with a later one of the same application; None if it was not made yet.

    snapshot: the newest version
    returns: the newest version if that one was cleaned up
    raises: InvalidArgument for a write of another query, whose numbers begin again; CorruptFile, UnsupportedFeature
        for an unreadable version on the way
    """
    last = turns.last(snapshot.manifest.config, wanted.app_id)
    if last is None:
        return _of_earlier_release(snapshot, wanted)
    if last.number < wanted.version:
        return None
    if wanted.query is not None and last.query not in ("", wanted.query):
        raise InvalidArgument(
            f"{snapshot.name} has batch {last.number} of {wanted.app_id!r} from another query, but this query is at"
            f" batch {wanted.version}: two queries share a txnAppId, or the checkpoint is new. Give each checkpoint its"
            " own txnAppId"
        )
    file = versions.find_version(snapshot.store, last.version)
    if file is None or file.version == snapshot.version:
        return snapshot
    made = snapshot.sibling(file)
    return made if turns.last(made.manifest.config, wanted.app_id) == last else snapshot


def _of_earlier_release(snapshot: Snapshot, wanted: Turn) -> Snapshot | None:
    """Does the same for writes that only their transactions record, as in releases up to 0.2."""
    for file in reversed(versions.list_versions(snapshot.store)):
        candidate = snapshot.sibling(file)
        if turns.last(candidate.manifest.config, wanted.app_id) is not None:
            # a restore has reverted the write
            return None
        transaction = candidate.transaction()
        if transaction is None:
            continue
        number = _version_of(transaction.properties, wanted.app_id)
        if number is not None:
            return candidate if number >= wanted.version else None
    return None


def _version_of(properties: Mapping[str, str], app_id: str) -> int | None:
    text = properties.get(TXN_VERSION, "")
    if properties.get(TXN_APP_ID) != app_id or not (text.isascii() and text.isdecimal()):
        return None
    return int(text[:20])
