"""Ctrl-C while an engine computes: Python's own handler waits until the engine returns, so it is interrupted."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from lance_sql.cli.termination import Terminated
from lance_sql.runtime import threads


@contextmanager
def interruptible(connection: Any) -> Iterator[None]:
    """Lets signals interrupt the statement of the connection. Ctrl-C raises KeyboardInterrupt, SIGTERM and SIGHUP
    raise `Terminated`, whatever error the engine raises.

    connection: of DuckDB
    """
    if threading.current_thread() is not threading.main_thread():
        # only the main thread receives signals
        yield
        return
    signals = bytearray()
    try:
        with _passing_signals_on(connection, signals):
            yield
    except Exception:
        # An engine that checks for signals itself raises its own error, and Python's is lost.
        if signal.SIGINT in signals:
            raise KeyboardInterrupt from None
        for number in (signal.SIGTERM, signal.SIGHUP):
            if number in signals:
                raise Terminated(number) from None
        raise


@contextmanager
def _passing_signals_on(connection: Any, signals: bytearray) -> Iterator[None]:
    arrives, sends = socket.socketpair()
    sends.setblocking(False)
    before = signal.set_wakeup_fd(sends.fileno(), warn_on_full_buffer=False)
    passing_on = partial(_interrupt, arrives, connection, signals)
    waiting = threads.start(passing_on, "lance-sql-signals", daemon=True)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        sends.close()
        if waiting is not None:
            waiting.join()
        arrives.close()


def _interrupt(arrives: socket.socket, connection: Any, signals: bytearray) -> None:
    while signal_number := arrives.recv(1):
        signals += signal_number
        connection.interrupt()
