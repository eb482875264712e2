"""Batches decoded ahead by a pool of threads that all scans of the process share, in order and in bounded number."""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

Work = TypeVar("Work")
Result = TypeVar("Result")

NUM_THREADS = min(os.cpu_count() or 1, 8)
MAX_IN_FLIGHT = NUM_THREADS + 2
"""Batches of one scan that are decoded or wait to be taken."""

NUM_WAITING_THREADS = 16
"""Threads that decode batches whose bytes come from far away: most of them wait."""

RESULTS_PER_RELEASE = 8
"""After so many results a thread gives back memory that Arrow's allocator has kept for it and nobody uses."""

SECONDS_TO_SETTLE = 2.0
"""At exit, threads of an engine that are inside of a scan are waited for at most so long."""


class _Consumers:
    """Counts the threads that are waiting for a result, and waits for them when Python ends.

    Engines drop streams whose rows nobody wants, after a LIMIT for example, while a thread of theirs is inside. If
    Python ended then, that thread would take the process down. The pool is shut down before `settle`, so that the
    thread comes out with a result, or with an error when it asks for another one.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begins anew, in a process that has one thread."""
        self._lock = threading.Lock()
        self._num_inside = 0
        self._foreign = False

    def __enter__(self) -> None:
        with self._lock:
            self._num_inside += 1
            self._foreign |= threading.get_ident() != threading.main_thread().ident

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._num_inside -= 1

    def settle(self) -> None:
        """Returns when no thread has been inside for a while."""
        end = time.monotonic() + SECONDS_TO_SETTLE
        quiet = 0
        while self._foreign and quiet < 3 and time.monotonic() < end:
            # a thread that has just left is still in Arrow's code, and comes back for the end of the stream
            time.sleep(0.01)
            quiet = 0 if self._num_inside else quiet + 1


_consumers = _Consumers()
atexit.register(_consumers.settle)
_local = threading.local()
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_waiting_pool: ThreadPoolExecutor | None = None


def ordered(
    work: Iterable[Work], run: Callable[[Work], Result], *, keeps_all: bool = False, waits: bool = False
) -> Iterator[Result]:
    """`run` of each piece of work, in order, computed ahead.

    Nothing is computed before the first result is asked for. Dropping the iterator cancels what has not begun.

    keeps_all: the consumer keeps every result and wants all of them, so that giving memory back brings nothing
    waits: `run` waits for requests most of the time, so that more of it is under way at once
    """
    pieces = iter(work)
    compute: Callable[[Callable[[Work], Result], Work], Result] = _call if keeps_all else _call_and_release
    pending: deque[tuple[Work, Future[Result]]] = deque()
    most = NUM_WAITING_THREADS + 2 if waits else MAX_IN_FLIGHT
    try:
        window = most if keeps_all else 1
        while True:
            with _consumers:
                while len(pending) < window and (piece := next(pieces, _END)) is not _END:
                    pending.append((piece, _executor(waits).submit(compute, run, piece)))  # type: ignore[arg-type]  # no `_END`
                if not pending:
                    return
                piece, future = pending.popleft()
                # waiting for a thread takes longer than some of the work that has not begun
                result = run(piece) if keeps_all and future.cancel() else future.result()
            yield result
            # a consumer that comes back wants the rest as well
            window = most
    finally:
        for _, future in pending:
            future.cancel()


_END = object()


def _call(run: Callable[[Work], Result], piece: Work) -> Result:
    return run(piece)


def _call_and_release(run: Callable[[Work], Result], piece: Work) -> Result:
    result = run(piece)
    _local.results = getattr(_local, "results", 0) + 1
    if _local.results % RESULTS_PER_RELEASE == 0:
        pa.default_memory_pool().release_unused()
    return result


def _executor(waits: bool = False) -> ThreadPoolExecutor:
    global _pool, _waiting_pool
    with _lock:
        if waits:
            if _waiting_pool is None:
                _waiting_pool = ThreadPoolExecutor(NUM_WAITING_THREADS, thread_name_prefix="lance-sql-far")
            return _waiting_pool
        if _pool is None:
            _pool = ThreadPoolExecutor(NUM_THREADS, thread_name_prefix="lance-sql")
        return _pool


def _forget_pool() -> None:
    """A forked process has none of the threads of its parent."""
    global _pool, _waiting_pool, _lock
    _pool, _waiting_pool, _lock = None, None, threading.Lock()
    _consumers.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
