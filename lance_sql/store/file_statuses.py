"""What tells a file of a local file system from another that took its place, and whether one is still as it was read.

Two files are the same if they have the same device, inode, size and times.
"""

from __future__ import annotations

import os
import time
from typing import Final, TypeAlias

Status: TypeAlias = tuple[int, int, int, int, int]
"""Device, inode, size, time of modification and of change; times in nanoseconds."""

# Two changes within one step of a file system's clock look like one, and some clocks go in steps of two seconds.
_CLOCK_STEP_NS: Final = 2_000_000_000

# Of so many files it takes too long to ask for each of them.
_MOST_ASKED: Final = 1024


def status_of(result: os.stat_result) -> Status:
    # a file that was written over has another time of change, even where its times are set back
    return result.st_dev, result.st_ino, result.st_size, result.st_mtime_ns, result.st_ctime_ns


def read_status(path: str) -> Status | None:
    """As the file is now; None where there is none.

    path: absolute
    """
    try:
        return status_of(os.stat(path))
    except (OSError, ValueError):
        # ValueError of a name that no file can have, which is refused where it is opened
        return None


def identity_of(path: str, status: Status) -> str:
    """A name of the file that no other file has, even one that takes its place."""
    device, inode, size, modified, changed = status
    return f"{path}\0{device},{inode},{size},{modified},{changed}"


class FileStatuses:
    """The files below a folder of which something was read, as each was before the first time.

    prefix: the absolute path of the folder, with a separator at its end
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._before: dict[str, Status | None] = {}

    def note(self, path: str) -> None:
        """Remembers a file as it is now, if nothing was read of it yet."""
        if path not in self._before and len(self._before) <= _MOST_ASKED:
            status = read_status(self._prefix + path)
            if status is not None and time.time_ns() - max(status[-2:]) < _CLOCK_STEP_NS:
                status = None
            self._before.setdefault(path, status)

    def are_current(self) -> bool:
        """Whether every file is still the same.

        False where it cannot be told: of very many files, and of those that had just been written.
        """
        before = self._before.copy()
        if len(before) > _MOST_ASKED:
            return False
        return all(status is not None and read_status(self._prefix + path) == status for path, status in before.items())
