"""The loops that are built for several processors give the same on each, as far as this one has them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.documents import ROOT

LOOPS = ("tests/kernels", "tests/reads/scan/test_matching.py", "tests/format/file/test_open_column.py")


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["baseline", "v3"])
def test_the_kernels_of_older_processors_pass_the_same_tests(processor: str) -> None:
    environment = {**os.environ, "LANCE_SQL_PROCESSOR": processor}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *LOOPS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
