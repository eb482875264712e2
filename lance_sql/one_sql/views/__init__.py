"""Materialized views: tables with the rows of a query, refreshed from changes of its tables.

definition   the query, and the versions that the rows were computed from, in the table's config
shape        whether changed rows determine the changed rows of the view
images       the rows to recompute, before and after
view_rows    the changes of the view's rows
view         creating, refreshing and verifying views
"""

from lance_sql.one_sql.views.view import Refresh, View, materialize

__all__ = ["Refresh", "View", "materialize"]
