"""Page statistics of data files: prunes the rows of pages that cannot match before a page is read.

pages of a    |    0..1000    |   1000..2000   |
pages of b    |  0..700  |   700..1400   |     |
parts         |     0    | 1  |    2     |  3  |      each within one page of every column
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.schema import Field
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.predicates import Path, Predicate, may_match
from lance_sql.reads.scan.projection import restrict
from lance_sql.reads.scan.pruning.source import Evidence
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges


class PageStatisticsSource:
    """Bounds of pages in data files of version 0.1."""

    name: Final = "page statistics"

    def narrow(self, candidates: Candidates, predicate: Predicate) -> Evidence | None:
        fragment_indices = candidates.fragment_indices
        fragment_indices = fragment_indices[candidates.fragments.table.have_statistics[fragment_indices]]
        if len(fragment_indices) == 0:
            return None
        fields = candidates.snapshot.manifest.schema.by_name
        parts = {}
        for fragment_index in fragment_indices.tolist():
            rows = candidates.live_rows(fragment_index)
            left = _prune(candidates.open(fragment_index), rows, predicate, fields)
            if left is not rows:
                parts[fragment_index] = left
        return Evidence(self.name, candidates.narrowed(candidates.fragment_indices, parts))


def _prune(fragment: OpenFragment, rows: RowRanges, predicate: Predicate, fields: Mapping[str, Field]) -> RowRanges:
    """Returns the rows for which the predicate may be true.

    fields: the top-level fields of the table by name
    """
    if len(rows) == 0:
        return rows
    column_statistics: list[tuple[Path, np.ndarray[tuple[int], np.dtype[np.int64]], PageStatistics]] = []
    for path in sorted(predicate.columns):
        if path[0] not in fields:
            continue
        columns = list(fragment.columns_of(restrict(fields[path[0]], [path[1:]])))
        statistics = columns[0].statistics() if len(columns) == 1 else None
        if statistics is not None:
            column_statistics.append((path, columns[0].row_starts, statistics))
    if not column_statistics:
        return rows
    borders = np.unique(np.concatenate([starts for _, starts, _ in column_statistics]))
    parts = np.stack((borders[:-1], borders[1:]), axis=1)
    known = {
        path: statistics.take(np.searchsorted(starts, parts[:, 0], side="right") - 1)
        for path, starts, statistics in column_statistics
    }
    possible = parts[may_match(predicate, known, len(parts))]
    return row_ranges.intersect(rows, row_ranges.coalesce(possible, 0))
