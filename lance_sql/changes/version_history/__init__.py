"""Versions of a table with the operations of their commits, as values and as a page."""

from lance_sql.changes.version_history.history import History, HistoryEntry, history

__all__ = ["History", "HistoryEntry", "history"]
