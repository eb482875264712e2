"""Statements that are computed again when another writer changed the same rows first."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final

from lance_sql.errors import RetryableConflict
from lance_sql.table.snapshot import Snapshot

MAX_ATTEMPTS: Final = 10
MAX_SECONDS: Final = 30.0
_FIRST_WAIT: Final = 0.02


def on_latest(snapshot: Snapshot, change: Callable[[Snapshot], Snapshot]) -> Snapshot:
    """`change` of the newest version of the snapshot's branch; once more with what is then the newest one, when the
    commit finds that another writer has changed the same rows.

    raises: RetryableConflict after 10 attempts or 30 seconds; what `change` raises
    """
    end = time.monotonic() + MAX_SECONDS
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            return change(snapshot.latest())
        except RetryableConflict:
            if attempt == MAX_ATTEMPTS or time.monotonic() > end:
                raise
            time.sleep(random.uniform(0, _FIRST_WAIT * 2 ** min(attempt, 6)))
    raise AssertionError
