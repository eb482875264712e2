"""`lance_sql.cache_usage`: the caches of the process."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.format.file import page_cache
from lance_sql.format.file.learned import LearnedKey, LearnedStatistics
from lance_sql.format.file.zone_statistics import key_kind, new_bounds

ROOT = Path(__file__).parents[2]


KEPT = ("manifests", "columns of files", "pages of versions")


def held() -> dict[str, dict[str, Any]]:
    return {row["cache"]: row for row in lance_sql.cache_usage().to_pylist()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Its files have more rows than those that the first scan reads at once, of which nothing is kept."""
    found = tmp_path / "t.lance"
    rows = pa.table({"x": np.arange(200_000), "s": [f"text {number % 1000}" for number in range(200_000)]})
    lance_sql.write(rows, found, max_rows_per_file=100_000)
    for file in found.rglob("*.*"):
        # what was written a moment ago is not kept
        os.utime(file, (0, 0))
    return found


def test_cached_bytes_are_counted_until_the_last_holder(path: Path) -> None:
    lance_sql.clear_caches()
    gc.collect()
    before = held()
    table = lance_sql.open(path)
    assert table.count_rows("x % 7 = 3 AND s > 'text 5'") > 0
    after = held()
    for name in (
        "manifests",
        "columns of files",
        "pages of versions",
        "open fragments",
        "parsed filters",
        "learned statistics",
    ):
        assert after[name]["entries"] > before.get(name, {"entries": 0})["entries"], name
    for name in (*KEPT, "learned statistics"):
        assert 0 < after[name]["bytes"] <= after[name]["most_bytes"], name
    assert after["mapped files"]["entries"] >= 2
    assert after["blocks of mapped files"]["bytes"] > 0
    assert after["memoized functions"]["entries"] > 0
    of_versions = after["pages of versions"]["caches"]
    del table
    # whoever opens it next finds what was read
    lance_sql.clear_caches()
    gc.collect()
    assert held().get("pages of versions", {"caches": 0})["caches"] < of_versions


def test_it_is_sorted_and_has_each_cache_once(path: Path) -> None:
    lance_sql.open(path).count_rows("x > 5")
    found = lance_sql.cache_usage()
    counted = [number or 0 for number in found["bytes"].to_pylist()]
    assert counted == sorted(counted, reverse=True)
    assert len(set(found["cache"].to_pylist())) == len(found)
    assert not found["caches"].null_count


def test_clear_caches_releases_everything_readable_again(path: Path) -> None:
    table = lance_sql.open(path)
    expected = table.scan(filter="x > 199990").to_table()
    lance_sql.clear_caches()
    now = held()
    for name in (
        "manifests",
        "columns of files",
        "pages of versions",
        "open fragments",
        "open data files",
        "prepared runs",
    ):
        assert not now[name]["entries"], name
        assert not now[name]["bytes"], name
    assert now["learned statistics"]["entries"] == 0
    assert now["blocks of mapped files"]["bytes"] == 0
    assert table.scan(filter="x > 199990").to_table().equals(expected)
    assert held()["pages of versions"]["entries"] > 0


def test_small_budgets_hold(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache.KNOWN, "_most_bytes", 1)
    lance_sql.clear_caches()
    table = lance_sql.open(path)
    rows = table.scan(["x", "s"], "x > 100000").to_table()
    assert len(rows) == 99_999
    assert held()["columns of files"]["entries"] <= 1
    learned = LearnedStatistics(budget=1)
    kind = key_kind(pa.int64())
    assert kind is not None
    for number in range(5):
        learned.keep(LearnedKey("a file", number, kind), new_bounds(kind, 10))
    assert len(learned) == 1


def test_indices_are_counted(path: Path) -> None:
    table = lance_sql.open(path).indices.create("x", "btree")
    assert table.count_rows("x = 7") == 1
    segments = held()["index segments"]
    assert segments["entries"] >= 1
    assert 0 < segments["bytes"] <= segments["most_bytes"]


_FORKED = """
import os, sys
import lance_sql

def held():
    return {row["cache"]: row["entries"] for row in lance_sql.cache_usage().to_pylist()}

columns = "columns of files"
table = lance_sql.open(sys.argv[1])
assert table.count_rows("x % 5 = 0") == 40_000
assert held()[columns] and held()["manifests"]
child = os.fork()
if child == 0:
    begins_anew = not held()[columns] and not held()["manifests"]
    lance_sql.clear_caches()
    right = begins_anew and lance_sql.open(sys.argv[1]).count_rows("x % 2 = 0") == 100_000 and held()[columns]
    os._exit(0 if right else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks on this system")
def test_a_forked_process_counts_what_it_has(path: Path) -> None:
    # other libraries, which tests import, warn of every fork
    subprocess.run([sys.executable, "-c", _FORKED, str(path)], check=True)


def test_memoized_functions_are_names_of_their_modules() -> None:
    """Where `memory` looks for them."""
    for folder in ("lance_sql", "providers"):
        for module in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(module.read_text())
            of_module = {id(node) for node in tree.body}
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef) and id(node) not in of_module:
                    used = " ".join(ast.unparse(decorator) for decorator in node.decorator_list).split()
                    assert not any(word.partition("(")[0] in ("cache", "lru_cache") for word in used), module


def test_caches_are_those_that_are_counted() -> None:
    """No other module keeps a bounded cache by hand."""
    by_hand = {
        str(path.relative_to(ROOT))
        for folder in ("lance_sql", "providers")
        for path in (ROOT / folder).rglob("*.py")
        if "popitem(last=False)" in path.read_text() or "cachetools" in path.read_text()
    }
    assert by_hand == {"lance_sql/runtime/caches.py"}
