"""Parts of a table with methods of their own, as properties of `Dataset`.

    tags, branches         names of versions; branches for staged loads
    indices, rules         secondary indices; data quality rules
    cursors, config        positions in the change feed; keys of the table's config, metadata of its columns
    maintenance            compaction, cleanup, statistics and layout

The modules are imported on first use, so that a process that only reads starts sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_sql.runtime import first_use

if TYPE_CHECKING:
    __all__: list[str]
    from lance_sql.handles import (
        branches as branches,
        config as config,
        cursors as cursors,
        indices as indices,
        maintenance as maintenance,
        rules as rules,
        tags as tags,
    )
else:
    __getattr__ = first_use.of(__name__)
