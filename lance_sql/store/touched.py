"""Count of the accessed blocks of mapped files, and choice of those whose memory is given back.

Accessed pages of a mapping count as memory of the process until they are given back. They stay in the system's cache:
accessing one again is cheap, but not free. A store therefore keeps a bounded number of blocks of files that are read
once. Each block that is requested again after it was given back raises the bound by one, as long as all stores of the
process together keep at most a share of the memory.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from functools import cache
from typing import Final

from lance_sql import _kernels

MAX_TOUCHED_BLOCKS: Final = 128
"""Blocks kept of files that are read once."""

BLOCK_BYTES: Final = 1024 * 1024

MAX_MORE_BLOCKS: Final = 96
"""Additional blocks kept of files that are read repeatedly."""

_SHARE_OF_MEMORY: Final = 8
"""Files that are read repeatedly take at most 1/n of the memory, where n is this number."""

_MEMORY_OF_PROCESS: Final = "/proc/self/statm"
_LIMIT_OF_CONTAINER: Final = "/sys/fs/cgroup/memory.max"


class TouchedBlocks:
    """The blocks of a store's files that count as memory. Not thread-safe; the store has a lock."""

    def __init__(self) -> None:
        self._touched: dict[str, int] = {}
        self._num_touched = 0
        self._given_back: dict[str, int] = {}
        self._num_more = 0
        # in the kernels: an object that runs Python when it is freed could lose a signal
        self._more = _kernels.ProcessShare()
        self._most_touched = MAX_TOUCHED_BLOCKS
        self._resident_before: int | None = None
        self._has_given_back = False

    def touch(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[str]:
        """Counts blocks that may be accessed from now on.

        Returns the files whose memory is to be given back, the least recently used ones.
        """
        blocks = 0
        for start, end in ranges:
            first, last = start // BLOCK_BYTES, -(-end // BLOCK_BYTES)
            blocks |= ((1 << (last - first)) - 1) << first
        known = self._touched.get(path)
        if known is not None and not blocks & ~known and self._num_touched <= MAX_TOUCHED_BLOCKS:
            # they count already, and are the most recently used ones now
            self._touched[path] = self._touched.pop(path)
            return []
        if not self._touched:
            self._most_touched, self._resident_before = self.most_kept, resident_file_blocks()
        self._notice_return(path, blocks)
        if self._num_touched > self.most_kept and self.takes_too_much(resident_file_blocks()):
            # the bound was raised for blocks that had not been accessed then
            self._most_touched = self.most_kept
        touched = self._touched.pop(path, 0)
        num_new = (blocks & ~touched).bit_count()
        self._num_touched += num_new
        if self._num_touched > self._most_touched:
            self._most_touched = self._bound(num_new)
        released = []
        while self._num_touched > self._most_touched and self._touched:
            oldest = next(iter(self._touched))
            given = self._touched.pop(oldest)
            self._num_touched -= given.bit_count()
            self._given_back[oldest] = self._given_back.get(oldest, 0) | given
            released.append(oldest)
        if self._num_touched > self._most_touched:
            self._given_back[path] = self._given_back.get(path, 0) | touched
            # some of them are requested right now
            self._notice_return(path, blocks)
            self._num_touched, touched = blocks.bit_count(), 0
            released.append(path)
        self._touched[path] = touched | blocks
        self._has_given_back |= bool(released)
        return released

    @property
    def most_resident(self) -> int | None:
        """Upper bound of the resident blocks: the counted ones. None if some were given back, perhaps before they were
        accessed, and are no longer counted."""
        return None if self._has_given_back else self._num_touched

    def takes_too_much(self, resident: int | None) -> bool:
        """Whether the files take more memory than their bound, if this many blocks of files are resident."""
        before = self._resident_before
        return resident is not None and before is not None and resident - before > self.most_kept

    def release(self) -> list[str]:
        """Returns all files, whose memory is to be given back: nothing is being read from them."""
        released = list(self._touched)
        for path, blocks in self._touched.items():
            self._given_back[path] = self._given_back.get(path, 0) | blocks
        self._touched.clear()
        self._num_touched, self._resident_before, self._has_given_back = 0, None, False
        return released

    def forget(self, path: str) -> None:
        """Forgets a file that is no longer mapped."""
        num_blocks = self._touched.pop(path, 0).bit_count()
        self._num_touched -= num_blocks
        self._given_back.pop(path, None)
        # the bound may have been raised for them
        self._most_touched = max(self.most_kept, self._most_touched - num_blocks)

    @property
    def num_files(self) -> int:
        """Files with blocks that count as memory."""
        return len(self._touched)

    @property
    def num_blocks(self) -> int:
        """Blocks that count as memory."""
        return self._num_touched

    @property
    def most_kept(self) -> int:
        """Maximum number of blocks that count as memory."""
        return MAX_TOUCHED_BLOCKS + self._num_more

    def _notice_return(self, path: str, blocks: int) -> None:
        """Raises the bound if blocks that were given back are requested again."""
        given_back = self._given_back.get(path, 0)
        returned = (given_back & blocks).bit_count()
        if not returned:
            return
        self._given_back[path] = given_back & ~blocks
        granted = self._more.take(returned, share_of_memory())
        self._num_more += granted
        self._most_touched += granted

    def _bound(self, num_new: int) -> int:
        """Returns the number of blocks that may count as touched, before that many are added.

        Only some pages of the ranges of a few rows are accessed, so that the count is too high. If the system reports
        the resident memory of files, that counts instead.
        """
        resident = resident_file_blocks()
        if resident is None or self._resident_before is None:
            return self.most_kept
        room = self.most_kept - max(0, resident - self._resident_before)
        return self._num_touched - num_new + room if num_new <= room else self.most_kept


def resident_file_blocks() -> int | None:
    """Returns the resident blocks of files in the process, including programs and libraries, or None if the system
    does not report them. Source: proc_pid_statm(5)."""
    try:
        with open(_MEMORY_OF_PROCESS, "rb") as file:
            pages = int(file.read().split()[2])
    except (OSError, IndexError, ValueError):
        return None
    return pages * mmap.PAGESIZE // BLOCK_BYTES


@cache
def share_of_memory() -> int:
    """Returns the blocks of a share of the memory of the machine or its container, or 0 if the system does not report
    it. Source: the kernel's documentation of control groups, version 2."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    try:
        with open(_LIMIT_OF_CONTAINER) as file:
            total = min(total, int(file.read()))
    except (OSError, ValueError):
        # without a limit the file contains "max"
        pass
    return min(total // _SHARE_OF_MEMORY // BLOCK_BYTES, MAX_MORE_BLOCKS)
