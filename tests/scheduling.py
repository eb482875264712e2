"""Distributes tests over the processes of pytest-xdist (`-n 2 --dist loadfile`).

The tests of a file stay together, for its fixtures, and all files of Spark are one piece, since a second session costs
more than it saves. The pieces that took longest when `--record-durations` was last given come first, so that no process
is left alone with a long one at the end.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

import pytest

from tests import durations


def piece(nodeid: str) -> str:
    """The unit that one process runs: a file, or "spark"."""
    file = nodeid.split("::", 1)[0]
    return "spark" if PurePosixPath(file).name.startswith("test_spark") else file


def sort(items: list[pytest.Item]) -> None:
    """Orders the pieces by their recorded seconds, longest first. A file without a record counts as a long one."""
    seconds: dict[str, float] = defaultdict(float)
    for file, recorded in durations.of_files().items():
        seconds[piece(file)] += recorded
    items.sort(key=lambda item: -seconds.get(piece(item.nodeid), durations.LONG))


def scheduler(config: pytest.Config, log: Any) -> object:
    """The scheduler of `--dist loadfile`; None for the other ways of pytest-xdist."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class LoadPieces(LoadFileScheduling):  # type: ignore[misc, unused-ignore]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return piece(nodeid)

    # by default xdist orders the pieces by the number of their tests
    config.option.loadscopereorder = False
    return LoadPieces(config, log)
