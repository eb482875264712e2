"""Finds out whether a store really creates objects only if they are absent.

Some servers accept `If-None-Match` and ignore it, so that two writers overwrite each other's commits without an error.
Before the first such request of a process to a bucket, an object is put twice and removed: the second request must be
refused. The services of Amazon, Google and Microsoft honor the condition and are not tested.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

from lance_sql.errors import LanceError, UnsupportedFeature

_PROBE: Final = "_transactions/.tmp_conditional_put_{}"
"""Cleanups remove one that is left over, as any other file of that folder."""

_ATTEMPTS: Final = 4
_FIRST_PAUSE_SECONDS: Final = 0.05
_OWN_HOSTS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".googleapis.com", ".core.windows.net")

_lock = Lock()
_faults: dict[str, str | None] = {}
"""What servers do with conditions, by address of the bucket; None for those that honor them."""


def check(
    bucket: str,
    endpoint: str | None,
    uri: str,
    create: Callable[[str], None],
    exists: Callable[[str], bool],
    delete: Callable[[str], None],
) -> None:
    """Makes sure that a server honors conditional requests. Tests each bucket once.

    bucket: with its scheme
    endpoint: None for the service of the scheme itself
    create: puts an object only if it is absent, or raises FileExistsError
    raises: UnsupportedFeature; errors of the store, if it does not answer the test
    """
    if endpoint is None or (urlsplit(endpoint).hostname or "").endswith(_OWN_HOSTS):
        return
    key = f"{endpoint} {bucket}"
    with _lock:
        if key not in _faults:
            _faults[key] = _fault(create, exists, delete)
        fault = _faults[key]
    if fault is not None:
        raise UnsupportedFeature(f'{uri}: the server {fault}: pass manifest_store= and conditional_put="disabled"')


def _fault(create: Callable[[str], None], exists: Callable[[str], bool], delete: Callable[[str], None]) -> str | None:
    """Returns what a server does in place of honoring a condition, or None."""
    path = _PROBE.format(uuid4().hex)
    try:
        for attempt in range(_ATTEMPTS):
            try:
                create(path)
                break
            except FileExistsError:
                # its answer was lost, and it was sent again and refused; or another request delays it
                if exists(path):
                    break
                time.sleep(_FIRST_PAUSE_SECONDS * 4**attempt)
        else:
            return "answers of a new object that it exists, so that no commit succeeds"
        try:
            create(path)
        except FileExistsError:
            return None
        return "ignores If-None-Match, so that two writers would overwrite each other's commits"
    finally:
        with suppress(OSError, LanceError):
            delete(path)
