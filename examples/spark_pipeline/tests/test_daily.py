"""The job itself, in Spark where it is installed with Java, or in Sail; skipped where there is neither."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lance_sql.providers.spark.sessions import why_not
from lance_sql.testing import assert_changes, assert_table_equal

PIPELINE = Path(__file__).parents[1]


@pytest.mark.skipif(why_not("auto") is not None, reason=str(why_not("auto")))
def test_a_day_applied_twice_changes_nothing(tmp_path: Path) -> None:
    days = ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-03"]
    command = [sys.executable, PIPELINE / "daily.py", PIPELINE / "landing", tmp_path, *days]
    subprocess.run(command, check=True)
    for name in ("orders", "customers", "revenue"):
        key = {"orders": "id", "customers": "name", "revenue": ["day", "customer"]}[name]
        written, expected = tmp_path / f"{name}.lance", PIPELINE / "lake" / f"{name}.lance"
        assert_table_equal(written, expected, key=key)
        assert_changes(written, since=3, inserted=0, updated=0, deleted=0)
