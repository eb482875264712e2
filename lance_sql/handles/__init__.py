"""Parts of a table with methods of their own, as properties of `Dataset`.

    tags, branches         names of versions; branches for staged loads
    indices, rules         secondary indices; data quality rules
    cursors, config        positions in the change feed; keys of the table's config, metadata of its columns
    maintenance            compaction, cleanup, statistics and layout

The modules are imported on first use, so that a process that only reads starts sooner.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_sql.handles import branches, config, cursors, indices, maintenance, rules, tags

__all__ = ["branches", "config", "cursors", "indices", "maintenance", "rules", "tags"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
