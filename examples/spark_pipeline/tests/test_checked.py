"""The job that publishes what was checked, in Spark or Sail; and its incremental parts, which need neither."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lance_sql
from lance_sql.providers.spark.sessions import why_not
from lance_sql.testing import assert_invariants, assert_table_equal, replay

PIPELINE = Path(__file__).parents[1]
DAYS = ("2026-03-01", "2026-03-02", "2026-03-03")


def run(landing: Path, lake: Path, *days: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, PIPELINE / "checked.py", landing, lake, *days]
    return subprocess.run(command, text=True, capture_output=True)


@pytest.mark.skipif(why_not("auto") is not None, reason=str(why_not("auto")))
def test_days_are_published_and_a_bad_one_is_held_back(tmp_path: Path) -> None:
    lake, bad = tmp_path / "lake", tmp_path / "bad"
    done = run(PIPELINE / "landing", lake, *DAYS, DAYS[-1])
    assert done.returncode == 0, done.stderr
    orders = lance_sql.open(lake / "orders.lance")
    assert_table_equal(orders, PIPELINE / "lake" / "orders.lance", key="id")
    assert_table_equal(lake / "mirror.lance", orders, key="id")
    lance_sql.View.open(lake / "open.lance").refresh(verify=True)
    assert_invariants(orders, unique=["id"])

    bad.mkdir()
    row = '{"id": 99, "customer": "Ada Ltd", "amount": -1.00, "status": "open", "placed": "2026-03-04T08:15:00Z"}'
    (bad / "orders-2026-03-04.jsonl").write_text(row)
    failed = run(bad, lake, "2026-03-04")
    assert failed.returncode != 0
    assert "amounts, amount > 0: 1 row breaks it" in failed.stderr
    assert orders.latest().version == orders.version
    assert lance_sql.open(lake / "orders.lance", branch="load-2026-03-04").count_rows("id = 99") == 1


def test_followers_make_run_by_run_what_one_run_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PIPELINE)
    from followers import mirror, unpaid

    replay(PIPELINE / "lake" / "orders.lance", mirror, key="id")
    replay(PIPELINE / "lake" / "orders.lance", unpaid, key="customer")
