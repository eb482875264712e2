"""Recorded durations of tests, in seconds: of each file, with the number of its tests, and of each test that takes
longer than SLOW.

`pytest --record-durations` writes them to durations.json, for the files that ran. They order the files of a parallel
run and select the tests of a quick one; nothing fails because of them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).with_suffix(".json")
SLOW = 0.3
LONG = 60.0  # what a file without a record is taken for
USUAL = 0.05  # and a test of it


@cache
def _recorded() -> dict[str, dict[str, Any]]:
    records: dict[str, dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return records


def of_files() -> dict[str, float]:
    """The seconds of each recorded file, by its path from the root of the checkout."""
    return {file: record["seconds"] for file, record in _recorded().items()}


def is_slow(nodeid: str) -> bool:
    """Whether a test took longer than SLOW when it was recorded."""
    file, _, test = nodeid.partition("::")
    return test in _recorded().get(file, {}).get("slow", {})


def of_test(nodeid: str) -> float:
    """The seconds of a test: its own if it was slow, else the mean of the others of its file."""
    file, _, test = nodeid.partition("::")
    record = _recorded().get(file, {"seconds": USUAL, "tests": 1, "slow": {}})
    if test in record["slow"]:
        return float(record["slow"][test])
    others = record["tests"] - len(record["slow"])
    return float(max(0.0, record["seconds"] - sum(record["slow"].values())) / max(1, others))


class Recorder:
    """A plugin that adds up the phases of each test and stores them at the end of the run."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        files: dict[str, dict[str, Any]] = defaultdict(lambda: {"seconds": 0.0, "tests": 0, "slow": {}})
        for nodeid, seconds in self._seconds.items():
            file, _, test = nodeid.partition("::")
            files[file]["seconds"] += seconds
            files[file]["tests"] += 1
            # a name with a path of this checkout is another one elsewhere
            if seconds > SLOW and str(FILE.parents[1]) not in test:
                files[file]["slow"][test] = round(seconds, 1)
        for record in files.values():
            record["seconds"] = round(record["seconds"], 1)
        known = {file: record for file, record in _recorded().items() if (FILE.parents[1] / file).exists()}
        FILE.write_text(json.dumps({**known, **files}, indent=1, sort_keys=True) + "\n")
