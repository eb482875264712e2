"""Batches decoded ahead by a pool of threads that all scans of the process share, in order and in bounded number."""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.runtime.caches import Measured, Usage

Work = TypeVar("Work")
Result = TypeVar("Result")

NUM_THREADS = min(os.cpu_count() or 1, 8)
MAX_IN_FLIGHT = NUM_THREADS + 2
"""Batches of one scan that are decoded or wait to be taken."""

NUM_WAITING_THREADS = 16
"""Threads that decode batches whose bytes come from far away: most of them wait."""

SECONDS_IDLE = 0.2
"""When no scan has been read for so long, memory that Arrow's allocator has kept for the next batch is given back."""

KEPT_BYTES = 2 * 1024 * 1024 * 1024
"""Of released batches, kept for the next ones while scans run."""

SECONDS_TO_MEET = 0.05
"""Threads that give memory back wait for each other at most so long."""

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


class _Scans:
    """Counts the scans that are being read; memory that was kept for them goes back soon after the last one has ended.

    The kernels keep the buffers of released batches, whoever releases them (`_kernels.keep_buffers`), and Arrow's
    allocator keeps freed memory for the thread that allocated it, which makes the next batch cheap: fresh
    memory costs more than decoding into it. So nothing is given back while a scan runs, nor between queries that follow
    each other closely. Only the thread itself can give its memory back, so every thread of the pool has to.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begins anew, in a process that has one thread."""
        self._lock = threading.Lock()
        self._num_running = 0
        self._last_end = 0.0
        self._is_watched = False

    def begin(self) -> None:
        """A scan is about to compute results."""
        with self._lock:
            self._num_running += 1
            if self._num_running == 1:
                _kernels.keep_buffers(KEPT_BYTES)

    def end(self) -> None:
        """A scan has ended, or was dropped."""
        with self._lock:
            self._num_running -= 1
            self._last_end = time.monotonic()
            if self._num_running or self._is_watched:
                return
            self._is_watched = True
        # at exit there are no new threads, and no need for one
        with suppress(RuntimeError):
            threading.Thread(target=self._watch, name="lance-sql-memory", daemon=True).start()

    def _watch(self) -> None:
        """Waits until no scan has run for a while, or one runs whose end begins this anew."""
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
_consumers = _Consumers()
atexit.register(_consumers.settle)
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
    """`run` of each piece of work, in order, computed ahead.

    Nothing is computed before the first result is asked for. Dropping the iterator cancels what has not begun. Memory
    that is not needed any more goes back to the system soon after the last such iterator has ended, not before.

    keeps_all: the consumer keeps every result and wants all of them
    waits: `run` waits for requests most of the time, so that more of it is under way at once
    is_light: whether work is too little to hand it to another thread
    """
    pieces = iter(work)
    pending: deque[tuple[Work, Future[Result] | None]] = deque()
    most = NUM_WAITING_THREADS + 2 if waits else MAX_IN_FLIGHT
    with running(), _cancelled(pending):
        window = most if keeps_all else 1
        while True:
            with _consumers:
                while len(pending) < window and (piece := next(pieces, _END)) is not _END:
                    # the first result is waited for at once: another thread would only begin later
                    is_here = window == 1 or is_light(piece)
                    pending.append((piece, None if is_here else _executor(waits).submit(run, piece)))
                if not pending:
                    return
                piece, future = pending.popleft()
                # waiting for a thread takes longer than some of the work that has not begun
                result = run(piece) if future is None or (keeps_all and future.cancel()) else future.result()
            yield result
            # a consumer that comes back wants the rest as well
            window = most


def waiting(call: Callable[[], Result]) -> Future[Result]:
    """Makes a call that waits for requests most of the time, by a thread of those that decode what is far away."""
    return _executor(waits=True).submit(call)


@contextmanager
def running() -> Iterator[None]:
    """While a scan runs, memory is kept for its next batches, and soon after the last one goes back to the system."""
    _scans.begin()
    try:
        yield
    finally:
        _scans.end()


@contextmanager
def _cancelled(pending: deque[tuple[Work, Future[Result] | None]]) -> Iterator[None]:
    """What has not begun is cancelled in the end."""
    try:
        yield
    finally:
        for _, future in pending:
            if future is not None:
                future.cancel()


_END: Any = object()


def _give_back() -> None:
    """Makes every thread of the pools give back what the allocator has kept for it; does not wait for them."""
    _kernels.keep_buffers(0)
    with _lock:
        pools = [(_pool, NUM_THREADS), (_waiting_pool, NUM_WAITING_THREADS)]
    for pool, num_threads in pools:
        if pool is None:
            continue
        # a thread that has given its own back is held until the others have, so that none of them does it twice
        barrier = threading.Barrier(num_threads)
        for _ in range(num_threads):
            # at exit there are no threads left
            with suppress(RuntimeError):
                pool.submit(_release, barrier)


_BUFFERS = Measured("buffers of arrays", lambda: Usage(None, _kernels.kept_buffers()[0], None, KEPT_BYTES), _give_back)
"""Those of arrays that were let go of, for the next ones."""


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
    """A forked process has none of the threads of its parent."""
    global _pool, _waiting_pool, _lock
    _pool, _waiting_pool, _lock = None, None, threading.Lock()
    _kernels.forget_buffers()
    _consumers.forget()
    _scans.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
