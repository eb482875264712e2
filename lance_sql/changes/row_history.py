"""All images of rows with the versions in which each was valid: a slowly changing dimension of type 2 (SCD2).

    id   price   valid_from_version   valid_to_version   is_current
     1      10                    1                  4   false
     1      12                    4               NULL   true
     2      30                    1                  3   false           deleted by version 3

An image is valid from the version that its commit created to the version, exclusive, that updated or deleted its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql.changes.bounds import Bound
from lance_sql.changes.changed_rows import RowSelection
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.images import INSERT, POSTIMAGE, TIME, Images, microseconds, times
from lance_sql.changes.narrowing import narrowed
from lance_sql.changes.plan import CommitRange, Part
from lance_sql.reads.scan.filters import Filter
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import I64, U64, BoolMask

FROM_VERSION: Final = "valid_from_version"
TO_VERSION: Final = "valid_to_version"
FROM: Final = "valid_from"
TO: Final = "valid_to"
IS_CURRENT: Final = "is_current"
FROM_JOB: Final = "valid_from_job"
TO_JOB: Final = "valid_to_job"

FIELDS: Final = (
    pa.field(FROM_VERSION, pa.uint64()),
    pa.field(TO_VERSION, pa.uint64()),
    pa.field(FROM, TIME),
    pa.field(TO, TIME),
    pa.field(IS_CURRENT, pa.bool_(), nullable=False),
)
JOB_FIELDS: Final = (pa.field(FROM_JOB, pa.string()), pa.field(TO_JOB, pa.string()))
"""Columns that a history has on request; NULL where a commit does not record a job."""
_NAMES: Final = tuple(field.name for field in FIELDS)

_Flags: TypeAlias = BoolMask


@dataclass(frozen=True)
class Validity:
    """Validity of some images.

    first: the version from which they are valid; None for images from before the range
    versions, timestamps: of the range's commits; ascending by version; timestamps in microseconds since 1970, UTC
    ids: ascending row ids
    ends: parallel to `ids`, the number of the commit that ended each; -1 for none
    jobs: parallel to `versions`; None if the history does not have the columns of jobs
    """

    first: int | None
    versions: I64
    timestamps: I64
    ids: U64
    ends: I64
    jobs: tuple[str | None, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return _NAMES if self.jobs is None else (*_NAMES, FROM_JOB, TO_JOB)

    @property
    def constant(self) -> tuple[str, ...]:
        return (FROM_VERSION, FROM) if self.jobs is None else (FROM_VERSION, FROM, FROM_JOB)

    def columns(self, kind: str, names: Sequence[str], ids: U64) -> dict[str, pa.Array]:
        arrays = dict(self._beginning(len(ids)))
        if set(names) - set(self.constant):
            ends = self.ends[np.searchsorted(self.ids, ids)]
            is_open: _Flags = ends < 0
            arrays[TO_VERSION] = pa.array(self.versions[ends].astype(np.uint64), mask=is_open)
            arrays[TO] = times(self.timestamps[ends], mask=is_open)
            arrays[IS_CURRENT] = pa.array(is_open)
            if self.jobs is not None:
                arrays[TO_JOB] = pa.array(self.jobs, pa.string()).take(pa.array(ends, mask=is_open))
        return {name: arrays[name] for name in names}

    def _beginning(self, num_rows: int) -> Iterator[tuple[str, pa.Array]]:
        if self.first is None:
            yield FROM_VERSION, pa.nulls(num_rows, pa.uint64())
            yield FROM, pa.nulls(num_rows, TIME)
            yield FROM_JOB, pa.nulls(num_rows, pa.string())
            return
        number = int(np.searchsorted(self.versions, self.first))
        yield FROM_VERSION, pa.repeat(pa.scalar(self.first, pa.uint64()), num_rows)
        yield FROM, times(np.full(num_rows, self.timestamps[number]))
        if self.jobs is not None:
            yield FROM_JOB, pa.repeat(pa.scalar(self.jobs[number], pa.string()), num_rows)


@dataclass
class HistoryRange(CommitRange):
    """Commits of a row history, and the rows before the first one."""

    def parts(self, predicate: Predicate | None) -> Iterator[Part]:
        for each in self._all_images():
            if each.rows.num_rows and (part := narrowed(each, predicate)) is not None:
                yield part

    def _all_images(self) -> Iterator[Images]:
        if self.last < self.first:
            return
        commits = self.commits()
        versions = np.array([commit.version for commit in commits], np.int64)
        timestamps = np.array([microseconds(commit.timestamp) for commit in commits], np.int64)
        jobs = tuple(commit.origin.job for commit in commits) if self.with_origin else None
        ends = _Ends([self._ended(version) for version in versions.tolist()])

        def images(kind: str, rows: RowSelection, version: int, first: int | None) -> Images:
            ids = np.sort(rows.ids)
            number = -1 if first is None else int(np.searchsorted(versions, first))
            validity = Validity(first, versions, timestamps, ids, ends.after(ids, number), jobs)
            return Images(kind, version, rows, self.sources(version), validity)

        earlier = commits[0].earlier
        if earlier is not None:
            side = self.history.side(earlier)
            there = RowSelection.of(side.files, [(each, side.live(each)) for each in side.fragments])
            yield images(INSERT, there, self.first - 1, None)
        for version in versions.tolist():
            changed = self.changed(version)
            for pairs, _ in changed.updated:
                yield images(POSTIMAGE, pairs.after, version, version)
            yield images(INSERT, changed.inserted, version, version)

    def _ended(self, version: int) -> U64:
        """Returns the ids of rows whose images a commit ended."""
        changed = self.changed(version)
        return np.concatenate([changed.deleted.ids, *(pairs.ids for pairs, _ in changed.updated)])


class _Ends:
    """Commits that ended images, by row.

    ids: the row ids of each commit, in order
    """

    def __init__(self, ids: Sequence[U64]) -> None:
        together = np.concatenate(ids)
        self._ids = np.unique(together)
        self._step = len(ids) + 1
        commits = np.repeat(np.arange(len(ids)), [len(each) for each in ids])
        self._keys = np.sort(np.searchsorted(self._ids, together) * self._step + commits)

    def after(self, ids: U64, number: int) -> I64:
        """Returns, for each row, the number of the first commit after `number` that ended an image of it; -1 for none.

        number: of a commit; -1 for the time before the first
        """
        if not len(self._ids):
            return np.full(len(ids), -1, np.int64)
        ranks = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        at = np.searchsorted(self._keys, ranks * self._step + number, side="right")
        next_keys = self._keys[np.minimum(at, len(self._keys) - 1)]
        is_there = (at < len(self._keys)) & (next_keys // self._step == ranks) & (self._ids[ranks] == ids)
        ends: I64 = np.where(is_there, next_keys % self._step, -1)
        return ends


class RowHistory(ChangeFeed):
    """All images of rows in a range of versions, as a relation. Immutable, thread-safe, picklable.

    Its columns are those of the range's last version, then `valid_from_version`, `valid_to_version`, `valid_from`,
    `valid_to` (from is inclusive, to is exclusive), `is_current` and `_rowid`; with `origin`, `valid_from_job` and
    `valid_to_job` before `_rowid`. Images from before the range have NULL as their beginning.
    """

    _change_fields = FIELDS
    _origin_fields = JOB_FIELDS
    range_type = HistoryRange

    def __init__(
        self,
        snapshot: Snapshot,
        start: Bound | None = None,
        end: Bound | None = None,
        *,
        since: Bound | None = None,
        origin: bool = False,
    ) -> None:
        super().__init__(snapshot, start, end, since=since, origin=origin)

    def of_rows(self, filter: Filter | None = None, max_rows: int = 20) -> pa.Table:
        """Returns all images of the first rows that have an image passing a filter.

        filter: as for `scan`
        max_rows: the maximum number of rows, in the order of the history
        returns: the columns of the relation, by row and then by time
        raises: as `scan`

        >>> orders.update({"amount": "0"}, "id = 3").row_history().of_rows("id = 3")["amount"].to_pylist()
        [Decimal('237.57'), Decimal('0.00')]
        """
        ids: dict[int, None] = {}
        for batch in self.scan([ROW_ID], filter).to_reader():
            ids |= dict.fromkeys(batch.column(0).to_pylist())
            if len(ids) >= max_rows:
                break
        chosen = list(ids)[:max_rows]
        images = self.scan(filter=f"{ROW_ID} IN ({', '.join(map(str, chosen)) or 'NULL'})").to_table()
        beginnings = images[FROM_VERSION].fill_null(0).to_numpy()
        return images.take(np.lexsort((beginnings, images[ROW_ID].to_numpy())))

    def to_html(self, filter: Filter | None = None) -> str:
        """Renders the history of rows, from insert to delete, as a page in one file that needs no network.

        filter: a condition on images; the page shows the first rows with an image that passes
        raises: MissingDependency where Jinja2 is not installed; as `scan`
        """
        from lance_sql.changes import story_page

        return story_page.as_page(self, self.predicate(filter))

    def _repr_html_(self) -> str | None:
        from lance_sql.changes import story_page

        return story_page.as_part(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(RowHistory, end=self.end, since=self.start - 1, origin=self.range.with_origin), (self._snapshot,)

    def __str__(self) -> str:
        return super().__str__().replace("changes of", "history of").partition(", mode")[0]
