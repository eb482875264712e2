"""Assertions about tables, for tests of jobs. Reading the tables needs neither Spark nor Java.

    def test_nightly_job(lance_tables):
        before = lance_sql.open("out/orders.lance").version
        run_job()
        assert_changes("out/orders.lance", since=before, inserted=120, updated=3, deleted=0)
        assert_sql("out/orders.lance", "SELECT count(*) FROM orders WHERE amount < 0", [(0,)])
        assert_table_equal("out/orders.lance", expected, key="id")

A failure shows the first differences by key, with the commit that wrote the row. pytest loads the fixture
`lance_tables` and the option `--lance-update` automatically.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lance_sql.testing.changes import assert_changes
    from lance_sql.testing.difference import TableDifferenceError
    from lance_sql.testing.equality import assert_table_equal
    from lance_sql.testing.invariants import assert_invariants
    from lance_sql.testing.playback import replay
    from lance_sql.testing.schemas import assert_schema
    from lance_sql.testing.searches import assert_search
    from lance_sql.testing.snapshots import assert_matches_snapshot
    from lance_sql.testing.sql import assert_sql

__all__ = [
    "TableDifferenceError",
    "assert_changes",
    "assert_invariants",
    "assert_matches_snapshot",
    "assert_schema",
    "assert_search",
    "assert_sql",
    "assert_table_equal",
    "replay",
]

# pytest imports this package in every session, for its plugin: modules that need Arrow are imported lazily
_MODULES = {
    "TableDifferenceError": "lance_sql.testing.difference",
    "assert_changes": "lance_sql.testing.changes",
    "assert_invariants": "lance_sql.testing.invariants",
    "assert_matches_snapshot": "lance_sql.testing.snapshots",
    "assert_schema": "lance_sql.testing.schemas",
    "assert_search": "lance_sql.testing.searches",
    "assert_sql": "lance_sql.testing.sql",
    "assert_table_equal": "lance_sql.testing.equality",
    "replay": "lance_sql.testing.playback",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value
