"""Positions of chart parts, in units of an SVG that is stretched to the available width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

WIDTH: Final = 1000.0
_LEAST: Final = 2.0
_MOST_DIGITS: Final = 24
# all ticks together, so that they do not overlap on a phone


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle. kind: what it counts"""

    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class VersionChart:
    """Bars of counts by version, above a line and below it, with the labels of its axes.

    columns: the bars of each version, and its tooltip
    line: position of the line, from the top
    above, below: the counts at the upper and the lower end
    ticks: some of the versions, and their positions in percent of the width
    """

    columns: Sequence[tuple[Sequence[Bar], str]]
    line: float
    height: float
    above: int
    below: int
    ticks: Sequence[tuple[int, float]]


def by_version(
    versions: Sequence[int], counts: Sequence[Sequence[tuple[str, int, bool]]], titles: Sequence[str], height: float
) -> VersionChart:
    """
    counts: the bars of each version: kind, count, whether it grows downwards; from the line outwards
    titles: the tooltip of each
    """
    columns, line = diverging(counts, height)
    above, below = _extent(counts)
    return VersionChart(list(zip(columns, titles, strict=True)), line, height, above, below, _ticks(versions))


def _extent(columns: Sequence[Sequence[tuple[str, int, bool]]]) -> tuple[int, int]:
    """Returns the largest count above the line, and the one below."""
    above, below = (
        max((sum(count for _, count, down in column if down is wanted) for column in columns), default=0)
        for wanted in (False, True)
    )
    return above, below


def _ticks(versions: Sequence[int]) -> list[tuple[int, float]]:
    """Returns versions in equal steps, from the first one on; fewer if numbers are long."""
    count = len(versions)
    most = _MOST_DIGITS // max((len(str(version)) for version in versions), default=1)
    step = -(-count // most) or 1
    return [(versions[index], 100 * (index + 0.5) / count) for index in range(0, count, step)]


def diverging(columns: Sequence[Sequence[tuple[str, int, bool]]], height: float) -> tuple[list[list[Bar]], float]:
    """Lays out columns of stacked bars, side by side, above a line and below it. A nonempty bar is always visible.

    columns: the bars of each: kind, count, whether it grows downwards; from the line outwards
    returns: the bars of each column, and the position of the line
    """
    above, below = _extent(columns)
    total = above + below or 1
    line = height * above / total
    step = WIDTH / max(len(columns), 1)
    width = min(step * 0.7, 28.0)
    stacks = []
    for number, column in enumerate(columns):
        ends = {False: line, True: line}
        bars = []
        for kind, count, down in column:
            if not count:
                continue
            length = max(height * count / total, _LEAST)
            top = ends[down] if down else ends[down] - length
            bars.append(Bar(kind, step * (number + 0.5) - width / 2, top, width, length))
            ends[down] += length if down else -length
        stacks.append(bars)
    return stacks, line


def area(values: Sequence[int | None], height: float) -> str:
    """Returns the path of an area below a line of steps, with gaps for unknown values."""
    most = max((value for value in values if value is not None), default=0) or 1
    step = WIDTH / max(len(values), 1)
    parts = []
    for column, value in enumerate(values):
        if value is not None:
            top = height - height * value / most
            parts.append(f"M{step * column:.2f} {height:.2f}V{top:.2f}H{step * (column + 1):.2f}V{height:.2f}Z")
    return "".join(parts)


def strip(sizes: Sequence[int]) -> list[tuple[float, float]]:
    """Returns start and end of adjacent sections that fill the width, each as wide as its size."""
    total = sum(sizes) or 1
    bounds = [0.0]
    for each in sizes:
        bounds.append(bounds[-1] + WIDTH * each / total)
    return list(pairwise(bounds))
