"""Writes that are made once, however often they are tried.

An application numbers its writes, and the transaction of each says whose it is, and which.

    application "orders"    write 41    version 7     lance_sql.txn_app_id = orders, lance_sql.txn_version = 41
                            write 41    tried again: version 7 has it, nothing is written
                            write 42    version 9

Two processes that try the same write at the same time have the same id of their transaction, for which a commit looks
in every version that came in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

from lance_sql.errors import InvalidArgument
from lance_sql.table import versions
from lance_sql.table.commit_summary import TXN_APP_ID, TXN_VERSION
from lance_sql.table.snapshot import Snapshot

_NAMESPACE: Final = UUID("5b0d9c56-3c33-4a0c-8f0a-6f2f4dd5a0b1")
_MAX_NUMBER: Final = 2**63


@dataclass(frozen=True, slots=True)
class Turn:
    """One write of an application.

    version: ascends with every write of it
    raises: InvalidArgument
    """

    app_id: str
    version: int

    def __post_init__(self) -> None:
        if not isinstance(self.app_id, str) or not self.app_id:
            raise InvalidArgument(f"txn_app_id={self.app_id!r} is not the name of an application")
        if not isinstance(self.version, int) or isinstance(self.version, bool) or not 0 <= self.version < _MAX_NUMBER:
            raise InvalidArgument(f"txn_version={self.version!r} is not a whole number from 0 on")

    @property
    def transaction(self) -> str:
        """The id of the transaction, the same in every attempt."""
        return str(uuid5(_NAMESPACE, f"{self.version} {self.app_id}"))


def turn(app_id: str | None, version: int | None) -> Turn | None:
    """The turn that a caller names; None for a write that is made as often as it is asked for.

    raises: InvalidArgument for one without the other
    """
    if app_id is None and version is None:
        return None
    if app_id is None or version is None:
        raise InvalidArgument("txn_app_id and txn_version go together: whose write it is, and which of them")
    return Turn(app_id, version)


def committed(snapshot: Snapshot, wanted: Turn) -> Snapshot | None:
    """The version that has a write, or a later one of the same application; None where it was not made yet.

    Looks through the versions of the branch, from the newest back to the application's last one: what a cleanup has
    removed is not known any more.

    raises: CorruptFile, UnsupportedFeature for a version on the way that cannot be read
    """
    for file in reversed(versions.list_versions(snapshot.store)):
        candidate = snapshot.sibling(file)
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
