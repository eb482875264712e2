"""Fitting the columns of a table to the width of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_LEAST: Final = 8
"""Minimum width of a column; columns that do not fit are left out."""

_AROUND: Final = 3
"""Characters of lines and padding around the text of a column."""


def fit(widths: Sequence[int], room: int) -> tuple[list[int], list[int]]:
    """Chooses the columns to show, and their widths.

    widths: the full widths of the columns; room: characters of a line
    returns: numbers of columns, ascending: all, or as many from both ends as fit; and their widths
    """
    # empty columns take one character
    widths = [max(width, 1) for width in widths]
    shown = list(range(len(widths)))
    while True:
        # one more column marks the columns left out
        gap = 0 if len(shown) == len(widths) else _AROUND + 1
        left = room - 1 - gap - _AROUND * len(shown)
        if sum(min(widths[column], _LEAST) for column in shown) <= left or len(shown) == 1:
            return shown, _shares([widths[column] for column in shown], max(left, 1))
        shown.pop(len(shown) // 2)


def _shares(widths: Sequence[int], left: int) -> list[int]:
    """Gives narrow columns their full width, and shares the rest among the wide ones."""
    shares = [0] * len(widths)
    columns = sorted(range(len(widths)), key=lambda column: widths[column])
    for num_done, column in enumerate(columns):
        share = left // (len(columns) - num_done)
        shares[column] = max(min(widths[column], share), 1)
        left -= shares[column]
    return shares
