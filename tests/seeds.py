"""Seeds of random tests: a few in every run, others with `-m slow`."""

from __future__ import annotations

import pytest


def seeds(few: range, many: range = range(0)) -> pytest.MarkDecorator:
    """Parametrizes a test by `seed`.

    few: those of every run
    many: those of `make slow` alone
    """
    slow = [pytest.param(seed, marks=pytest.mark.slow) for seed in many]
    return pytest.mark.parametrize("seed", [*few, *slow])
