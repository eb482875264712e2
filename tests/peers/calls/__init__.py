"""Calls of pylance beside calls of this library, and the tables that they are made on."""

from __future__ import annotations

from . import changes, columns, filters, fragments, indices, scans, searches, versions, writes
from .call import Call as Call
from .tables import make_table as make_table

CALLS: tuple[Call, ...] = tuple(
    call
    for module in (scans, filters, writes, changes, columns, versions, fragments, indices, searches)
    for call in module.CALLS
)
