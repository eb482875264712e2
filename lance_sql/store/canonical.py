"""Canonical locations of stores: two stores of one location compare as equal, however each was spelled."""

from __future__ import annotations

import os

from lance_sql.store.contract import Store
from lance_sql.store.local import LocalStore


def canonical_location(store: Store) -> str:
    """Returns one text for all stores of a location: the real path of a folder, or else the URI."""
    if isinstance(store, LocalStore):
        return os.path.realpath(store.root)
    # a store around another one has its location
    location: str | None = getattr(store, "location", None)
    return store.uri.rstrip("/") if location is None else location
