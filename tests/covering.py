"""Parameters that cover each pair of values of two axes.

They are a fraction of the full product, and a fault that needs two certain values still shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pytest


def covering(**axes: Sequence[Any]) -> pytest.MarkDecorator:
    """Parametrizes a test by its arguments, as `pytest.mark.parametrize` with these rows."""
    return pytest.mark.parametrize(tuple(axes), rows(*axes.values()))


def rows(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows with one value of each axis, so that any two values of two axes meet in a row; the same in every run.

    Each row is, of all rows, the first that covers most pairs that no row covers yet.
    """
    every = list(product(*(range(len(axis)) for axis in axes)))
    pairs = [{(a, row[a], b, row[b]) for a, b in combinations(range(len(axes)), 2)} for row in every]
    missing = set().union(*pairs)
    chosen = []
    while missing:
        best = max(range(len(every)), key=lambda number: len(pairs[number] & missing))
        chosen.append(tuple(axis[value] for axis, value in zip(axes, every[best], strict=True)))
        missing -= pairs[best]
    return chosen
