"""Spark on workers in processes of their own: code travels, an executor is killed, tasks run twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import lance
import pytest

import lance_sql
from tests.documents import ROOT

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')


@pytest.mark.slow
def test_two_workers_one_of_which_is_killed(tmp_path: Path) -> None:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: apt-get install openjdk-17-jre-headless")
    job = ROOT / "tests" / "providers" / "cluster_job.py"
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, str(job), str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["killed"] == ["killed-merge", "killed-write"]
    assert told["changes"] == {"insert": 4_000, "update_preimage": 10_000, "update_postimage": 10_000}
    assert (told["versions"], told["ended"]) == ([1, 2, 4], True)

    path = tmp_path / "t.lance"
    table = lance_sql.open(path)
    found = {row["id"]: (row["v"], row["s"]) for row in table.to_table().to_pylist()}
    expected = {n: (n % 7, f"x{n}") for n in range(10_000)} | dict.fromkeys(range(10000, 24000), (-1, "merged"))
    assert (len(found), table.count_rows(), found) == (24_000, 24_000, expected)
    assert table.count_rows("_row_created_at_version = 1 AND _row_last_updated_at_version = 2") == 10_000
    assert table.count_rows("_row_created_at_version = 2") == 4_000
    assert lance_sql.audit(path).is_healthy
    assert lance_sql.verify(path, deep=True).is_healthy
    assert lance.dataset(str(path)).count_rows() == 24_000
    copied = lance_sql.open(tmp_path / "copy.lance")
    assert copied.to_table().sort_by("id") == table.to_table().sort_by("id")
    used = {
        file.path
        for version in table.versions()
        for fragment in lance_sql.open(path, version=version.version).snapshot.manifest.fragments
        for file in fragment.files
    }
    # what killed tasks wrote is in no version; most of it was removed, the rest is left to a cleanup
    assert used <= {file.name for file in (path / "data").iterdir()}
