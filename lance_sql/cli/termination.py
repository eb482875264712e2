"""SIGTERM, as service managers and CI send it: what was begun is given up as after Ctrl-C, so that no file is left."""

from __future__ import annotations

import signal
from typing import Final

EXIT_CODE: Final = 128 + signal.SIGTERM
"""What a shell says of a process that the signal has ended."""


class Terminated(SystemExit):
    """The process was told to end."""

    def __init__(self) -> None:
        super().__init__(EXIT_CODE)


def raise_on_sigterm() -> None:
    """Has the signal raise `Terminated` in the main thread."""
    signal.signal(signal.SIGTERM, _raise)


def _raise(signal_number: int, frame: object) -> None:
    # a second one ends the process at once
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise Terminated
