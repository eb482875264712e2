"""What is known of rows before values are read, source by source. Each source rules out rows, or says which need no
test; none adds any.

    filter --> row lineage --> scalar indices --> page statistics --> learned statistics
                                                       the rows that are left are read and tested <--`

A source is a module here and a line in `SOURCES`. The rows that are left are tested by the filter itself, but for the
parts that row lineage answers exactly, and for rows of which all values of learned zones pass (`Evidence.passing`):
these answers must be exact. Unknown is never "no match": what a source does not know of stays and is tested, and a
source that is damaged says so in `Evidence.notes` and rules out nothing.
"""

from lance_sql.reads.scan.pruning.learned import LearnedZones
from lance_sql.reads.scan.pruning.page_statistics import PageStatisticsSource
from lance_sql.reads.scan.pruning.row_lineage import RowLineage
from lance_sql.reads.scan.pruning.scalar_indices import ScalarIndices
from lance_sql.reads.scan.pruning.source import Evidence, Source

SOURCES: tuple[Source, ...] = (RowLineage(), ScalarIndices(), PageStatisticsSource(), LearnedZones())
"""In the order in which they are asked: what is cheap and rules out much comes first."""

__all__ = ["SOURCES", "Evidence", "Source"]
