"""Functions that a lower layer calls and a higher layer implements; `lance_sql/__init__.py` connects them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final


class Port:
    """A function that is imported at its first call."""

    def __init__(self) -> None:
        self._load: Callable[[], Callable[..., Any]] | None = None

    def connect(self, load: Callable[[], Callable[..., Any]]) -> None:
        """Sets the implementation.

        load: imports and returns it
        """
        self._load = load

    def load(self) -> Callable[..., Any]:
        """Returns the implementation.

        raises: ImportError if a package that it imports is not installed
        """
        # never skipped silently: a commit with unchecked rules must not succeed
        assert self._load is not None, "the port is not connected"
        return self._load()


ENFORCE_RULES: Final = Port()
"""`changes.contracts.enforcement.enforce`, which reads rows and changes; called by each commit."""
FORGET_CACHED: Final = Port()
"""`store.cached.forget_cached`, which removes the cached bytes of a file that proved damaged; called by its error."""
OLD_FILES: Final = Port()
"""`format.old_files.opening.Opening`; called by readers and writers of files 0.1 and 2.0."""
READ_CHECKSUMS: Final = Port()
"""`table.checksums.read_new`; called by stores that compare what they read."""
SQL_EXPRESSIONS: Final = Port()
"""`providers.duckdb.expressions.SqlExpressions`; called for an update with SQL text."""
WRITE: Final = Port()
"""`jobs.writing.write`, which makes handles; called by the one that appends."""
