"""Whether two stores are the same place, however it was spelled."""

from __future__ import annotations

import os

from lance_sql.store.contract import Store
from lance_sql.store.local import LocalStore


def place(store: Store) -> str:
    """The same text for stores of the same place: a folder by its real path, all else by its URI."""
    return os.path.realpath(store.root) if isinstance(store, LocalStore) else store.uri.rstrip("/")
