"""Statements that change a table: each reads a version, writes files, and passes one transaction to the commit.

The modules are imported on first use, so that a process that only reads starts sooner.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_sql.writes.statements import (
        column_changes,
        compact,
        delete,
        indices,
        maintaining,
        maintenance,
        merge,
        row_ids,
        update,
    )

__all__ = ["column_changes", "compact", "delete", "indices", "maintaining", "maintenance", "merge", "row_ids", "update"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
