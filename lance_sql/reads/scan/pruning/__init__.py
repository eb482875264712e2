"""Pruning by evidence that is known before values are read. Each source prunes rows, or names rows that need no
test; none adds any.

    filter --> row lineage --> scalar indices --> page statistics --> learned statistics
                                                       the remaining rows are read and tested <--`

A source is a module here and an entry of `SOURCES`. The filter itself tests the remaining rows, except for the
parts that row lineage answers exactly, and for rows whose learned zones pass completely (`Evidence.passing`): these
answers must be exact. Unknown never means "no match": rows that a source does not cover stay and are tested. A
damaged source is reported in `Evidence.notes` and prunes nothing.
"""

from lance_sql.reads.scan.pruning.learned import LearnedZones
from lance_sql.reads.scan.pruning.page_statistics import PageStatisticsSource
from lance_sql.reads.scan.pruning.row_lineage import RowLineage
from lance_sql.reads.scan.pruning.scalar_indices import ScalarIndices
from lance_sql.reads.scan.pruning.source import Evidence, PruningSource

SOURCES: tuple[PruningSource, ...] = (RowLineage(), ScalarIndices(), PageStatisticsSource(), LearnedZones())
"""Sources in the order of evaluation: cheap and effective ones come first."""

__all__ = ["SOURCES", "Evidence", "PruningSource"]
