"""Materialized views: tables that have the rows of a query, and follow the tables that it is over.

definition   the query, and the versions that the rows are from, in the table's config
shape        whether rows that changed tell which rows of the view do
images       the rows that count anew, as they were and as they are
view_rows    what becomes of the view's rows
view         made, refreshed, verified
"""

from lance_sql.one_sql.views.view import Refresh, View, materialize

__all__ = ["Refresh", "View", "materialize"]
