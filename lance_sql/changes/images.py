"""Images of rows: the parts of a planned feed, each with rows of one kind that one version has.

insert               version 8     rows of fragment 9            columns as version 8 has them
update_preimage      version 9     rows of fragments 0, 3        columns as version 8 has them
update_postimage     version 9     rows of fragment 10           columns as version 9 has them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from lance_sql.changes.changed_rows import RowSelection
from lance_sql.changes.earlier_columns import Sources
from lance_sql.changes.history import Commit
from lance_sql.table.commit_origin import CommitOrigin
from lance_sql.values.arrays import I64, U64, BoolMask, as_column

CHANGE_TYPE: Final = "_change_type"
COMMIT_VERSION: Final = "_commit_version"
COMMIT_TIMESTAMP: Final = "_commit_timestamp"
COMMIT_JOB: Final = "_commit_job"
COMMIT_USER: Final = "_commit_user"
COMMIT_HOST: Final = "_commit_host"

INSERT: Final = "insert"
DELETE: Final = "delete"
PREIMAGE: Final = "update_preimage"
POSTIMAGE: Final = "update_postimage"
KINDS: Final = (DELETE, PREIMAGE, POSTIMAGE, INSERT)
"""Kinds of images, in the order of delivery within a commit."""

ONE_ID: Final = np.zeros(1, np.uint64)
"""Row id for columns with one value for all rows."""

TIME: Final = pa.timestamp("us", "UTC")
FIELDS: Final = (
    pa.field(CHANGE_TYPE, pa.string(), nullable=False),
    pa.field(COMMIT_VERSION, pa.uint64(), nullable=False),
    pa.field(COMMIT_TIMESTAMP, TIME, nullable=False),
)
NAMES: Final = tuple(field.name for field in FIELDS)
ORIGIN_NAMES: Final = (COMMIT_JOB, COMMIT_USER, COMMIT_HOST)
ORIGIN_FIELDS: Final = tuple(pa.field(name, pa.string()) for name in ORIGIN_NAMES)
"""Columns that a feed has on request; NULL where a commit does not record them."""

_FEW: Final = 1024

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class FeedValues(Protocol):
    """Columns that describe the change of rows. Row ids are arrays uint64[n]."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def constant(self) -> tuple[str, ...]:
        """Names of columns with one value for all rows."""
        ...

    def columns(self, kind: str, names: Sequence[str], ids: U64) -> dict[str, pa.Array]:
        """Returns some of the columns for rows of a kind with these ids. Constant columns do not depend on the ids."""
        ...


@dataclass(frozen=True)
class Commits:
    """Commit that changed each of some rows: one for all of them, or one by row id.

    versions, timestamps: of the commits; ascending by version; timestamps in microseconds since 1970, UTC
    ids: ascending row ids; None if one commit changed all rows
    numbers: parallel to `ids`, indices into `versions`
    origins: parallel to `versions`; None if the feed does not have the columns of origins
    """

    versions: I64
    timestamps: I64
    ids: U64 | None = None
    numbers: np.ndarray[tuple[int], np.dtype[np.integer[Any]]] | None = None
    origins: tuple[CommitOrigin, ...] | None = None

    @classmethod
    def of(cls, commits: Sequence[Commit], *, with_origin: bool) -> Commits:
        """Creates the value for commits; rows without ids belong to the first one."""
        return cls(
            np.array([commit.version for commit in commits], np.int64),
            np.array([microseconds(commit.timestamp) for commit in commits], np.int64),
            origins=tuple(commit.origin for commit in commits) if with_origin else None,
        )

    def by_id(self, ids: U64, numbers: np.ndarray[tuple[int], np.dtype[np.integer[Any]]]) -> Commits:
        """Returns the same commits, each for the rows whose ids have its number."""
        return replace(self, ids=ids, numbers=numbers)

    @property
    def names(self) -> tuple[str, ...]:
        return NAMES if self.origins is None else NAMES + ORIGIN_NAMES

    @property
    def constant(self) -> tuple[str, ...]:
        return self.names if self.ids is None else (CHANGE_TYPE,)

    def columns(self, kind: str, names: Sequence[str], ids: U64) -> dict[str, pa.Array]:
        arrays: dict[str, pa.Array] = {}
        if set(names) - {CHANGE_TYPE}:
            if self.ids is None or self.numbers is None:
                number: np.ndarray[tuple[int], np.dtype[np.integer[Any]]] = np.zeros(len(ids), np.int64)
            else:
                number = self.numbers[np.searchsorted(self.ids, ids)]
            arrays[COMMIT_VERSION] = as_column(self.versions[number].astype(np.uint64), pa.uint64())
            arrays[COMMIT_TIMESTAMP] = times(self.timestamps[number])
            for origin_name in set(names) & set(ORIGIN_NAMES):
                texts = [getattr(each, origin_name.removeprefix("_commit_")) for each in self.origins or ()]
                arrays[origin_name] = pa.array(texts, pa.string()).take(pa.array(number))
        if CHANGE_TYPE in names:
            arrays[CHANGE_TYPE] = _repeated(kind).slice(0, len(ids)) if len(ids) <= _FEW else pa.repeat(kind, len(ids))
        return {name: arrays[name] for name in names}


@dataclass(frozen=True)
class Images:
    """Rows of one kind. Picklable.

    kind: one of `KINDS`
    version: the version that has the rows
    sources: the columns of the feed, as the version stores them
    """

    kind: str
    version: int
    rows: RowSelection
    sources: Sources
    feed_values: FeedValues

    def head(self, num_rows: int) -> Images:
        """Returns the first rows."""
        if num_rows >= self.rows.num_rows:
            return self
        return self.pick(np.arange(num_rows, dtype=np.int64))

    def pick(self, positions: I64) -> Images:
        """Returns the rows at ascending positions."""
        return replace(self, rows=self.rows.pick(positions))

    def feed_columns(self, names: Sequence[str], ids: U64) -> dict[str, pa.Array]:
        """Returns some of the columns that describe the change."""
        return self.feed_values.columns(self.kind, names, ids)


@cache
def _repeated(kind: str) -> pa.Array:
    """Returns a kind for each of a few rows; making such an array gives up Python's lock five times."""
    return pa.repeat(kind, _FEW)


def times(microseconds: I64, mask: BoolMask | None = None) -> pa.Array:
    """Returns times as a column; NULL where the mask is true."""
    if mask is None:
        return as_column(microseconds, TIME)
    # a cast copies the values, and does so on other threads
    return pa.array(microseconds, pa.int64(), mask=mask).view(TIME)


def microseconds(when: datetime) -> int:
    """Converts a time to microseconds since 1970, as Arrow stores it."""
    return (when - _EPOCH) // timedelta(microseconds=1)
