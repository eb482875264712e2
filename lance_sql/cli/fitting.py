"""Columns of a table for a terminal of some width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_LEAST: Final = 8
"""A column is not made narrower than this; rather some are left out."""

_AROUND: Final = 3
"""What lines take beside the text of a column."""


def fit(widths: Sequence[int], room: int) -> tuple[list[int], list[int]]:
    """The columns that are shown, and how wide each is.

    widths: what the columns would take; room: characters of a line
    returns: numbers of columns, ascending: all, or as many from both ends as there is room for; and their widths
    """
    # what is empty has a place all the same
    widths = [max(width, 1) for width in widths]
    shown = list(range(len(widths)))
    while True:
        # one more column says that some are left out
        gap = 0 if len(shown) == len(widths) else _AROUND + 1
        left = room - 1 - gap - _AROUND * len(shown)
        if sum(min(widths[column], _LEAST) for column in shown) <= left or len(shown) == 1:
            return shown, _shares([widths[column] for column in shown], max(left, 1))
        shown.pop(len(shown) // 2)


def _shares(widths: Sequence[int], left: int) -> list[int]:
    """Narrow columns get what they need; what is left is shared by the wide ones."""
    shares = [0] * len(widths)
    columns = sorted(range(len(widths)), key=lambda column: widths[column])
    for num_done, column in enumerate(columns):
        share = left // (len(columns) - num_done)
        shares[column] = max(min(widths[column], share), 1)
        left -= shares[column]
    return shares
