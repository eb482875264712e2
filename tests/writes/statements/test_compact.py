"""Fragments that a compaction joins."""

from __future__ import annotations

from pathlib import Path

import lance_sql


def test_a_group_that_has_enough_rows_takes_no_more(tmp_path: Path) -> None:
    table = lance_sql.write({"id": list(range(40))}, tmp_path / "t.lance", max_rows_per_file=10)
    compacted = table.maintenance.compact(target_rows=20)
    assert [each.physical_rows for each in compacted.snapshot.manifest.fragments] == [20, 20]
