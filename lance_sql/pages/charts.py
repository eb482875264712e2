"""Where the parts of charts lie, in units of an SVG that is stretched to the width that there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

WIDTH: Final = 1000.0
_LEAST: Final = 2.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle. kind: what it counts"""

    kind: str
    x: float
    y: float
    width: float
    height: float


def diverging(columns: Sequence[Sequence[tuple[str, int, bool]]], height: float) -> tuple[list[list[Bar]], float]:
    """Columns of stacked bars, side by side, above a line and below it. A bar that is not empty can be seen.

    columns: the bars of each: kind, count, whether it grows downwards; from the line outwards
    returns: the bars of each column, and where the line is
    """
    above, below = (
        max((sum(count for _, count, down in column if down is wanted) for column in columns), default=0)
        for wanted in (False, True)
    )
    total = above + below or 1
    line = height * above / total
    step = WIDTH / max(len(columns), 1)
    width = min(step * 0.7, 28.0)
    found = []
    for place, column in enumerate(columns):
        ends = {False: line, True: line}
        bars = []
        for kind, count, down in column:
            if not count:
                continue
            length = max(height * count / total, _LEAST)
            top = ends[down] if down else ends[down] - length
            bars.append(Bar(kind, step * (place + 0.5) - width / 2, top, width, length))
            ends[down] += length if down else -length
        found.append(bars)
    return found, line


def area(values: Sequence[int | None], height: float) -> str:
    """The path of an area below a line of steps; gaps where a value is not known."""
    most = max((value for value in values if value is not None), default=0) or 1
    step = WIDTH / max(len(values), 1)
    parts = []
    for place, value in enumerate(values):
        if value is not None:
            top = height - height * value / most
            parts.append(f"M{step * place:.2f} {height:.2f}V{top:.2f}H{step * (place + 1):.2f}V{height:.2f}Z")
    return "".join(parts)


def strip(sizes: Sequence[int]) -> list[tuple[float, float]]:
    """Sections side by side that fill the width, each as wide as its size: from where to where."""
    total = sum(sizes) or 1
    bounds = [0.0]
    for each in sizes:
        bounds.append(bounds[-1] + WIDTH * each / total)
    return list(pairwise(bounds))
