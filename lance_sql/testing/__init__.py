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

from typing import TYPE_CHECKING

from lance_sql.runtime import first_use

if TYPE_CHECKING:
    from lance_sql.testing.changes import assert_changes as assert_changes
    from lance_sql.testing.difference import TableDifferenceError as TableDifferenceError
    from lance_sql.testing.equality import assert_table_equal as assert_table_equal
    from lance_sql.testing.invariants import assert_invariants as assert_invariants
    from lance_sql.testing.playback import replay as replay
    from lance_sql.testing.schemas import assert_schema as assert_schema
    from lance_sql.testing.searches import assert_search as assert_search
    from lance_sql.testing.snapshots import assert_matches_snapshot as assert_matches_snapshot
    from lance_sql.testing.sql import assert_sql as assert_sql
else:
    # pytest imports this package in every session, for its plugin: modules that need Arrow are imported on first use
    __getattr__ = first_use.of(__name__)
