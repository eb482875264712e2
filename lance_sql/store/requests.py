"""Requests that wait for the same store, made at the same time: threads of their own, apart from those that decode."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final, TypeVar

_T = TypeVar("_T")

CONCURRENCY: Final = 32
"""Requests of this process that are under way at once, to all remote stores together."""

_local = threading.local()
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_innermost_pool: ThreadPoolExecutor | None = None


def concurrently(calls: Sequence[Callable[[], _T]], concurrency: int) -> list[_T]:
    """The results of the calls, in order.

    concurrency: that of the store which they wait for; with 1, and inside of such a call, they are made one by one
    raises: what the first call raises that fails; those behind it may have been made or not
    """
    if concurrency <= 1 or len(calls) <= 1 or getattr(_local, "is_worker", False):
        return [call() for call in calls]
    futures = [_executor().submit(call) for call in calls]
    try:
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


def innermost(calls: Sequence[Callable[[], _T]]) -> list[_T]:
    """As `together`, of calls that wait for a store and for nothing else, so that they may be made inside of it."""
    if len(calls) <= 1:
        return [call() for call in calls]
    others = [_innermost_executor().submit(call) for call in calls[1:]]
    try:
        return [calls[0](), *(future.result() for future in others)]
    finally:
        for future in others:
            future.cancel()
        # whoever gives up may remove what they write
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
    """A forked process has none of the threads of its parent."""
    global _pool, _innermost_pool, _lock, _local
    _pool, _innermost_pool, _lock, _local = None, None, threading.Lock(), threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
