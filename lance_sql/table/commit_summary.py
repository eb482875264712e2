"""Summary of a commit in terms of the user's statement, stored as properties of its transaction.

    lance_sql.operation         insert, update, merge, delete, overwrite, create, add_columns, ...
    lance_sql.rows_inserted     rows, as decimal numbers; unknown numbers are left out
    lance_sql.rows_updated
    lance_sql.rows_deleted
    lance_sql.rows_equal        of a merge: matched rows that already had these values, and were not written
    lance_sql.files_written     data files
    lance_sql.bytes_written     their size
    lance_sql.duration_ms       from the beginning of the change to its commit, failed attempts included
    lance_sql.writer            such as "lance-sql 0.1.0"
    lance_sql.job               of a write in two steps: prefix of the names of its data files
    lance_sql.job_name          the user's name of the job; see `commit_origin`
    lance_sql.user              user of the process
    lance_sql.host              host of the process
    lance_sql.statement         SQL text of the statement
    lance_sql.txn_app_id        of an idempotent write: its application and number; see
                                `writes.statements.once`
    lance_sql.txn_version
    lance_sql.txn_query         of an idempotent write of Spark: its query
    lance_sql.consumed.<id>     versions of another table whose changes were written; see `writes.commit.consumed`
    lance_sql.published         name of the published branch; see `publishing`

All other keys belong to the caller. Other implementations preserve them; their commits have none of these.

Source: message lance.table.Transaction, transaction_properties.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lance_sql.errors import InvalidArgument
from lance_sql.table.commit_origin import CommitOrigin
from lance_sql.table.manifest import LIBRARY, library_version
from lance_sql.values.records import Record

PREFIX: Final = "lance_sql."
JOB: Final = f"{PREFIX}job"
JOB_NAME: Final = f"{PREFIX}job_name"
USER: Final = f"{PREFIX}user"
HOST: Final = f"{PREFIX}host"
STATEMENT: Final = f"{PREFIX}statement"
TXN_APP_ID: Final = f"{PREFIX}txn_app_id"
TXN_VERSION: Final = f"{PREFIX}txn_version"
TXN_QUERY: Final = f"{PREFIX}txn_query"
TXN: Final = f"{PREFIX}txn."
"""Prefix of the config keys with the last write of an application; see `writes.commit.turns`."""
VIEW: Final = f"{PREFIX}view"
"""Config key of the definition of a materialized view."""
CONSUMED: Final = f"{PREFIX}consumed."
PUBLISHED: Final = f"{PREFIX}published"

COUNTS: Final = (
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
    "rows_equal",
    "files_written",
    "bytes_written",
    "duration_ms",
)


@dataclass(frozen=True, slots=True, repr=False)
class CommitSummary(Record):
    """Operation and row counts of a commit; None for unknown numbers.

    operation: of the user: an upsert is a "merge", even if the transaction uses another name
    rows_equal: matched rows of a merge that already had its values
    files_written, bytes_written: of new data files
    writer: library and release
    job: id of a write in two steps, None for other changes
    job_name: the user's name of the job that the commit is a part of
    user, host: of the process
    statement: SQL text of the statement
    txn_app_id, txn_version, txn_query: of an idempotent write
    properties: of the caller
    """

    operation: str
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    files_written: int | None = None
    bytes_written: int | None = None
    duration_ms: int | None = None
    rows_equal: int | None = None
    writer: str | None = None
    job: str | None = None
    job_name: str | None = None
    user: str | None = None
    host: str | None = None
    statement: str | None = None
    txn_app_id: str | None = None
    txn_version: int | None = None
    txn_query: str | None = None
    properties: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def to_properties(self) -> dict[str, str]:
        """Returns the properties of a transaction, including the caller's."""
        own = {f"{PREFIX}operation": self.operation}
        for name in COUNTS:
            value = getattr(self, name)
            if value is not None:
                own[PREFIX + name] = str(value)
        own[f"{PREFIX}writer"] = self.writer or f"{LIBRARY} {library_version()}"
        texts = {JOB: self.job, JOB_NAME: self.job_name, USER: self.user, HOST: self.host, STATEMENT: self.statement}
        own |= {key: text for key, text in texts.items() if text is not None}
        if self.txn_app_id is not None and self.txn_version is not None:
            own |= {TXN_APP_ID: self.txn_app_id, TXN_VERSION: str(self.txn_version)}
            if self.txn_query is not None:
                own[TXN_QUERY] = self.txn_query
        return {**self.properties, **own}


def from_properties(properties: Mapping[str, str]) -> CommitSummary | None:
    """Parses the summary from the properties of a transaction; None if there is none, as in other implementations.

    Invalid numbers are left out: properties are informational, nothing depends on them.
    """
    operation = properties.get(f"{PREFIX}operation")
    if operation is None:
        return None
    counts = {name: _number(properties.get(PREFIX + name, "")) for name in COUNTS}
    own = {key: value for key, value in properties.items() if not key.startswith(PREFIX)}
    return CommitSummary(
        operation,
        **counts,
        writer=properties.get(f"{PREFIX}writer"),
        job=properties.get(JOB),
        job_name=properties.get(JOB_NAME),
        user=properties.get(USER),
        host=properties.get(HOST),
        statement=properties.get(STATEMENT),
        txn_app_id=properties.get(TXN_APP_ID),
        txn_version=_number(properties.get(TXN_VERSION, "")),
        txn_query=properties.get(TXN_QUERY),
        properties=own,
    )


def recorded_origin(properties: Mapping[str, str]) -> CommitOrigin:
    """Returns the job, user and host that the properties of a transaction record."""
    return CommitOrigin(job=properties.get(JOB_NAME), user=properties.get(USER), host=properties.get(HOST))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def check_properties(properties: Mapping[str, str] | None) -> dict[str, str]:
    """Validates the caller's properties of a commit, and returns them as a dict.

    raises: InvalidArgument for keys and values that are not text, and for reserved keys
    """
    if properties is None:
        return {}
    if not isinstance(properties, Mapping):
        raise InvalidArgument(f"properties= must be a dict, not a {type(properties).__name__}")
    for key, value in properties.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidArgument(f"Property {key!r} of a commit must be text, not {value!r}")
        if key.startswith(PREFIX) and not key.startswith((CONSUMED, PUBLISHED)):
            raise InvalidArgument(f"The property {key!r} is reserved for the library: choose another key")
    return dict(properties)
