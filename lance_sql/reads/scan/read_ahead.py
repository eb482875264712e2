"""Prefetching of batches: a thread pool shared by all scans of the process decodes them ahead, in order and
bounded."""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.runtime import threads
from lance_sql.runtime.caches import Measured, Usage

Work = TypeVar("Work")
Result = TypeVar("Result")

NUM_THREADS = min(os.cpu_count() or 1, 8)
MAX_IN_FLIGHT = NUM_THREADS + 2
"""Limit of batches of one scan that are being decoded or wait to be taken."""

NUM_WAITING_THREADS = 16
"""Number of threads that decode remote batches: most of them wait."""

SECONDS_IDLE = 0.2
"""Idle time after which memory that Arrow's allocator holds for the next batch is released."""

KEPT_BYTES = 2 * 1024 * 1024 * 1024
"""Limit of recycled memory of released batches while scans run."""

SECONDS_TO_MEET = 0.05
"""Maximum time that threads wait for each other when they release memory."""

SECONDS_TO_SETTLE = 2.0
"""Maximum time to wait at exit for threads of an engine inside a scan."""


class _Consumers:
    """Counts the threads that wait for a result, and waits for them when Python exits.

    Engines drop streams that they no longer need, after a LIMIT for example, while one of their threads is inside.
    If Python exited then, that thread would crash the process. The pool is shut down before `settle`, so that the
    thread returns with a result, or with an error when it requests another one.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Resets the state, in a process with one thread."""
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
        """Returns after no thread has been inside for a while."""
        end = time.monotonic() + SECONDS_TO_SETTLE
        quiet = 0
        while self._foreign and quiet < 3 and time.monotonic() < end:
            # a thread that has just left is still in Arrow's code, and comes back for the end of the stream
            time.sleep(0.01)
            quiet = 0 if self._num_inside else quiet + 1


class _Scans:
    """Counts the running scans. Memory cached for them is released soon after the last one has ended.

    The kernels recycle the buffers of released batches, whichever thread releases them (`_kernels.keep_buffers`).
    Arrow's allocator keeps freed memory for the thread that allocated it, which makes the next batch cheap: fresh
    memory costs more than decoding into it. So nothing is released while a scan runs, nor between queries in quick
    succession. Only the thread itself can release its memory, so every thread of the pool must do so.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Resets the state, in a process with one thread."""
        self._lock = threading.Lock()
        self._num_running = 0
        self._last_end = 0.0
        self._is_watched = False

    def begin(self) -> None:
        """Registers a scan that is about to compute results."""
        with self._lock:
            self._num_running += 1
            if self._num_running == 1:
                _kernels.keep_buffers(KEPT_BYTES)

    def end(self) -> None:
        """Unregisters a scan that has ended, or was dropped, which may be as late as the end of the interpreter."""
        if threads.is_ending():
            return
        with self._lock:
            self._num_running -= 1
            self._last_end = time.monotonic()
            if self._num_running or self._is_watched:
                return
            self._is_watched = True
        threads.start(self._watch, "lance-sql-memory", daemon=True)

    def _watch(self) -> None:
        """Waits until no scan has run for a while, or one is running, whose end starts this again."""
        while True:
            time.sleep(SECONDS_IDLE)
            with self._lock:
                if self._num_running == 0 and time.monotonic() < self._last_end + SECONDS_IDLE:
                    continue
                self._is_watched = False
                if self._num_running:
                    return
            _give_back()
            return


_scans = _Scans()
consumers = _Consumers()
"""A context that each thread enters to compute a result."""
atexit.register(consumers.settle)
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_waiting_pool: ThreadPoolExecutor | None = None


def ordered(
    work: Iterable[Work],
    run: Callable[[Work], Result],
    *,
    keeps_all: bool = False,
    waits: bool = False,
    is_light: Callable[[Work], bool] = lambda _: False,
) -> Iterator[Result]:
    """Yields `run` of each piece of work, in order, computed ahead.

    Nothing is computed before the first result is requested. Dropping the iterator cancels work that has not
    started. Unneeded memory is returned to the system soon after the last such iterator has ended, not before.

    keeps_all: the consumer keeps every result and needs all of them
    waits: `run` mostly waits for requests, so that more of it runs at once
    is_light: whether work is too little to pass it to another thread
    """
    pieces = iter(work)
    pending: deque[tuple[Work, Future[Result] | None]] = deque()
    most = NUM_WAITING_THREADS + 2 if waits else MAX_IN_FLIGHT
    with running(), _cancelled(pending):
        window = most if keeps_all else 1
        while True:
            with consumers:
                while len(pending) < window and (piece := next(pieces, _END)) is not _END:
                    # the consumer waits for the first result anyway: another thread would only start later
                    is_here = window == 1 or is_light(piece)
                    pending.append((piece, None if is_here else threads.submit(_executor(waits), partial(run, piece))))
                if not pending:
                    return
                piece, future = pending.popleft()
                # waiting for a thread takes longer than some of the work that has not started
                result = run(piece) if future is None or (keeps_all and future.cancel()) else future.result()
            yield result
            # a consumer that requests another result probably needs the rest as well
            window = most


def waiting(call: Callable[[], Result]) -> Future[Result]:
    """Submits a call that mostly waits for requests to the thread pool for remote data."""
    return threads.submit(_executor(waits=True), call)


@contextmanager
def running() -> Iterator[None]:
    """Keeps memory for later batches while a scan runs. It is returned to the system soon after the last scan."""
    _scans.begin()
    try:
        yield
    finally:
        _scans.end()


@contextmanager
def _cancelled(pending: deque[tuple[Work, Future[Result] | None]]) -> Iterator[None]:
    """Cancels work that has not started at the end of the block."""
    try:
        yield
    finally:
        for _, future in pending:
            if future is not None:
                future.cancel()


_END: Any = object()


def _give_back() -> None:
    """Makes every thread of the pools release the memory that the allocator holds for it; does not wait for them."""
    _kernels.keep_buffers(0)
    with _lock:
        pools = [(_pool, NUM_THREADS), (_waiting_pool, NUM_WAITING_THREADS)]
    for pool, num_threads in pools:
        if pool is None:
            continue
        # a thread that has released its memory waits until the others have, so that none of them does it twice
        barrier = threading.Barrier(num_threads)
        for _ in range(num_threads):
            threads.submit(pool, partial(_release, barrier))


_BUFFERS = Measured("buffers of arrays", lambda: Usage(None, _kernels.kept_buffers()[0], None, KEPT_BYTES), _give_back)
"""Recycled array buffers."""


def _release(barrier: threading.Barrier) -> None:
    pa.default_memory_pool().release_unused()
    with suppress(threading.BrokenBarrierError):
        barrier.wait(SECONDS_TO_MEET)


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
    """Resets the pools in a forked process, which has none of its parent's threads."""
    global _pool, _waiting_pool, _lock
    _pool, _waiting_pool, _lock = None, None, threading.Lock()
    _kernels.forget_buffers()
    consumers.forget()
    _scans.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
