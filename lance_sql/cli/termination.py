"""SIGTERM, as sent by service managers and CI: aborts work like Ctrl-C, so that no file remains."""

from __future__ import annotations

import signal
import sys
from threading import Event, Timer, main_thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

EXIT_CODE: Final = 128 + signal.SIGTERM
"""Exit code that a shell reports for a process that the signal terminated."""

ENDING: Final = Event()
"""Set when an interrupt has reached the command, which reports it and ends."""

_SECONDS_UNTIL_SENT_AGAIN: Final = 0.05


class Terminated(SystemExit):
    """Exit because the process received SIGTERM."""

    def __init__(self) -> None:
        super().__init__(EXIT_CODE)


def raise_on_sigterm() -> None:
    """Makes the signal raise `Terminated` in the main thread."""
    signal.signal(signal.SIGTERM, _raise)


def send_again_what_callbacks_lose() -> None:
    """Resends signals whose exception was raised in a callback of the interpreter, such as one of a weak reference:
    Python only prints such exceptions, and continues."""
    sys.unraisablehook = _send_again


def _raise(signal_number: int, frame: object) -> None:
    # a second signal ends the process at once
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise Terminated


def _send_again(unraisable: UnraisableHookArgs) -> None:
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        number = signal.SIGINT
    elif issubclass(unraisable.exc_type, Terminated):
        number = signal.SIGTERM
        raise_on_sigterm()
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
