"""Files that were read: whether they are still the same, and how long a file that was just written is not trusted."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lance_sql.store import file_statuses
from lance_sql.store.file_statuses import FileStatuses, Status, longest_tick

SECOND = 1_000_000_000
NOW = 1_800_000_000 * SECOND + 123_456_789


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return path


def statuses(path: Path) -> FileStatuses:
    noted = FileStatuses(os.path.join(path.parent, ""))
    noted.note(path.name)
    return noted


@pytest.mark.parametrize(
    ("modified", "changed", "is_trusted"),
    [
        (NOW - SECOND // 20, NOW - SECOND // 20, False),
        (NOW - SECOND // 5, NOW - SECOND // 5, True),
        # either time may be the newer one
        (NOW - SECOND // 5, NOW - SECOND // 20, False),
        (NOW - SECOND // 20, NOW - SECOND // 5, False),
        # a clock in the future
        (NOW + SECOND, NOW + SECOND, False),
        # clocks of whole seconds and of whole milliseconds
        (1_799_999_999 * SECOND, 1_799_999_999 * SECOND, False),
        (1_799_999_997 * SECOND, 1_799_999_997 * SECOND, True),
        (NOW - 123_456_789 - SECOND + 5_000_000, NOW - SECOND // 5, False),
        (1_700_000_000 * SECOND, NOW - SECOND // 5, False),
        (1_700_000_000 * SECOND, NOW - 3 * SECOND, True),
    ],
)
def test_a_file_is_trusted_as_soon_as_each_change_is_seen(
    modified: int, changed: int, is_trusted: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status: Status = (1, 2, 3, modified, changed)
    monkeypatch.setattr(file_statuses, "read_status", lambda _: status)
    monkeypatch.setattr(time, "time_ns", lambda: NOW)
    assert statuses(path).are_current() is is_trusted


def test_a_change_after_the_first_read_is_noticed(path: Path) -> None:
    before = path.stat()
    time.sleep(longest_tick(before.st_mtime_ns, before.st_ctime_ns) / SECOND)
    noted = statuses(path)
    assert noted.are_current()
    status = path.stat()
    path.write_bytes(b"changed")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not noted.are_current()


def test_a_file_that_was_removed_is_not_the_same(path: Path) -> None:
    noted = statuses(path)
    path.unlink()
    assert not noted.are_current()
