"""The versions of a table, and what the commit of each did: as values, and as a page."""

from lance_sql.changes.version_history.history import History, HistoryEntry, history

__all__ = ["History", "HistoryEntry", "history"]
