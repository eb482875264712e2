"""Reading the rows of which the answer to a query changed: each from the version that has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from lance_sql import selection
from lance_sql.arrays import I64
from lance_sql.errors import at
from lance_sql.scan.predicates.evaluation import evaluate
from lance_sql.scan.projection import OutputColumn
from lance_sql.scan.read_batch import record_batch
from lance_sql.scan.system_columns import ROW_ID
from lance_sql.scan.take import parts, take_at
from lance_sql.schema import Field, arrow_field
from lance_sql.search.ranked_scan import RankedScan, cut
from lance_sql.search.ranking import Ranking

if TYPE_CHECKING:
    from lance_sql.changes.answers import AnswerChanges, Found

CHANGE: Final = "_change"
ROW_CHANGE: Final = "_row_change"
PREVIOUS: Final = "_previous"
"""Before the name of a number of the query: that of the version before."""


@dataclass(frozen=True, repr=False)
class AnswerScan(RankedScan):
    """A read of some columns and rows of what changed. Immutable."""

    changes: AnswerChanges

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of every batch: the columns in the order they were asked for."""
        return pa.schema([column.arrow for column in self.columns], self.changes.schema.metadata)

    def explain(self) -> str:
        """How both versions were searched, as text; the searches are made for it."""
        changes = self.changes
        lines = [f"changes of an answer of {changes.snapshot.name} since version {changes.feed.start - 1}"]
        for name, rows in (("before", changes.before), ("now", changes.after)):
            if rows is not None:
                lines += [f"  {name}: {line.strip()}" for line in rows.scan([]).explain().splitlines()]
        told = [change for found in changes.found for change in found.changes]
        lines += [f"  {change}: {told.count(change)} rows" for change in sorted(set(told))]
        return "\n".join(lines)

    def to_html(self) -> str:
        """A page as `SearchScan.to_html`: what is new, changed and gone.

        raises: as that
        """
        from lance_sql.search.page import MOST_HITS, answer_page

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
        )

    def __repr__(self) -> str:
        return f"AnswerScan({self.changes!r}, columns={[column.name for column in self.columns]})"

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with at(table=self.changes.snapshot.label):
            found = () if self.limit == 0 else self.changes.found
            yield from cut(chain.from_iterable(map(self._passing, found)), self.batch_size, self.limit)

    def _passing(self, found: Found) -> Iterator[pa.RecordBatch]:
        """The rows of one version that pass the condition."""
        own = self.changes.own
        tested = {path[0] for path in self.condition.columns} if self.condition is not None else set()
        fields = {each.name: each for each in self.changes.snapshot.manifest.schema.fields}
        wanted = {column.field.name for column in self.columns if column.field is not None} | (tested - own.keys())
        stored = [fields[name] for name in fields if name in wanted]
        told = [name for name in own if name in tested or any(column.name == name for column in self.columns)]
        rows = self.changes.before if found.is_before else self.changes.after
        assert rows is not None
        for part in parts(rows.snapshot, _whole(stored), found.addresses, by_address=True):
            places = np.arange(part.start, min(part.stop, len(found.addresses)))
            values = {each.name: array for each, array in zip(stored, self._stored(found, stored, places), strict=True)}
            values |= {name: self._told(found, name, places) for name in told}
            mask = None
            if self.condition is not None:
                mask = evaluate(self.condition, record_batch(list(values.values()), list(values), len(places)))
            arrays = [column.extract(values[_top(column)]) for column in self.columns]
            batch = record_batch(arrays, [column.arrow for column in self.columns], len(places))
            if mask is not None:
                batch = selection.filter(batch, mask.fill_null(False))
            if batch.num_rows:
                yield batch

    def _stored(self, found: Found, fields: Sequence[Field], places: I64) -> list[pa.Array]:
        """Columns of rows, in the types of the later version."""
        if not fields:
            return []
        addresses = found.addresses[places]
        if not found.is_before:
            return _arrays(take_at(self.changes.snapshot, _whole(fields), addresses))
        before, sources = self.changes.before, self.changes.sources_before()
        assert before is not None
        known = [sources[each.name] for each in fields]
        read = [each.stored._replace(name=each.column.name) for each in known if each.stored is not None]
        taken = iter(_arrays(take_at(before.snapshot, _whole(read), addresses)) if read else ())
        return [
            pa.nulls(len(places), each.type) if each.stored is None else each.convert(next(taken)) for each in known
        ]

    def _told(self, found: Found, name: str, places: I64) -> pa.Array:
        """A column that the table does not have."""
        changes = self.changes
        if name == ROW_ID:
            return pa.array(found.ids[places])
        if name == CHANGE:
            return pa.array([found.changes[place] for place in places.tolist()], pa.string())
        if name == ROW_CHANGE:
            return pa.array([changes.row_changes.get(row_id) for row_id in found.ids[places].tolist()], pa.string())
        if name in (each.name for each in changes.after.ranker.fields):
            return _numbers(changes.after.ranking, name, found.now[places])
        type = changes.own[name].type
        if changes.before is None:
            return pa.nulls(len(places), type)
        return _numbers(changes.before.ranking, name.removeprefix(PREVIOUS), found.previous[places])


def _numbers(ranking: Ranking, name: str, places: I64) -> pa.Array:
    """A number of the query for rows at these places; NULL for -1."""
    return ranking.scores[name].take(pa.array(places, mask=places < 0))


def _whole(fields: Sequence[Field]) -> tuple[OutputColumn, ...]:
    """Fields as columns, with all of their members."""
    return tuple(OutputColumn(each.name, each, (), arrow_field(each).with_nullable(True)) for each in fields)


def _top(column: OutputColumn) -> str:
    return column.name if column.field is None else column.field.name


def _arrays(table: pa.Table) -> list[pa.Array]:
    arrays = table.combine_chunks().columns
    return [each.chunk(0) if each.num_chunks == 1 else pa.concat_arrays(each.chunks) for each in arrays]
