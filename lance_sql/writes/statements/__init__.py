"""Statements that change a table: each reads a version, writes files, and passes one transaction to the commit.

The modules are imported on first use, so that a process that only reads starts sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_sql.runtime import first_use

if TYPE_CHECKING:
    from lance_sql.writes.statements import (
        column_changes as column_changes,
        compact as compact,
        delete as delete,
        indices as indices,
        maintaining as maintaining,
        maintenance as maintenance,
        merge as merge,
        row_ids as row_ids,
        update as update,
    )
else:
    __getattr__ = first_use.of(__name__)
