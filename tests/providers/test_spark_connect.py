"""Remote sessions (Spark Connect), where its packages are installed: `pip install 'pyspark[connect]'`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc_status")

JOB = Path(__file__).with_name("connect_job.py")
CHECKOUT = Path(__file__).parents[2]


def run(folder: Path, python: str | None) -> dict[str, Any]:
    """What the job has found.

    python: that the server runs sources with; what is on the path without it
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    path = os.pathsep.join(filter(None, (str(CHECKOUT), kept.get("PYTHONPATH"))))
    environment = {**kept, "PYTHONPATH": path, **({} if python is None else {"PYSPARK_PYTHON": python})}
    command = [sys.executable, str(JOB), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_a_remote_session_reads_writes_and_changes_tables(tmp_path: Path) -> None:
    assert run(tmp_path, sys.executable) == {
        "read": 5,
        "merged": [3, 105, 10],
        "updated": 3,
        "deleted": 104,
        "changes": {"delete": 1, "insert": 3, "update_postimage": 10, "update_preimage": 10},
        "streamed": 104,
        "error": "TableNotFound",
    }


@pytest.mark.slow
def test_a_server_without_this_package_is_noticed(tmp_path: Path) -> None:
    bare = tmp_path / "bin"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    found = run(tmp_path, str(bare / "bin" / "python"))
    assert found["refused"] == "MissingDependency"
    assert "PYSPARK_PYTHON=" in found["message"]
