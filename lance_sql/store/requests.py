"""Concurrent requests to a store, on I/O threads apart from those that decode."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final, TypeVar

from lance_sql.runtime import threads

_T = TypeVar("_T")

CONCURRENCY: Final = 32
"""Maximum number of concurrent requests of this process to all remote stores together."""

_local = threading.local()
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_innermost_pool: ThreadPoolExecutor | None = None


def concurrently(calls: Sequence[Callable[[], _T]], concurrency: int) -> list[_T]:
    """Runs the calls, and returns their results in order.

    concurrency: of the store that they wait for; with 1, and inside such a call, they run one by one
    raises: the error of the first call that fails; later calls may have run or not
    """
    if concurrency <= 1 or len(calls) <= 1 or getattr(_local, "is_worker", False):
        return [call() for call in calls]
    futures = [threads.submit(_executor(), call) for call in calls]
    try:
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


def innermost(calls: Sequence[Callable[[], _T]]) -> list[_T]:
    """Runs calls like `concurrently`. They wait only for a store, so that they may run inside it."""
    if len(calls) <= 1:
        return [call() for call in calls]
    others = [threads.submit(_innermost_executor(), call) for call in calls[1:]]
    try:
        return [calls[0](), *(future.result() for future in others)]
    finally:
        for future in others:
            future.cancel()
        # a caller that gives up may remove the files that they write
        wait(others)


def _innermost_executor() -> ThreadPoolExecutor:
    global _innermost_pool
    with _lock:
        if _innermost_pool is None:
            _innermost_pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="lance-sql-part")
        return _innermost_pool


def _executor() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="lance-sql-request", initializer=_begin)
        return _pool


def _begin() -> None:
    _local.is_worker = True


def _forget_pool() -> None:
    """Forgets the pools in a forked process, which has none of the threads of its parent."""
    global _pool, _innermost_pool, _lock, _local
    _pool, _innermost_pool, _lock, _local = None, None, threading.Lock(), threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
