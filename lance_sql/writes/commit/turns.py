"""Idempotent writes: numbered writes of applications, each committed once.

    properties  lance_sql.txn_app_id = orders, lance_sql.txn_version = 41    of the transaction
    config      lance_sql.txn.orders = 41 7 5c1f..                           of the table from then on: the number of
                                                                             the last write, its version, its query

The commit succeeds only if the table has no write of this number or a higher one. The config survives a cleanup and
is copied to branches. A restore reverts it with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from lance_sql.errors import CommitConflict
from lance_sql.table.commit_summary import TXN, TXN_APP_ID, TXN_QUERY, TXN_VERSION

_MOST_DIGITS: Final = 19


class LastTurn(NamedTuple):
    """Last write of an application.

    number: of the write
    version: version of the table with the write
    query: of Spark, if the application is a query of Spark; empty otherwise
    """

    number: int
    version: int
    query: str


def last(config: Mapping[str, str], app_id: str) -> LastTurn | None:
    """Returns the last write of an application from the config of a table; None without one."""
    number, _, rest = config.get(TXN + app_id, "").partition(" ")
    version, _, query = rest.partition(" ")
    return LastTurn(int(number), int(version), query) if _is_number(number) and _is_number(version) else None


def config(
    latest: Mapping[str, str], given: Mapping[str, str] | None, version: int, table: str
) -> dict[str, str | None]:
    """Returns the config values that a commit with these properties sets.

    latest: the config of the version before the commit
    version: version of the commit
    raises: CommitConflict if the table already has the write
    """
    app_id, number = (given or {}).get(TXN_APP_ID), (given or {}).get(TXN_VERSION, "")
    if app_id is None or not _is_number(number):
        return {}
    known = last(latest, app_id)
    if known is not None and known.number >= int(number):
        raise CommitConflict(
            f"{table} has write {known.number} of {app_id!r} already, so write {number} was not committed"
        )
    query = (given or {}).get(TXN_QUERY, "")
    return {TXN + app_id: f"{number} {version} {query}".rstrip()}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
