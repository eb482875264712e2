"""Inputs that once did something else than to end in a result or in an error of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FINDS = Path(__file__).parent / "finds"
ROOT = Path(__file__).parents[2]


def test_past_finds_end_in_a_result_or_in_an_error_of_ours() -> None:
    # in a process of its own, since some of them ended it
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "--replay", str(FINDS)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert len(done.stdout.splitlines()) == len(list(FINDS.glob("*.json")))
