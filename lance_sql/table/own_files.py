"""Files of one branch below a folder, without those of branches nested in it.

tree/etl/data/5c1f.lance               a data file of the branch etl
tree/etl/data/_versions/7.manifest     the branch etl/data
tree/etl/data/data/a7d0.lance
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lance_sql.store import Store
from lance_sql.store.contract import ObjectInfo
from lance_sql.table.paths import APPLIED, CHECKSUMS, DATA, DELETIONS, INDICES, TRANSACTIONS, VERSIONS

_PARTS: Final = frozenset({APPLIED, CHECKSUMS, DATA, DELETIONS, INDICES, TRANSACTIONS, VERSIONS})
"""Folders of every branch."""


def own_files(store: Store, folder: str) -> Iterator[ObjectInfo]:
    """Yields the files below a folder of the branch of this store. Other branches begin at folders with manifests."""
    yield from list(store.files(folder))
    names = list(store.folders(folder))
    inside = VERSIONS in names
    for name in names:
        if not (inside and name in _PARTS):
            yield from own_files(store, f"{folder}/{name}")
