"""A table as a source of DuckDB 2.0, with a row count and pushed conditions in SQL semantics.

See `protocol`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from duckdb._sources import ArrowScanSource, nodes

from lance_sql.errors import LanceError
from lance_sql.reads.arrow_dataset import AnyScan
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.predicates import Predicate, joined
from lance_sql.reads.scan.scan import Scan
from lance_sql.runtime.cached_property import cached_property

from .filters import UntranslatableError, is_worthwhile, to_predicate
from .tables import DuckDBTable


class DuckDBSource(DuckDBTable, ArrowScanSource):
    """A table that DuckDB scans through its source protocol instead of an Arrow expression."""

    is_arrow_dataset = False
    schema_is_stable = True
    _offered: tuple[nodes.Node, Predicate] | None = None
    _judged: Scan | None = None
    """The scan by which the last condition was accepted, or not."""

    @property
    def obj(self) -> DuckDBSource:
        """The scanned object: the source itself."""
        return self

    def rows(self) -> int | None:
        """Returns the number of live rows, after planning for a table with a filter, or None if the manifest lacks the
        count and the file with it is damaged."""
        try:
            return self.num_candidates()
        except LanceError:
            # the scan raises the precise error
            return None

    def accepts(self, predicate: nodes.Node) -> bool:
        """Whether scans should apply the condition."""
        try:
            condition = self._predicate(predicate)
            self._judged = self.dataset.scan([], condition)
            return is_worthwhile(self._judged, condition)
        except (UntranslatableError, LanceError):
            # the scan raises the precise error for damage
            return False

    def stream(self, columns: Sequence[int] | None, filters: Sequence[nodes.Node]) -> tuple[object, bool]:
        """Returns the rows that pass all conditions, as a capsule with an Arrow stream.

        columns: indices in the schema; None for all
        """
        names = self.schema.names
        chosen = names if columns is None else [names[index] for index in columns]
        predicate = joined(*map(self._predicate, filters))
        scan = self.scan(chosen, predicate)
        if isinstance(scan, Scan) and self._judged is not None:
            scan = scan.planned_as(self._judged)
        return self._stream(scan), columns is not None

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream(self.scan())

    def _stream(self, scan: AnyScan) -> object:
        if not self.is_widened:
            return scan.__arrow_c_stream__()
        return self.cast(pa.RecordBatchReader.from_stream(scan)).__arrow_c_stream__()

    def _predicate(self, node: nodes.Node) -> Predicate:
        # DuckDB offers a condition, and then passes the same one with the scan
        if self._offered is None or self._offered[0] is not node:
            self._offered = node, to_predicate(node, self._stored, self.schema)
        return self._offered[1]

    @cached_property
    def _stored(self) -> pa.Schema:
        hidden = [system_columns.field(name) for name in self.dataset.system_columns]
        return pa.schema([*self.dataset.schema, *(field for field in hidden if field.name in self.schema.names)])
