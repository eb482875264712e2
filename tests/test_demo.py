"""The demo, run as `make demo` runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import lance

import lance_sql
from tests.documents import ROOT


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "examples/demo.py", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_demo_writes_a_table_and_shows_its_history() -> None:
    shown = run()
    table = lance_sql.open(ROOT / "examples" / "demo.lance")
    assert table.version == 10
    assert [info.operation for info in table.versions()] == [
        "overwrite",
        "append",
        "delete",
        "update",
        "reserve_fragments",
        "rewrite",
        "update",
        "merge",
        "delete",
        "restore",
    ]
    assert "1 of 2 fragments, 5 of 10 pages, 320 of 332 rows" in shown
    assert "3   Borgo SpA  cancelled  237.57  3" in shown
    for line in ("version 10  the version before is restored", "inserted  7           12", "updated   4           78"):
        assert line in shown
    assert lance.dataset(str(ROOT / "examples" / "demo.lance")).count_rows() == table.count_rows() == 332


def test_the_demo_takes_another_table() -> None:
    shown = run("examples/orders.lance", "5")
    assert "examples/orders.lance is at version 9 and has 370 rows." in shown
    assert "inserted  6           12" in shown


def test_the_search_example_prints_its_results(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "examples/search.py", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for line in (
        "4  The dog sleeps in the rain  0.09",
        "new  insert  Trout swim up the river",
        "gone  delete  Slow rain makes a quick river",
    ):
        assert line in done.stdout
    assert "<mark>Trout</mark>" in (tmp_path / "found.html").read_text(encoding="utf-8")
    assert lance.dataset(str(tmp_path / "notes.lance")).count_rows() == 5
