"""Rows that a search finds, as a relation whose columns engines and users read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lance_sql.errors import InvalidArgument, at
from lance_sql.reads.scan import projection, system_columns
from lance_sql.reads.scan.filters import Filter, bound, to_predicate
from lance_sql.reads.scan.predicates import Predicate, conjuncts, joined
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.reads.scan.relation import PlainRows
from lance_sql.reads.search.ranking import Ranker, Ranking
from lance_sql.reads.search.search_scan import SearchScan
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.snapshot import Snapshot


@dataclass(frozen=True, repr=False)
class SearchRows(PlainRows):
    """Best rows of a version for a query, with the table's columns and the scores of the ranking.

    allowed: restricts the search to these rows
    prefilter: adds conditions of a scan on the table's columns to `allowed`, instead of filtering the found rows
    """

    snapshot: Snapshot
    ranker: Ranker
    allowed: Predicate | None = None
    prefilter: bool = False

    def __post_init__(self) -> None:
        taken = {field.name for field in self.snapshot.manifest.schema.arrow}
        for field in (*self.ranker.leading, *self.ranker.fields):
            if field.name in taken:
                raise InvalidArgument(
                    f"{self.snapshot.label} has a column {field.name!r}, and so does the result of a search: rename it"
                )

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns of the table, and those of the ranking."""
        stored = self.snapshot.manifest.schema.arrow
        return pa.schema([*self.ranker.leading, *stored, *self.ranker.fields], stored.metadata)

    @property
    def system_columns(self) -> tuple[str, ...]:
        """System columns of the table."""
        return system_columns.available(stable_row_ids=self.snapshot.manifest.has_stable_row_ids)

    @cached_property
    def ranking(self) -> Ranking:
        """Rows that the query finds; searched once."""
        with at(table=self.snapshot.label):
            return self.ranker.rank(self.snapshot, self.allowed)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
    ) -> SearchScan:
        """Returns some columns of the rows, best first.

        columns: all of `schema` without it
        filter: on the found rows; with `prefilter`, conditions on the table's columns restrict the search
        raises: as `Dataset.scan`
        """
        chosen = self.resolve(self.schema.names if columns is None else columns)
        condition = bound(filter, self.schema, self.system_columns, self.snapshot.label)
        if condition is None or not self.prefilter:
            return SearchScan(self, columns=chosen, condition=condition, limit=limit, batch_size=batch_size)
        own = {field.name for field in (*self.ranker.leading, *self.ranker.fields)}
        before = [part for part in conjuncts(condition) if not own & {path[0] for path in part.columns}]
        after = [part for part in conjuncts(condition) if own & {path[0] for path in part.columns}]
        rows = replace(self, allowed=joined(self.allowed, *before))
        return SearchScan(rows, columns=chosen, condition=joined(*after), limit=limit, batch_size=batch_size)

    def resolve(self, names: Sequence[str]) -> tuple[OutputColumn, ...]:
        """Resolves names to columns.

        raises: as `projection.resolve`
        """
        own = {field.name: field for field in (*self.ranker.leading, *self.ranker.fields)}
        stored = iter(projection.resolve(self.snapshot, [name for name in names if name not in own]))
        twice = {name for name in names if name in own and list(names).count(name) > 1}
        if twice:
            raise InvalidArgument(f"Column {min(twice)!r} is selected twice: name it once")
        return tuple(OutputColumn(name, None, (), own[name]) if name in own else next(stored) for name in names)

    def with_numbers(self, names: Sequence[str]) -> list[str]:
        """Returns the names, and the missing ones of the ranking's columns."""
        leading = [field.name for field in self.ranker.leading if field.name not in names]
        return [*leading, *names, *(field.name for field in self.ranker.fields if field.name not in names)]

    def is_own(self, column: OutputColumn) -> bool:
        """Whether a column is not a column of the table."""
        return column.is_null or (column.field is None and column.name not in system_columns.NAMES)

    def __repr__(self) -> str:
        return f"SearchRows({self.snapshot.label!r}, {self.ranker.describe()!r})"

    def __reduce__(self) -> tuple[type[SearchRows], tuple[object, ...]]:
        # without the ranking, which is searched again
        return SearchRows, (self.snapshot, self.ranker, self.allowed, self.prefilter)


def search_rows(
    snapshot: Snapshot,
    ranker: Ranker,
    filter: Filter | None = None,
    *,
    updated_from: int | None = None,
    prefilter: bool = False,
) -> SearchRows:
    """Returns the rows that a query finds.

    filter: restricts the search to these rows
    updated_from: restricts the search to rows inserted or updated by this version, or a later one
    raises: as `Dataset.scan`; InvalidArgument for `updated_from` on a table without stable row ids, and for an
        unsupported query object
    """
    if not hasattr(ranker, "rank"):
        raise InvalidArgument(
            f"Not a query object such as VectorQuery: {ranker!r}. Use search(..) for vectors and text"
        )
    allowed = to_predicate(snapshot, filter)
    if updated_from is not None:
        stable = snapshot.manifest.has_stable_row_ids
        system_columns.require([system_columns.LAST_UPDATED_AT], stable_row_ids=stable, table=snapshot.name)
        allowed = joined(to_predicate(snapshot, f"{system_columns.LAST_UPDATED_AT} >= {updated_from}"), allowed)
    return SearchRows(snapshot, ranker, allowed, prefilter)
