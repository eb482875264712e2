"""Threads and pools at the end of the interpreter, when no new thread can run.

Half-read streams, context managers and objects are closed while the interpreter ends. A thread that they start then
never runs: Python 3.11 waits for it forever, and later versions raise RuntimeError. So only these functions start
threads and submit work to a pool.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


def is_ending() -> bool:
    """Whether the interpreter ends: threads that hold a lock may never release it."""
    return sys.is_finalizing()


def start(call: Callable[[], object], name: str, *, daemon: bool) -> Thread | None:
    """Starts a thread; returns None if the interpreter ends."""
    if is_ending():
        return None
    thread = Thread(target=call, name=name, daemon=daemon)
    try:
        thread.start()
    except RuntimeError:
        # the interpreter began to end meanwhile
        if is_ending():
            return None
        raise
    return thread


def submit(pool: ThreadPoolExecutor, call: Callable[[], Result]) -> Future[Result]:
    """Submits work to a pool. Once Python has shut pools down, as in callbacks of `atexit`, runs it at once."""
    try:
        return pool.submit(call)
    except RuntimeError as error:
        # A worker that sees the end of the interpreter marks its pool as shut down, so there are two messages. Another
        # error, such as too many threads, leaves the work in the queue.
        if not str(error).startswith("cannot schedule new futures after"):
            raise
    future: Future[Result] = Future()
    try:
        future.set_result(call())
    except Exception as error:
        future.set_exception(error)
    return future
