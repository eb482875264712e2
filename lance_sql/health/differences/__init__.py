"""Differences between two versions of a table, or between two tables.

difference         the result: columns, rows, cells, files
compared_columns   the columns that two schemas share, and the changes of the others
column_rule        equality of the values of a column
pairing            pairs rows of two streams by key, within bounded memory
matching           pairs equal rows, or rows that are close, without a key
column_rules       equality of values for tests: tolerances, case, spaces
first_rows         the first of the rows that differ
differing_rows     rows that differ: from the change feed, or by pairing all of them
difference_report, difference_page  the result as text for a terminal and as JSON, and as HTML
compare            the function for users: `diff`
"""

from lance_sql.health.differences.compare import diff, open_named, open_table
from lance_sql.health.differences.difference import Difference

__all__ = ["Difference", "diff", "open_named", "open_table"]
