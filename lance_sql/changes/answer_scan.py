"""Reading the changed rows of a query result, each from the version that contains it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from lance_sql.errors import at
from lance_sql.format.schema import Field, arrow_field
from lance_sql.format.schema.primary_key import nullable
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.reads.scan.read_batch import record_batch
from lance_sql.reads.scan.relation import cut
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.reads.scan.take import arrays_at
from lance_sql.reads.search import RankedScan, Ranking
from lance_sql.runtime.cached_property import cached_property
from lance_sql.values.arrays import I64

if TYPE_CHECKING:
    from lance_sql.changes.answers import AnswerChanges, ChangedRows

CHANGE: Final = "_change"
ROW_CHANGE: Final = "_row_change"
PREVIOUS: Final = "_previous"
"""Prefix of a score column of the query for its value in the earlier version."""


@dataclass(frozen=True, repr=False)
class AnswerScan(RankedScan):
    """Scan of some columns and rows of the changes. Immutable."""

    changes: AnswerChanges

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of every batch: the columns in the requested order."""
        return pa.schema([column.arrow for column in self.columns], self.changes.schema.metadata)

    def explain(self) -> str:
        """Returns the search plans of both versions as text; runs the searches."""
        changes = self.changes
        lines = [f"changes of an answer of {changes.snapshot.name} since version {changes.feed.start - 1}"]
        for name, rows in (("before", changes.before), ("now", changes.after)):
            if rows is not None:
                lines += [f"  {name}: {line.strip()}" for line in rows.scan([]).explain().splitlines()]
        shown_changes = [change for changed in changes.changed_rows for change in changed.changes]
        lines += [f"  {change}: {shown_changes.count(change)} rows" for change in sorted(set(shown_changes))]
        return "\n".join(lines)

    def to_html(self) -> str:
        """Renders new, changed and removed rows as a page, like `SearchScan.to_html`.

        raises: as that
        """
        from lance_sql.reads.search.search_page import MOST_HITS, answer_page

        changes = self.changes
        most = MOST_HITS if self.limit is None else min(self.limit, MOST_HITS)
        return answer_page(
            changes.snapshot,
            changes.after.ranker,
            replace(self, limit=most).to_table(),
            list(changes.own),
            explained=self.explain().splitlines()[1:],
            total=self.count_rows(),
            since=changes.feed.start - 1,
            conditions=[str(each) for each in (changes.after.allowed, self.condition) if each is not None],
        )

    def __repr__(self) -> str:
        return f"AnswerScan({self.changes!r}, columns={[column.name for column in self.columns]})"

    def _batches(self, *, keeps_all: bool) -> Iterator[pa.RecordBatch]:
        """Yields the rows. Nothing is searched or read before the first batch is requested."""
        with at(table=self.changes.snapshot.label):
            changed_rows = () if self.limit == 0 else self.changes.changed_rows
            yield from cut(chain.from_iterable(map(self._of_version, changed_rows)), self.batch_size, self.limit)

    def _of_version(self, changed: ChangedRows) -> Iterator[pa.RecordBatch]:
        """Yields the rows of one version that pass the condition."""
        searched = self.changes.before if changed.is_before else self.changes.after
        assert searched is not None
        return self._passing(searched.snapshot, changed.addresses, self.changes.resolve, partial(self._read, changed))

    def _read(self, changed: ChangedRows, columns: Sequence[OutputColumn], positions: I64) -> pa.RecordBatch:
        """Returns columns of the rows at some positions."""
        names = {column.field.name for column in columns if column.field is not None}
        fields = [field for field in self.changes.snapshot.manifest.schema.fields if field.name in names]
        stored = dict(zip((each.name for each in fields), self._stored(changed, fields, positions), strict=True))
        arrays = [
            self._own(changed, column.name, positions)
            if column.field is None
            else column.extract(stored[column.field.name])
            for column in columns
        ]
        return record_batch(arrays, [column.arrow for column in columns], len(positions))

    def _stored(self, changed: ChangedRows, fields: Sequence[Field], positions: I64) -> list[pa.Array]:
        """Returns stored columns of rows in the types of the later version."""
        addresses = changed.addresses[positions]
        if not changed.is_before:
            return arrays_at(self.changes.snapshot, _whole(fields), addresses)
        before, sources = self.changes.before, self.changes.sources_before()
        assert before is not None
        columns = [sources[each.name] for each in fields]
        read = [each.stored._replace(name=each.column.name) for each in columns if each.stored is not None]
        taken = iter(arrays_at(before.snapshot, _whole(read), addresses))
        return [
            pa.nulls(len(positions), each.type) if each.stored is None else each.convert(next(taken))
            for each in columns
        ]

    def _own(self, changed: ChangedRows, name: str, positions: I64) -> pa.Array:
        """Returns a column that is not stored in the table."""
        changes = self.changes
        if name == ROW_ID:
            return pa.array(changed.ids[positions])
        if name == CHANGE:
            return pa.array([changed.changes[position] for position in positions.tolist()], pa.string())
        if name == ROW_CHANGE:
            return pa.array(
                [changes.row_changes.get(row_id) for row_id in changed.ids[positions].tolist()], pa.string()
            )
        if name in (each.name for each in changes.after.ranker.fields):
            return _numbers(changes.after.ranking, name, changed.now[positions])
        type = changes.own[name].type
        if changes.before is None:
            return pa.nulls(len(positions), type)
        return _numbers(changes.before.ranking, name.removeprefix(PREVIOUS), changed.previous[positions])


def _numbers(ranking: Ranking, name: str, positions: I64) -> pa.Array:
    """Returns a score of the query for rows at these positions of the ranking; NULL for -1."""
    return ranking.scores[name].take(pa.array(positions, mask=positions < 0))


def _whole(fields: Sequence[Field]) -> tuple[OutputColumn, ...]:
    """Fields as columns, with all of their members."""
    return tuple(OutputColumn(each.name, each, (), nullable(arrow_field(each))) for each in fields)
