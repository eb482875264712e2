"""Identity of files on a local file system, and checks that they are still as they were read.

Two files are the same if they have the same device, inode, size and times.
"""

from __future__ import annotations

import os
import time
from itertools import accumulate, islice
from typing import Final, TypeAlias

from lance_sql.errors import CorruptFile, at

Status: TypeAlias = tuple[int, int, int, int, int]
"""Device, inode, size, time of modification and of change; times in nanoseconds."""

_LONGEST_TICK_NS: Final = 2_000_000_000
FINE_TICK_NS: Final = 100_000_000
_MILLISECOND_NS: Final = 1_000_000

# Checking more files than this takes too long.
_MOST_ASKED: Final = 1024


def status_of(result: os.stat_result) -> Status:
    # an overwritten file has another time of change, even if its times are set back
    return result.st_dev, result.st_ino, result.st_size, result.st_mtime_ns, result.st_ctime_ns


def read_status(path: str) -> Status | None:
    """Returns the current status of a file, or None if it does not exist.

    path: absolute
    """
    try:
        return status_of(os.stat(path))
    except (OSError, ValueError):
        # ValueError for an invalid name, which is refused when it is opened
        return None


def identity_of(path: str, status: Status) -> str:
    """Returns a name of the file that no other file has, even one that takes its place."""
    device, inode, size, modified, changed = status
    return f"{path}\0{device},{inode},{size},{modified},{changed}"


def longest_tick(*times: int) -> int:
    """Returns an upper bound of the nanoseconds in which two changes of a file look like one.

    The clocks of some file systems tick every two seconds. Times with parts of a millisecond come from the clock of the
    system, whose ticks take some milliseconds.

    times: of changes, in nanoseconds
    """
    return FINE_TICK_NS if all(each % _MILLISECOND_NS for each in times) else _LONGEST_TICK_NS


def _is_settled(status: Status) -> bool:
    """Whether every change of a file from now on changes its status."""
    times = status[-2:]
    return time.time_ns() - max(times) >= longest_tick(*times)


def has_settled(path: str) -> bool:
    """Whether every change of a file from now on is noticed."""
    status = read_status(path)
    return status is not None and _is_settled(status)


class FileStatuses:
    """The files below a folder that were read, each with its status before the first read.

    prefix: the absolute path of the folder, with a separator at its end
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._before: dict[str, Status | None] = {}

    def note(self, path: str) -> None:
        """Records the current status of a file, if it was not read yet."""
        if path not in self._before and len(self._before) <= _MOST_ASKED:
            status = read_status(self._prefix + path)
            if status is not None and not _is_settled(status):
                status = None
            self._before.setdefault(path, status)

    def are_current(self) -> bool:
        """Whether every file is still the same.

        False if that is unknown: for very many files, and for files written just before they were read.
        """
        before = self._before.copy()
        if len(before) > _MOST_ASKED:
            return False
        for path, status in before.items():
            if status is None or read_status(self._prefix + path) != status:
                return False
        return True


class Containment:
    """Makes sure that files read and written lie below a folder, which may be a link itself.

    root: its absolute path
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._prefix = os.path.join(root, "")
        self._inside: set[str] = set()
        self._inside_by_name: set[str] = set()

    def forget(self) -> None:
        """Clears the cache of checked folders, because one of them may have become a link."""
        self._inside.clear()
        self._inside_by_name.clear()

    def check_file(self, path: str) -> None:
        """Checks the folder of a file once.

        path: from the root
        raises: CorruptFile if a link leads out of the root
        """
        name = path.rpartition("/")[0]
        # looking up a short name is faster than joining a path
        if name not in self._inside_by_name:
            self.check(os.path.dirname(self._prefix + path), path)
            self._inside_by_name.add(name)

    def check(self, folder: str, path: str) -> None:
        """Checks a folder once.

        folder: absolute
        path: of the file, for messages
        raises: CorruptFile if a link leads out of the root
        """
        if folder in self._inside:
            return
        if not self._is_without_links(folder):
            root = os.path.realpath(self._root)
            real = os.path.realpath(folder)
            if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
                with at(file=path):
                    raise CorruptFile("a link points outside the table's folder")
        self._inside.add(folder)

    def _is_without_links(self, folder: str) -> bool:
        """Whether no part of the path from the root to a folder is a link, so that it is below the root. Resolving both
        paths would check every part of them."""
        # Windows has junctions, which Python does not report as links
        if os.name != "posix" or not os.path.join(folder, "").startswith(self._prefix):
            return False
        parts = [part for part in folder[len(self._prefix) :].split(os.sep) if part]
        folders = accumulate(parts, os.path.join, initial=self._root)
        return os.pardir not in parts and not any(os.path.islink(each) for each in islice(folders, 1, None))
