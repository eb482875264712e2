"""Which process runs which tests, where pytest-xdist has several (`-n 2 --dist loadfile`).

The tests of a file stay together, for its fixtures. All files of Spark are one piece, which comes first: a second
session would cost more than it saves, and the longest piece is not to begin when the others end.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest


def piece(nodeid: str) -> str:
    """What a test belongs to: a file, or "spark"."""
    file = nodeid.split("::", 1)[0]
    return "spark" if PurePosixPath(file).name.startswith("test_spark") else file


def sort(items: list[pytest.Item]) -> None:
    """Puts what takes longest first; the rest stays in its order."""
    items.sort(key=lambda item: piece(item.nodeid) != "spark")


def scheduler(config: pytest.Config, log: Any) -> object:
    """The scheduler of `--dist loadfile`; None for the other ways, which xdist knows by itself."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class LoadPieces(LoadFileScheduling):  # type: ignore[misc, unused-ignore]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return piece(nodeid)

    # pieces by the number of their tests is what xdist does otherwise
    config.option.loadscopereorder = False
    return LoadPieces(config, log)
