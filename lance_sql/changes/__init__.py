"""The change feed: which rows the commits of a range of versions inserted, updated and deleted.

history, bounds            the versions of a table, the records of their commits, and the bounds of a range
fragment_difference        the fragments in which two versions differ, and the rows that only one of them has
image_matching, keyed      which of these rows are the same, by row id or by key
earlier_columns, column_history  the columns of the last version in the files of earlier ones
values                     whether two images of a row differ
commit, net                the rows that one commit changed, and those that all of a range changed together
plan, images, narrowing    the images to be read, and what a filter leaves of them
reading, change_scan, feed  reading them; the relation that users get
row_history                every image that rows had
snapshot_feed              all rows of a version, as a feed
follow, debezium           new commits as they arrive; changes in the envelope of Debezium
cursors, deliveries        named positions in the feed; their changes and positions in a database
version_history            the versions of a table, and their operations
contracts, publishing      data quality rules; a branch published as one commit

The modules are imported on first use, so that a process that reads one version starts sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_sql.runtime import first_use

if TYPE_CHECKING:
    from lance_sql.changes import (
        answers as answers,
        bounds as bounds,
        contracts as contracts,
        cursors as cursors,
        feed as feed,
        publishing as publishing,
        row_history as row_history,
        version_history as version_history,
    )
else:
    __getattr__ = first_use.of(__name__)
