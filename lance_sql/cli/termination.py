"""SIGTERM, as sent by service managers and CI, and SIGHUP, as sent by a closed terminal: both abort work like Ctrl-C,
so that no file remains."""

from __future__ import annotations

import signal
import sys
from threading import Event, Timer, main_thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

ENDING: Final = Event()
"""Set when an interrupt has reached the command, which reports it and ends."""

_SECONDS_UNTIL_SENT_AGAIN: Final = 0.05


class Terminated(SystemExit):
    """Exit because the process received SIGTERM or SIGHUP, with the code that a shell reports for the signal."""

    def __init__(self, signal_number: int = signal.SIGTERM) -> None:
        super().__init__(128 + signal_number)
        self.signal_number = signal.Signals(signal_number)


def raise_on_termination() -> None:
    """Makes the signals raise `Terminated` in the main thread. `nohup` has made the process ignore SIGHUP."""
    signal.signal(signal.SIGTERM, _raise)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _raise)


def send_again_what_callbacks_lose() -> None:
    """Resends signals whose exception was raised in a callback of the interpreter, such as one of a weak reference:
    Python only prints such exceptions, and continues."""
    sys.unraisablehook = _send_again


def _raise(signal_number: int, frame: object) -> None:
    # a second signal ends the process at once
    signal.signal(signal_number, signal.SIG_DFL)
    raise Terminated(signal_number)


def _send_again(unraisable: UnraisableHookArgs) -> None:
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        number = signal.SIGINT
    elif isinstance(unraisable.exc_value, Terminated):
        number = unraisable.exc_value.signal_number
        raise_on_termination()
    else:
        sys.__unraisablehook__(unraisable)
        return
    # later, because the callback is still running
    timer = Timer(_SECONDS_UNTIL_SENT_AGAIN, _interrupt, (number,))
    timer.daemon = True
    timer.start()


def _interrupt(number: signal.Signals) -> None:
    main = main_thread().ident
    if main is not None and not ENDING.is_set():
        signal.pthread_kill(main, number)
