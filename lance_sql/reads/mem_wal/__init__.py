"""Rows of the newest version and of the write-ahead log, as one table: what was acknowledged, in a version or not."""

from lance_sql.fresh_rows.rows import FreshRows, open_fresh_rows
from lance_sql.fresh_rows.scan import FreshScan

__all__ = ["FreshRows", "FreshScan", "open_fresh_rows"]
