"""The pytest plugin, in separate sessions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.forked import Forks

TEST = """
import lance_sql
from lance_sql.testing import assert_table_equal


def test_job(lance_tables):
    made = lance_tables.write("orders", {"id": [2, 1], "name": ["b", "a"]})
    assert made.uri == lance_tables.path("orders")
    assert_table_equal(lance_tables.open("orders"), {"id": [1, 2], "name": ["a", NAME]}, key="id")
    lance_tables.assert_matches(made, "orders")
"""


def run(forks: Forks, folder: Path, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_job.py").write_text(TEST.replace("NAME", repr(name)))
    return forks.run(["-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_job.py"], cwd=folder)


def test_snapshots_are_written_and_compared(forks: Forks, tmp_path: Path) -> None:
    first = run(forks, tmp_path, "b")
    assert first.returncode == 1
    assert "No snapshot" in first.stdout
    assert "lance_sql/testing/plugin.py" not in first.stdout
    assert run(forks, tmp_path, "b", "--lance-update").returncode == 0
    snapshot = tmp_path / "snapshots" / "test_job" / "orders.jsonl"
    assert snapshot.read_text().splitlines() == [
        '{"id": "int64", "name": "large_string"}',
        '{"id": 1, "name": "a"}',
        '{"id": 2, "name": "b"}',
    ]
    assert run(forks, tmp_path, "b").returncode == 0
    snapshot.write_text(snapshot.read_text().replace('"b"', '"c"'))
    changed = run(forks, tmp_path, "b")
    assert changed.returncode == 1
    assert '-{"id": 2, "name": "c"}' in changed.stdout
    assert '+{"id": 2, "name": "b"}' in changed.stdout


def test_failures_have_colours_on_a_terminal_only(forks: Forks, tmp_path: Path) -> None:
    plain, coloured = run(forks, tmp_path, "c"), run(forks, tmp_path, "c", "--color=yes")
    assert plain.returncode == coloured.returncode == 1
    assert "name  'b'  expected 'c'" in plain.stdout
    assert "\x1b[32m'b'" in coloured.stdout


def test_sessions_without_lance_tables_import_no_arrow(tmp_path: Path) -> None:
    (tmp_path / "test_job.py").write_text("import sys\n\n\ndef test_it():\n    assert 'pyarrow' not in sys.modules\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_job.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
