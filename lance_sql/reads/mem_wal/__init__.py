"""Rows of the newest version and of the write-ahead log as one table: all acknowledged rows."""

from lance_sql.reads.mem_wal.fresh_scan import FreshScan
from lance_sql.reads.mem_wal.newest_rows import FreshRows, open_fresh_rows

__all__ = ["FreshRows", "FreshScan", "open_fresh_rows"]
