"""Where a store is, however it was spelled: two stores of one location compare as equal."""

from __future__ import annotations

import os

from lance_sql.store.contract import Store
from lance_sql.store.local import LocalStore


def canonical_location(store: Store) -> str:
    """One text for all stores of a location: a folder by its real path, all else by its URI."""
    return os.path.realpath(store.root) if isinstance(store, LocalStore) else store.uri.rstrip("/")
