"""Statements that are computed again when another writer changed the same rows first."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final

from lance_sql.errors import RetryableConflict
from lance_sql.table import features
from lance_sql.table.snapshot import Snapshot

MAX_ATTEMPTS: Final = 10
MAX_SECONDS: Final = 30.0
_FIRST_WAIT: Final = 0.02


def newest(snapshot: Snapshot) -> Snapshot:
    """The newest version of the snapshot's branch, which can be written after.

    raises: UnsupportedFeature, before anything is written
    """
    latest = snapshot.latest()
    features.check_writable(latest.manifest.reader_flags | latest.manifest.writer_flags, latest.label)
    return latest


def on_latest(snapshot: Snapshot, change: Callable[[Snapshot], Snapshot]) -> Snapshot:
    """`change` of the newest version of the snapshot's branch; once more with what is then the newest one, when the
    commit finds that another writer has changed the same rows.

    raises: RetryableConflict after 10 attempts or 30 seconds; UnsupportedFeature; what `change` raises
    """
    end = time.monotonic() + MAX_SECONDS
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            return change(newest(snapshot))
        except RetryableConflict:
            if attempt == MAX_ATTEMPTS or time.monotonic() > end:
                raise
            time.sleep(random.uniform(0, _FIRST_WAIT * 2 ** min(attempt, 6)))
    raise AssertionError
